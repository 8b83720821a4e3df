#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/record/record_format.h"
#include "tenon/tfrecord.h"

namespace tenon {
namespace {

constexpr size_t kOutput = 256 << 10;

}  // namespace

struct RecordWriter::State {
  explicit State(AtomicFile file) : file(std::move(file)) {}
  ~State() {
    if (compressing) deflateEnd(&zlib);
  }

  AtomicFile file;
  uint64_t records = 0;
  Status failed;
  bool finished = false;
  bool compressing = false;
  z_stream zlib{};
  std::vector<Bytef> output;

  Status start(Compression compression);
  Status put(const void* data, size_t bytes);
  Status deflate_all(int flush);
  Status put_record(std::string_view record);
};

Status RecordWriter::State::start(Compression compression) {
  if (compression == Compression::kNone) return {};
  const int window = compression == Compression::kGzip ? 15 + 16 : 15;
  if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return Status(Code::kOutOfMemory, cat("no memory to compress '", file.path(), "'"));
  compressing = true;
  output.resize(kOutput);
  return {};
}

// Writes what deflate makes of next_in..avail_in; with Z_FINISH also the stream's end.
Status RecordWriter::State::deflate_all(int flush) {
  do {
    zlib.next_out = output.data();
    zlib.avail_out = static_cast<uInt>(output.size());
    deflate(&zlib, flush);
    TENON_TRY(file.write(output.data(), output.size() - zlib.avail_out));
  } while (zlib.avail_out == 0);
  return {};
}

Status RecordWriter::State::put(const void* data, size_t bytes) {
  if (!compressing) return file.write(data, bytes);
  const Bytef* from = static_cast<const Bytef*>(data);
  while (bytes > 0) {
    const size_t part = std::min<size_t>(bytes, std::numeric_limits<uInt>::max());
    zlib.next_in = const_cast<Bytef*>(from);
    zlib.avail_in = static_cast<uInt>(part);
    TENON_TRY(deflate_all(Z_NO_FLUSH));
    from += part;
    bytes -= part;
  }
  return {};
}

Status RecordWriter::State::put_record(std::string_view record) {
  const RecordFrame frame(record);
  TENON_TRY(put(frame.header(), kRecordHeader));
  TENON_TRY(put(record.data(), record.size()));
  return put(frame.footer(), kRecordFooter);
}

RecordWriter::RecordWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

Result<RecordWriter> RecordWriter::create(const std::string& path, Compression compression) {
  TENON_ASSIGN(AtomicFile file, AtomicFile::create(path));
  auto state = std::make_unique<State>(std::move(file));
  TENON_TRY(state->start(compression));
  return RecordWriter(std::move(state));
}

Status RecordWriter::write(std::string_view record) {
  if (state_->finished) return Status(Code::kInternal, cat("write to '", path(), "' after it was finished"));
  TENON_TRY(state_->put_record(record));
  ++state_->records;
  return {};
}

Status RecordWriter::finish() {
  if (!std::exchange(state_->finished, true) && state_->compressing) {
    state_->zlib.avail_in = 0;
    TENON_TRY(state_->deflate_all(Z_FINISH));
  }
  return state_->file.finish();
}

Status RecordWriter::close() {
  TENON_TRY(finish());
  return state_->file.commit();
}

uint64_t RecordWriter::records() const { return state_->records; }
const std::string& RecordWriter::path() const { return state_->file.path(); }

}  // namespace tenon
