#include "data/input/input_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/crc32c.h"
#include "base/room.h"
#include "base/text.h"
#include "data/items.h"
#include "data/record/record_format.h"

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

// Reads forward through a file in steps that suit the distance between the headers.
class HeaderReader {
 public:
  explicit HeaderReader(const File& file) : file_(file) {}

  // kRecordHeader bytes at `offset`. REQUIRED: the file has them.
  Result<const char*> at(int64_t offset) {
    if (offset < begin_ || offset + kRecordHeader > end_) {
      // Small records: many headers in one read. Large ones: the header alone.
      const int64_t want = offset - end_ > kWindow / 8 ? kRecordHeader : kWindow;
      buffer_.resize(static_cast<size_t>(want));
      TENON_ASSIGN(size_t got, file_.read_at(offset, buffer_.data(), buffer_.size()));
      begin_ = offset;
      end_ = offset + static_cast<int64_t>(got);
      if (end_ < offset + kRecordHeader) return invalid(file_.path(), ": cut short while it was read");
    }
    return static_cast<const char*>(buffer_.data()) + (offset - begin_);
  }

 private:
  static constexpr int64_t kWindow = 128 << 10;
  const File& file_;
  std::vector<char> buffer_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

// The length of the frame at `offset`.
Result<int64_t> frame_bytes(HeaderReader& headers, int64_t offset, int64_t file_bytes) {
  const int64_t left = file_bytes - offset;
  if (left < kRecordHeader) return invalid("cut short: ", left, " bytes left, a record's header has ", kRecordHeader);
  TENON_ASSIGN(const char* header, headers.at(offset));
  if (const uint32_t expected = crc32c_mask(crc32c(header, 8)), found = load_unaligned<uint32_t>(header + 8);
      found != expected)
    return invalid("checksum of the length: expected ", expected, ", found ", found);
  const uint64_t length = load_unaligned<uint64_t>(header);
  if (left < kRecordHeader + kRecordFooter || length > static_cast<uint64_t>(left - kRecordHeader - kRecordFooter))
    return invalid("cut short: expected ", length, " bytes of data, found ", left - kRecordHeader);
  if (length > kMaxRecordBytes)
    return invalid("length: expected at most ", kMaxRecordBytes, " bytes of data, found ", length);
  return kRecordHeader + static_cast<int64_t>(length) + kRecordFooter;
}

// The stored checksums of some records from first to last, joined.
Result<uint32_t> sample_of(const File& file, const RecordFile& records) {
  constexpr int64_t kSamples = 16;
  const int64_t n = records.records(), most = std::min(n, kSamples);
  uint32_t joined = 0;
  for (int64_t i = 0; i < most; ++i) {
    const int64_t record = most > 1 ? i * (n - 1) / (most - 1) : 0;
    char footer[kRecordFooter];
    TENON_TRY(
        file.read_exactly_at(records.offsets[static_cast<size_t>(record) + 1] - kRecordFooter, footer, sizeof footer));
    joined = crc32c_extend(joined, footer, sizeof footer);
  }
  return joined;
}

// Records inside a compressed stream cannot be read one by one.
Status check_uncompressed(const File& file) {
  uint8_t magic[3];
  TENON_ASSIGN(const size_t got, file.read_at(0, magic, sizeof magic));
  if (got == 3 && magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8)
    return Status(Code::kUnsupported, cat(file.path(), ": compressed with gzip; unpack it first"));
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

Result<RecordFile> index_records(const std::string& path, bool tolerate) {
  TENON_ASSIGN(const File file, File::open(path));
  HeaderReader headers(file);
  RecordFile out{path, {0}};
  while (out.offsets.back() < file.size()) {
    const int64_t offset = out.offsets.back();
    Result<int64_t> bytes = frame_bytes(headers, offset, file.size());
    if (!bytes.ok() && offset == 0) TENON_TRY(check_uncompressed(file));
    if (!bytes.ok() && (!tolerate || bytes.status().code() != Code::kInvalid))
      return Status(bytes.status().code(), cat(path, ": record at offset ", offset, ": ", bytes.status().message()));
    if (!bytes.ok()) {
      out.lost_bytes = file.size() - offset;
      break;
    }
    TENON_TRY(take_room_to_grow(out.offsets, path));
    out.offsets.push_back(offset + *bytes);
  }
  if (out.records() > std::numeric_limits<uint32_t>::max()) return invalid(path, ": too many records");
  out.offsets.shrink_to_fit();
  TENON_ASSIGN(out.sample, sample_of(file, out));
  return out;
}

Result<std::vector<RecordFile>> index_files(const std::vector<std::string>& paths, bool tolerate, ThreadPool* pool) {
  std::vector<RecordFile> files(paths.size());
  const std::vector<Status> read = for_each_item(pool, paths.size(), [&](size_t i) -> Status {
    TENON_ASSIGN(files[i], index_records(paths[i], tolerate));
    return {};
  });
  for (size_t i = 0; i < paths.size(); ++i) {
    if (read[i].code() == Code::kOutOfMemory) return Status(Code::kOutOfMemory, cat(paths[i], ": ", read[i].message()));
    TENON_TRY(read[i]);
  }
  return files;
}

RecordFiles::RecordFiles(std::vector<RecordFile> files)
    : files_(std::move(files)), open_(files_.size()), advised_(files_.size()) {
  for (const RecordFile& file : files_) bytes_ += file.offsets.back();
}

Result<std::shared_ptr<const File>> RecordFiles::open(size_t file) const {
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

std::string RecordFile::lost() const {
  return cat("the rest of ", path, " is lost, ", lost_bytes, " bytes from offset ", offsets.back(), " on");
}

std::string RecordFiles::where(size_t file, int64_t record) const {
  return cat(files_[file].path, ": record at offset ", files_[file].offsets[record]);
}

}  // namespace tenon
