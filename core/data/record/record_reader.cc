#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/crc32c.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/record/byte_stream.h"
#include "data/record/record_format.h"
#include "tenon/tfrecord.h"

namespace tenon {

static_assert(RecordReaderOptions{}.max_record_bytes == kMaxRecordBytes);

struct RecordReader::State {
  // malloc's: its realloc moves large blocks without a copy.
  struct FreeBuffer {
    void operator()(char* memory) const { std::free(memory); }
  };

  State(std::string path, const RecordReaderOptions& options) : path(std::move(path)), options(options) {}

  std::string path;
  RecordReaderOptions options;
  std::unique_ptr<ByteStream> stream;
  bool compressed = false;

  // Bytes begin..end of the buffer are the stream's, from `offset` on.
  std::unique_ptr<char, FreeBuffer> buffer;
  size_t capacity = 0;
  size_t begin = 0;
  size_t end = 0;
  uint64_t offset = 0;

  bool lacks_room = false;  // for the record at `offset`
  bool ended = false;
  Status failed;
  uint64_t skipped = 0;
  Status last_skipped;

  Status attach(std::unique_ptr<ByteStream> source);
  Status available(size_t wanted, size_t* found);
  Status grow(size_t larger);
  std::string place() const;
  Status damage(std::string_view what, uint64_t expected, uint64_t found) const;
  Status read_length(uint64_t* length);
  Status locate(size_t* length, uint64_t* frame);
  Status pass_over(Status why, uint64_t frame);
  Status advance(std::string_view* record);
  Status go_to(uint64_t target);
};

Status RecordReader::State::attach(std::unique_ptr<ByteStream> source) {
  char head[kCompressionHead];
  TENON_ASSIGN(const size_t found, source->read(head, sizeof head));
  TENON_TRY(source->seek(0));
  compressed = looks_compressed({head, found});
  if (compressed) {
    TENON_ASSIGN(stream, inflate_stream(std::move(source), path));
  } else {
    stream = std::move(source);
  }
  return grow(std::clamp<uint64_t>(stream->limit(), 64, std::max<size_t>(options.buffer_bytes, 64)));
}

Status RecordReader::State::grow(size_t larger) {
  const Status room = take_room(larger - capacity, "a record");
  lacks_room = !room.ok();
  if (lacks_room) return invalid(place(), room.message());
  char* const next = static_cast<char*>(std::realloc(buffer.get(), larger));
  if (next == nullptr) return Status(Code::kOutOfMemory, cat("'", path, "': no memory for ", larger, " bytes"));
  (void)buffer.release();
  buffer.reset(next);
  capacity = larger;
  return {};
}

// Brings `wanted` bytes into the buffer; *found is fewer where the stream ends.
Status RecordReader::State::available(size_t wanted, size_t* found) {
  while (end - begin < wanted) {
    if (begin > 0 && begin + wanted > capacity) {
      std::memmove(buffer.get(), buffer.get() + begin, end - begin);
      end -= begin;
      begin = 0;
    }
    // What a compressed file says of a length costs no more than the bytes there are.
    if (end == capacity) TENON_TRY(grow(compressed ? std::min(capacity * 2, wanted) : wanted));
    TENON_ASSIGN(const size_t more, stream->read(buffer.get() + end, capacity - end));
    if (more == 0) break;
    end += more;
  }
  *found = std::min(end - begin, wanted);
  return {};
}

std::string RecordReader::State::place() const {
  return cat("'", path, "' at ", compressed ? "inflated byte " : "byte ", offset, ": ");
}

Status RecordReader::State::damage(std::string_view what, uint64_t expected, uint64_t found) const {
  return invalid(place(), what, ": expected ", expected, ", found ", found);
}

// *length of the record at `offset`, as far as it can be believed.
Status RecordReader::State::read_length(uint64_t* length) {
  size_t found = 0;
  TENON_TRY(available(kRecordHeader, &found));
  if (found == 0) {
    ended = true;
    return {};
  }
  if (found < kRecordHeader) return damage("the file ends inside a record's header, bytes", kRecordHeader, found);
  const char* header = buffer.get() + begin;
  *length = load_unaligned<uint64_t>(header);
  if (!options.verify_checksums || record_header_is_sound(header)) return {};
  return damage("checksum of a record's length", crc32c_mask(crc32c(header, 8)), load_unaligned<uint32_t>(header + 8));
}

// Brings the whole record into the buffer, or sets `ended`. *frame: where the next record is known to begin, seen
// from here; else 0.
Status RecordReader::State::locate(size_t* out, uint64_t* frame) {
  uint64_t length = 0;
  TENON_TRY(read_length(&length));
  if (ended) return {};
  const uint64_t limit = stream->limit();
  const uint64_t rest =
      limit > offset + kRecordHeader + kRecordFooter ? limit - offset - kRecordHeader - kRecordFooter : 0;
  if (length > rest) return damage("a record's length exceeds the rest of the file, at most", rest, length);
  if (length > options.max_record_bytes)
    return damage("a record's length exceeds the limit, at most", options.max_record_bytes, length);
  const size_t wanted = kRecordHeader + length + kRecordFooter;
  size_t found = 0;
  lacks_room = false;
  const Status status = available(wanted, &found);
  if (status.ok() || lacks_room) *frame = wanted;
  TENON_TRY(status);
  if (found < wanted) {
    *frame = 0;
    return damage("the file ends inside a record, bytes", wanted, found);
  }
  *out = length;
  return {};
}

// Decides about damage: an error, or counted. `frame`: of locate; with 0 nothing after it can be found.
Status RecordReader::State::pass_over(Status why, uint64_t frame) {
  if (!options.skip_corrupt || why.code() != Code::kInvalid) {
    failed = std::move(why);
    return failed;
  }
  ++skipped;
  last_skipped = std::move(why);
  if (frame > 0 && go_to(offset + frame).ok()) return {};
  if (failed.code() != Code::kInvalid) TENON_TRY(failed);
  failed = {};
  ended = true;
  return {};
}

Status RecordReader::State::advance(std::string_view* record) {
  TENON_TRY(failed);
  while (!ended) {
    size_t length = 0;
    uint64_t frame = 0;
    if (Status status = locate(&length, &frame); !status.ok()) {
      TENON_TRY(pass_over(std::move(status), frame));
      continue;
    }
    if (ended) break;
    const char* data = buffer.get() + begin + kRecordHeader;
    const uint32_t stored = load_unaligned<uint32_t>(data + length);
    const uint32_t computed = options.verify_checksums ? crc32c_mask(crc32c(data, length)) : stored;
    if (stored != computed) {
      TENON_TRY(pass_over(damage("checksum of a record's data", computed, stored), frame));
      continue;
    }
    *record = {data, length};  // stays in the buffer
    begin += frame;
    offset += frame;
    return {};
  }
  return {};
}

Status RecordReader::State::go_to(uint64_t target) {
  failed = {};
  ended = false;
  if (target >= offset && target - offset <= end - begin) {
    begin += target - offset;
    offset = target;
    return {};
  }
  begin = end = 0;
  offset = target;
  if (const Status status = stream->seek(target); !status.ok())
    failed = Status(status.code(), cat("cannot continue '", path, "': ", status.message()));
  return failed;
}

RecordReader::RecordReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

Result<RecordReader> RecordReader::open(const std::string& path, const RecordReaderOptions& options) {
  TENON_ASSIGN(std::unique_ptr<ByteStream> stream, open_stream(path));
  auto state = std::make_unique<State>(path, options);
  TENON_TRY(state->attach(std::move(stream)));
  return RecordReader(std::move(state));
}

Result<RecordReader> RecordReader::from_memory(std::string_view bytes, const std::string& name,
                                               const RecordReaderOptions& options) {
  auto state = std::make_unique<State>(name, options);
  TENON_TRY(state->attach(memory_stream(bytes)));
  return RecordReader(std::move(state));
}

Result<bool> RecordReader::next(std::string_view* record) {
  TENON_TRY(state_->advance(record));
  return !state_->ended;
}

Status RecordReader::seek(uint64_t offset) { return state_->go_to(offset); }
uint64_t RecordReader::offset() const { return state_->offset; }
uint64_t RecordReader::skipped() const { return state_->skipped; }
const Status& RecordReader::last_skipped() const { return state_->last_skipped; }
const std::string& RecordReader::path() const { return state_->path; }

}  // namespace tenon
