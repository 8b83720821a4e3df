#include "data/input/input_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/crc32c.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/random_bits.h"
#include "data/record/record_format.h"
#include "data/work_span.h"

namespace tenon {
namespace {

constexpr int64_t kReadAhead = 8 << 20;
constexpr size_t kMaxOpen = 256;

std::string pattern_of(const InputOptions& options) {
  if (!options.file_pattern.empty()) return options.file_pattern;
  return cat(options.data_dir, "/", options.split, "-*-of-*[0-9]");
}

// Where directories are patterns too.
Result<std::vector<std::string>> match_anywhere(const std::string& pattern) {
  TENON_TRY(check_path(pattern));
  glob_t found{};
  const int rc = glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (rc == 0 ? found.gl_pathc : 0));
  globfree(&found);
  if (rc == GLOB_NOSPACE) return Status(Code::kOutOfMemory, cat("no memory to list ", pattern));
  if (rc == GLOB_ABORTED) return invalid("cannot read the directory of ", pattern);
  return paths;
}

// Only the last part of a pattern is one where the others name a directory, whatever stands in them: "run[1]/train-*".
Result<std::vector<std::string>> match(const std::string& pattern) {
  std::error_code error;
  if (std::filesystem::exists(pattern, error)) return std::vector<std::string>{pattern};
  const size_t slash = pattern.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : pattern.substr(0, slash + 1);
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) return match_anywhere(pattern);
  TENON_ASSIGN(std::vector<std::string> names,
               list_names(directory.empty() ? "." : directory, pattern.substr(directory.size())));
  for (std::string& name : names) name.insert(0, directory);
  return names;
}

// "…-of-00012" -> 12; 0 when the name does not end so.
size_t shard_total(const std::string& path) {
  const size_t at = path.rfind("-of-");
  if (at == std::string::npos || path.size() - at > 12) return 0;
  size_t total = 0;
  for (char c : path.substr(at + 4)) {
    if (c < '0' || c > '9') return 0;
    total = total * 10 + static_cast<size_t>(c - '0');
  }
  return total;
}

// A missing shard would cost examples without a word.
Status check_shards(const InputOptions& options, const std::vector<std::string>& paths) {
  const size_t total = shard_total(paths.front());
  for (const std::string& path : paths)
    if (shard_total(path) != total)
      return invalid(input_name(options), " mixes two sets of shards: ", paths.front(), " and ", path);
  if (paths.size() != total)
    return invalid(input_name(options), ": expected ", total, " files as their names say, found ", paths.size());
  return {};
}

}  // namespace

std::string input_name(const InputOptions& options) {
  return options.file_pattern.empty() ? cat(options.data_dir, "/", options.split, "-*") : options.file_pattern;
}

Result<std::vector<std::string>> find_input_files(const InputOptions& options) {
  if (options.file_pattern.empty()) {
    if (options.data_dir.empty() || options.split.empty())
      return invalid("no input files: set data_dir and split, or file_pattern");
    std::error_code error;
    if (!std::filesystem::is_directory(options.data_dir, error))
      return invalid(options.data_dir, error ? cat(": ", error.message()) : std::string(": not a directory"));
  }
  TENON_ASSIGN(std::vector<std::string> paths, match(pattern_of(options)));
  if (paths.empty()) return invalid("no files match ", input_name(options));
  std::sort(paths.begin(), paths.end());
  if (options.file_pattern.empty()) TENON_TRY(check_shards(options, paths));
  return paths;
}

RecordFiles::RecordFiles(std::vector<RecordFile> files)
    : files_(std::move(files)), open_(files_.size()), advised_(files_.size()) {
  for (const RecordFile& file : files_) bytes_ += file.offsets.back() - file.offsets.front();
}

Result<std::shared_ptr<const File>> RecordFiles::open(size_t file) const {
  if (files_[file].unpacked) return files_[file].unpacked;
  std::lock_guard lock(mutex_);
  if (open_[file]) return open_[file];
  Result<File> opened = File::open(files_[file].path);
  if (!opened.ok()) return Status(Code::kUnavailable, opened.status().message());  // not the record's fault
  open_[file] = std::make_shared<const File>(std::move(*opened));
  opened_.push_back(file);
  if (opened_.size() > kMaxOpen) {
    open_[opened_.front()] = nullptr;  // readers still hold it
    opened_.pop_front();
  }
  return open_[file];
}

// Whoever first comes into a block has the next one fetched, once an epoch: the shuffle buffer makes the order of the
// reads look random, and the system's own read-ahead gives up.
void RecordFiles::read_ahead(const File& opened, size_t file, int64_t begin, uint64_t epoch) const {
  const uint64_t mark = (epoch + 1) << 32 | static_cast<uint64_t>(begin / kReadAhead + 1);
  uint64_t seen = advised_[file].load(std::memory_order_relaxed);
  if (seen >= mark || !advised_[file].compare_exchange_strong(seen, mark, std::memory_order_relaxed)) return;
  const bool first = seen >> 32 != epoch + 1;
  opened.advise_ahead(first ? begin : (begin / kReadAhead + 1) * kReadAhead, first ? 2 * kReadAhead : kReadAhead);
}

Result<std::string_view> RecordFiles::read(size_t file, int64_t record, uint64_t epoch,
                                           std::unique_ptr<char[]>* buffer) const {
  const WorkSpan span(WorkPart::kRead);
  thread_local std::vector<char> kept;  // for records of ordinary size
  const int64_t begin = files_[file].offsets[record];
  const size_t bytes = static_cast<size_t>(files_[file].offsets[record + 1] - begin);
  TENON_ASSIGN(const std::shared_ptr<const File> opened, open(file));
  read_ahead(*opened, file, begin, epoch);
  const bool large = bytes >= kRoomGranule;
  if (large) {
    TENON_TRY(take_room(bytes, "a record"));
    *buffer = std::make_unique_for_overwrite<char[]>(bytes);
  } else if (kept.size() < bytes) {
    kept.resize(bytes + bytes / 4);
  }
  char* const frame = large ? buffer->get() : kept.data();
  TENON_TRY(opened->read_exactly_at(begin, frame, bytes));
  const std::string_view data(frame + kRecordHeader, bytes - kRecordHeader - kRecordFooter);
  if (const uint64_t length = load_unaligned<uint64_t>(frame); length != data.size())
    return invalid("changed since it was first read: expected ", data.size(), " bytes of data, found ", length);
  if (const uint32_t expected = crc32c_mask(crc32c(data)), found = load_unaligned<uint32_t>(data.data() + data.size());
      found != expected)
    return invalid("checksum of the data: expected ", expected, ", found ", found);
  return data;
}

std::string RecordFile::where(int64_t offset) const {
  return unpacked ? cat(path, ": record at inflated byte ", offset - offsets.front())
                  : cat(path, ": record at offset ", offset);
}

std::string RecordFile::lost() const {
  if (unpacked)
    return cat("the rest of ", path, " is lost, from inflated byte ", offsets.back() - offsets.front(), " on");
  return cat("the rest of ", path, " is lost, ", lost_bytes, " bytes from offset ", offsets.back(), " on");
}

std::string RecordFiles::where(size_t file, int64_t record) const {
  return files_[file].where(files_[file].offsets[static_cast<size_t>(record)]);
}

uint64_t RecordFiles::fingerprint() const {
  uint64_t hash = 0;
  for (const RecordFile& file : files_)
    for (const uint64_t value :
         {uint64_t{crc32c(name_of(file.path))}, static_cast<uint64_t>(file.offsets.back() - file.offsets.front()),
          static_cast<uint64_t>(file.records()), uint64_t{file.sample}})
      hash = mix_hash(hash, value);
  return hash | 1;
}

}  // namespace tenon
