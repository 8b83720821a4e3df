#include "data/convert/idx.h"

#include <algorithm>
#include <memory>

#include "base/room.h"
#include "base/strings.h"
#include "data/record/byte_stream.h"

namespace tenon {
namespace {

constexpr int kMaxIdxRank = 4;
constexpr size_t kStep = 1 << 20;

uint32_t big_endian(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

// Appends up to `bytes` bytes to *out; fewer where the stream ends.
Status read_some(ByteStream& stream, uint64_t bytes, std::vector<uint8_t>* out) {
  while (bytes > 0) {
    const size_t before = out->size(), part = std::min<uint64_t>(bytes, kStep);
    out->resize(before + part);
    Result<size_t> more = stream.read(out->data() + before, part);
    out->resize(before + (more.ok() ? *more : 0));
    if (!more.ok()) return more.status();
    if (*more == 0) return {};
    bytes -= *more;
  }
  return {};
}

Status read_header(ByteStream& stream, const std::string& name, std::vector<int64_t>* dims) {
  std::vector<uint8_t> head;
  TENON_TRY(read_some(stream, 4, &head));
  if (head.size() < 4) return invalid("'", name, "': expected an IDX header of 4 bytes, found ", head.size());
  if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] < 1 || head[3] > kMaxIdxRank)
    return invalid("'", name, "': expected IDX bytes of 1 to ", kMaxIdxRank,
                   " dimensions (magic 2049 to 2052), found magic ", big_endian(head.data()));
  const size_t bytes = size_t{4} * head[3];
  std::vector<uint8_t> sizes;
  TENON_TRY(read_some(stream, bytes, &sizes));
  if (sizes.size() < bytes)
    return invalid("'", name, "': expected ", bytes, " bytes of IDX dimensions, found ", sizes.size());
  for (size_t i = 0; i < bytes; i += 4) dims->push_back(big_endian(sizes.data() + i));
  return {};
}

// The product of the dimensions, each below 2^32; -1 when it exceeds `limit` (below 2^63).
int64_t product(const std::vector<int64_t>& dims, int64_t limit) {
  int64_t result = 1;
  for (const int64_t dim : dims) {
    if (dim != 0 && result > limit / dim) return -1;
    result *= dim;
  }
  return result;
}

Result<IdxArray> read_stream(std::unique_ptr<ByteStream> stream, const std::string& name, int64_t max_bytes) {
  std::vector<uint8_t> head;
  TENON_TRY(read_some(*stream, 3, &head));
  TENON_TRY(stream->seek(0));
  if (looks_like_gzip({reinterpret_cast<const char*>(head.data()), head.size()})) {
    TENON_ASSIGN(stream, inflate_stream(std::move(stream), name));
  }
  IdxArray array;
  TENON_TRY(read_header(*stream, name, &array.dims));
  const int64_t expected = product(array.dims, max_bytes);
  if (expected < 0)
    return invalid("'", name, "': expected at most ", max_bytes, " elements, found dimensions ", join(array.dims, "x"));
  const uint64_t bytes = std::min<uint64_t>(static_cast<uint64_t>(expected), stream->limit());
  if (const Status room = take_room(bytes, "its elements"); !room.ok())
    return Status(room.code(), cat("'", name, "': ", room.message()));
  array.data.reserve(bytes);
  TENON_TRY(read_some(*stream, static_cast<uint64_t>(expected), &array.data));
  if (static_cast<int64_t>(array.data.size()) < expected)
    return invalid("'", name, "': expected ", expected, " elements for dimensions ", join(array.dims, "x"), ", found ",
                   array.data.size());
  uint8_t beyond;
  TENON_ASSIGN(const size_t more, stream->read(&beyond, 1));
  if (more != 0) return invalid("'", name, "': expected the end after ", expected, " elements, found more");
  return array;
}

}  // namespace

Result<IdxArray> read_idx(const std::string& path, int64_t max_bytes) {
  TENON_ASSIGN(std::unique_ptr<ByteStream> stream, open_stream(path));
  return read_stream(std::move(stream), path, max_bytes);
}

Result<IdxArray> parse_idx(std::string_view bytes, const std::string& name, int64_t max_bytes) {
  return read_stream(memory_stream(bytes), name, max_bytes);
}

}  // namespace tenon
