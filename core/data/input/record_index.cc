// Where the records of files begin.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/crc32c.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/input/input_files.h"
#include "data/input/unpack_room.h"
#include "data/items.h"
#include "data/record/byte_stream.h"
#include "data/record/record_format.h"

namespace tenon {
namespace {

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

// The length of the frame at `offset`; `end` is that of the file.
Result<int64_t> frame_bytes(HeaderReader& headers, int64_t offset, int64_t end) {
  const int64_t left = end - offset;
  if (left < kRecordHeader) return invalid("cut short: ", left, " bytes left, a record's header has ", kRecordHeader);
  TENON_ASSIGN(const char* header, headers.at(offset));
  if (!record_header_is_sound(header))
    return invalid("checksum of the length: expected ", crc32c_mask(crc32c(header, 8)), ", found ",
                   load_unaligned<uint32_t>(header + 8));
  const uint64_t length = load_unaligned<uint64_t>(header);
  if (left < kRecordHeader + kRecordFooter || length > static_cast<uint64_t>(left - kRecordHeader - kRecordFooter))
    return invalid("cut short: expected ", length, " bytes of data, found ", left - kRecordHeader);
  if (length > kMaxRecordBytes)
    return invalid("length: expected at most ", kMaxRecordBytes, " bytes of data, found ", length);
  return kRecordHeader + static_cast<int64_t>(length) + kRecordFooter;
}

// Walks from frame to frame of what there is of a file.
class Walk {
 public:
  Walk(const File& file, RecordFile& out) : headers_(file), out_(out) {}

  // As far as `end`, the end of the file. A broken frame is an error with its place.
  Status to_end(int64_t end) {
    while (at() < end) {
      const Result<int64_t> bytes = frame_bytes(headers_, at(), end);
      if (!bytes.ok()) return broken(bytes.status());
      TENON_TRY(add(*bytes));
    }
    return {};
  }
  // Over all whole frames before `end`, behind which there may be more.
  Status as_far_as(int64_t end) {
    while (end - at() >= kRecordHeader) {
      const Result<int64_t> bytes = frame_bytes(headers_, at(), std::numeric_limits<int64_t>::max());
      if (!bytes.ok()) return broken(bytes.status());
      if (*bytes > end - at()) break;
      TENON_TRY(add(*bytes));
    }
    return {};
  }
  Status broken(const Status& why) const { return Status(why.code(), cat(out_.where(at()), ": ", why.message())); }

 private:
  int64_t at() const { return out_.offsets.back(); }
  Status add(int64_t bytes) {
    TENON_TRY(take_room_to_grow(out_.offsets, out_.path));
    out_.offsets.push_back(at() + bytes);
    return {};
  }

  HeaderReader headers_;
  RecordFile& out_;
};

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

Status take_status(RecordFile& out, const Status& status, int64_t lost, bool tolerate) {
  if (status.ok()) return {};
  if (!tolerate || status.code() != Code::kInvalid) return status;
  out.broken = status;
  out.lost_bytes = lost;
  return {};
}

Status index_plain(const File& file, bool tolerate, RecordFile& out) {
  const Status walked = Walk(file, out).to_end(file.size());
  return take_status(out, walked, file.size() - out.offsets.back(), tolerate);
}

// Unpacks it behind what the space has, as far as its frames are whole.
Status unpack(const std::string& path, UnpackSpace& space, RecordFile& out) {
  constexpr size_t kPiece = 1 << 20;
  TENON_ASSIGN(std::unique_ptr<ByteStream> packed, open_stream(path));
  TENON_ASSIGN(const std::unique_ptr<ByteStream> stream, inflate_stream(std::move(packed), path));
  const auto bytes = std::make_unique_for_overwrite<char[]>(kPiece);
  Walk walk(*space.file(), out);
  for (;;) {
    TENON_ASSIGN(const size_t got, stream->read(bytes.get(), kPiece));
    if (got == 0) return walk.to_end(space.bytes());
    if (const Status written = space.append({bytes.get(), got}); !written.ok())
      return Status(written.code(), cat(path, ": is compressed, and has to be unpacked: ", written.message()));
    TENON_TRY(walk.as_far_as(space.bytes()));
  }
}

Result<RecordFile> index_records(const std::string& path, bool tolerate, UnpackRoom& room) {
  TENON_ASSIGN(const File file, File::open(path));
  TENON_ASSIGN(const bool compressed, is_compressed(file));
  RecordFile out{path, {0}};
  if (compressed) {
    TENON_ASSIGN(UnpackRoom::Loan space, room.lend());
    out.unpacked = space->file();
    out.offsets = {space->bytes()};
    const Status unpacked = unpack(path, *space, out);
    TENON_TRY(take_status(out, unpacked, std::max<int64_t>(space->bytes() - out.offsets.back(), 1), tolerate));
  } else {
    TENON_TRY(index_plain(file, tolerate, out));
  }
  if (out.records() > std::numeric_limits<uint32_t>::max()) return invalid(path, ": too many records");
  out.offsets.shrink_to_fit();
  TENON_ASSIGN(out.sample, sample_of(compressed ? *out.unpacked : file, out));
  return out;
}

}  // namespace

Result<bool> is_compressed(const File& file) {
  char head[kCompressionHead];
  TENON_ASSIGN(const size_t got, file.read_at(0, head, sizeof head));
  return looks_compressed({head, got});
}

Result<std::vector<RecordFile>> index_files(const std::vector<std::string>& paths, bool tolerate, ThreadPool* pool) {
  std::vector<RecordFile> files(paths.size());
  UnpackRoom room;
  const std::vector<Status> read = for_each_item(pool, paths.size(), [&](size_t i) -> Status {
    TENON_ASSIGN(files[i], index_records(paths[i], tolerate, room));
    return {};
  });
  for (size_t i = 0; i < paths.size(); ++i) {
    if (read[i].code() == Code::kOutOfMemory) return Status(Code::kOutOfMemory, cat(paths[i], ": ", read[i].message()));
    TENON_TRY(read[i]);
  }
  return files;
}

}  // namespace tenon
