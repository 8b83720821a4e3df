#include "data/chain/cache/cache_file.h"

#include <algorithm>
#include <filesystem>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/chain/element_bytes.h"
#include "data/record/record_format.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "tenon cache 1\n\n\n";
constexpr int64_t kFrame = kRecordHeader + kRecordFooter;

// The last record.
struct Footer {
  char magic[16];
  int64_t index_at;
};
constexpr int64_t kFooterBytes = kFrame + static_cast<int64_t>(sizeof(Footer));

// The record before it, which arrays follow: int64 offsets[count + 1] of the records, uint64 record_of[count], int64 rows[count].
struct IndexHead {
  uint64_t chain, data, count;
};

Status is_none(const std::string& path, std::string_view why) {
  return invalid("cache '", path, "': expected a file that a cache wrote, found ", why,
                 "; remove it, or give another path");
}

// A record's data, when its checksums are right.
Result<std::string> record_at(const File& file, int64_t offset, int64_t end) {
  const int64_t bytes = end - offset;
  if (offset < 0 || bytes < kFrame) return is_none(file.path(), "one that is cut or damaged");
  TENON_TRY(take_room(static_cast<uint64_t>(bytes), "the index of a cache"));
  std::string frame(static_cast<size_t>(bytes), '\0');
  TENON_TRY(file.read_exactly_at(offset, frame.data(), frame.size()));
  const std::string_view data = std::string_view(frame).substr(kRecordHeader, static_cast<size_t>(bytes - kFrame));
  const RecordFrame expected(data);
  if (std::memcmp(frame.data(), expected.header(), kRecordHeader) != 0 ||
      std::memcmp(data.data() + data.size(), expected.footer(), kRecordFooter) != 0)
    return is_none(file.path(), "one that is cut or damaged");
  return std::string(data);
}

Result<int64_t> index_place(const File& file) {
  if (file.size() < kFooterBytes) return is_none(file.path(), cat(file.size(), " bytes"));
  TENON_ASSIGN(const std::string data, record_at(file, file.size() - kFooterBytes, file.size()));
  const auto footer = load_unaligned<Footer>(data.data());
  if (std::string_view(footer.magic, sizeof footer.magic) != kMagic.substr(0, sizeof footer.magic))
    return is_none(file.path(), "another one");
  return footer.index_at;
}

template <class T>
std::vector<T> take_array(std::string_view& bytes, size_t count) {
  std::vector<T> out(count);
  if (count > 0) std::memcpy(out.data(), bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
  return out;
}

template <class T>
void append_array(const std::vector<T>& values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Status check_tag(const std::string& path, const IndexHead& found, const CacheTag& tag) {
  const auto of = [&](std::string_view what) {
    return invalid("cache '", path, "' holds elements of ", what, "; remove it, or give another path");
  };
  if (found.chain != tag.chain) return of("another chain of verbs");
  if (found.data != 0 && tag.data != 0 && found.data != tag.data) return of("other data");
  return {};
}

}  // namespace

CacheFile::CacheFile(RecordFile file, std::vector<uint64_t> record_of, std::vector<int64_t> rows)
    : files_([&] {
        std::vector<RecordFile> one;
        one.push_back(std::move(file));
        return one;
      }()),
      record_of_(std::move(record_of)),
      rows_(std::move(rows)) {}

Result<std::unique_ptr<const CacheFile>> CacheFile::open(const std::string& path, const CacheTag& tag) {
  std::error_code error;
  Result<File> opened = File::open(path);
  if (!opened.ok() && !std::filesystem::exists(path, error)) return std::unique_ptr<const CacheFile>();
  TENON_ASSIGN(const File file, std::move(opened));
  TENON_ASSIGN(const int64_t index_at, index_place(file));
  TENON_ASSIGN(const std::string index, record_at(file, index_at, file.size() - kFooterBytes));
  std::string_view rest = index;
  if (rest.size() < sizeof(IndexHead)) return is_none(path, "a damaged one");
  const auto head = load_unaligned<IndexHead>(rest.data());
  rest.remove_prefix(sizeof head);
  if (rest.size() % 24 != 8 || rest.size() / 24 != head.count) return is_none(path, "a damaged one");
  TENON_TRY(check_tag(path, head, tag));
  const auto count = static_cast<size_t>(head.count);
  RecordFile records{path, take_array<int64_t>(rest, count + 1)};
  std::vector<uint64_t> record_of = take_array<uint64_t>(rest, count);
  const std::vector<int64_t>& at = records.offsets;
  const bool rise =
      at.front() == 0 && at.back() == index_at &&
      std::adjacent_find(at.begin(), at.end(), [](int64_t a, int64_t b) { return b - a < kFrame; }) == at.end();
  if (!rise || std::any_of(record_of.begin(), record_of.end(), [&](uint64_t r) { return r >= count; }))
    return is_none(path, "a damaged one");
  return std::unique_ptr<const CacheFile>(
      new CacheFile(std::move(records), std::move(record_of), take_array<int64_t>(rest, count)));
}

Result<CachedElement> CacheFile::read(uint64_t index, uint64_t epoch) const {
  const auto record = static_cast<int64_t>(record_of_[index]);
  const auto taken = [&]() -> Result<CachedElement> {
    std::unique_ptr<char[]> large;
    TENON_ASSIGN(std::string_view bytes, files_.read(0, record, epoch, &large));
    TENON_ASSIGN(const std::string_view where, take_text(bytes));
    CachedElement out{std::string(where), {}};
    TENON_ASSIGN(out.element, take_element(bytes));
    return out;
  };
  Result<CachedElement> out = taken();
  if (out.ok()) return out;
  return Status(out.status().code(), cat(files_.where(0, record), ": ", out.status().message()));
}

Result<CacheWriter> CacheWriter::create(const std::string& path) {
  remove_left_temporaries(path);
  TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path));
  return CacheWriter(std::move(writer));
}

std::string CacheWriter::record_of(const Element& element, const std::string& where) {
  std::string bytes;
  append_text(where, bytes);
  append_element(element, bytes);
  return bytes;
}

Status CacheWriter::add(uint64_t index, int64_t rows, std::string_view record) {
  if (record.size() > kMaxRecordBytes)
    return invalid("cache: an element has ", record.size(), " bytes, expected at most ", kMaxRecordBytes);
  TENON_TRY(writer_.write(record));
  if (index >= record_of_.size()) record_of_.resize(index + 1, kNone), rows_.resize(index + 1, -1);
  record_of_[index] = written();
  rows_[index] = rows;
  offsets_.push_back(offsets_.back() + static_cast<int64_t>(record.size()) + kFrame);
  return {};
}

Status CacheWriter::finish(const CacheTag& tag) {
  const IndexHead head{tag.chain, tag.data, written()};
  std::string index(reinterpret_cast<const char*>(&head), sizeof head);
  append_array(offsets_, index);
  append_array(record_of_, index);
  append_array(rows_, index);
  TENON_TRY(writer_.write(index));
  Footer footer{{}, offsets_.back()};
  std::memcpy(footer.magic, kMagic.data(), sizeof footer.magic);
  TENON_TRY(writer_.write({reinterpret_cast<const char*>(&footer), sizeof footer}));
  return writer_.close();
}

}  // namespace tenon
