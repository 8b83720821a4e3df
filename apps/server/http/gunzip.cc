#include "server/http/gunzip.h"

#include <zlib.h>

#include <algorithm>

namespace tenon::server {
namespace {

constexpr int kGzipAlone = 16 + MAX_WBITS;
constexpr size_t kStep = 65536;

struct Stream {
  z_stream z{};
  bool open = ::inflateInit2(&z, kGzipAlone) == Z_OK;
  Stream() = default;
  Stream(const Stream&) = delete;
  ~Stream() {
    if (open) ::inflateEnd(&z);
  }
};

}  // namespace

Gunzip gunzip(std::string_view bytes, int64_t most, std::string* out) {
  Stream stream;
  z_stream& z = stream.z;
  if (!stream.open || bytes.empty()) return Gunzip::kDamaged;
  out->clear();
  size_t size = 0;
  const char* next = bytes.data();
  const char* const end = next + bytes.size();
  while (true) {
    if (out->size() - size < kStep)
      out->resize(std::min(std::max(out->size() * 2, size + kStep), static_cast<size_t>(most) + kStep));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next));  // zlib does not write there
    z.avail_in = static_cast<uInt>(std::min<std::ptrdiff_t>(end - next, 1 << 30));
    z.next_out = reinterpret_cast<Bytef*>(out->data() + size);
    z.avail_out = static_cast<uInt>(std::min<size_t>(out->size() - size, 1 << 30));
    const int code = ::inflate(&z, Z_NO_FLUSH);
    next = reinterpret_cast<const char*>(z.next_in);
    size = static_cast<size_t>(reinterpret_cast<char*>(z.next_out) - out->data());
    if (static_cast<int64_t>(size) > most) return Gunzip::kTooLarge;
    if (code == Z_STREAM_END && next == end) break;
    if (code == Z_STREAM_END && ::inflateReset(&z) == Z_OK) continue;
    if (code != Z_OK || (next == end && z.avail_out > 0)) return Gunzip::kDamaged;
  }
  out->resize(size);
  return Gunzip::kDone;
}

}  // namespace tenon::server
