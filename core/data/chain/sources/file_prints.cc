#include "data/chain/sources/file_prints.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/file/file.h"
#include "data/chain/chain_node.h"

namespace tenon {
namespace {

constexpr size_t kLookedAt = 16;  // files
constexpr int64_t kPiece = 4096;  // bytes of such a file's beginning, middle and end

uint32_t some_bytes_of(const std::string& path) {
  const Result<File> file = File::open(path);
  if (!file.ok()) return 0;
  uint32_t crc = 0;
  for (const int64_t at : {int64_t{0}, file->size() / 2, std::max<int64_t>(file->size() - kPiece, 0)}) {
    char bytes[kPiece];
    const Result<size_t> got = file->read_at(at, bytes, sizeof bytes);
    if (got.ok()) crc = crc32c_extend(crc, bytes, *got);
  }
  return crc;
}

}  // namespace

uint64_t files_fingerprint(const std::vector<std::string>& paths) {
  uint64_t hash = mix_hash(0xf11e5, paths.size());
  for (const std::string& path : paths) {
    const Result<int64_t> bytes = file_bytes(path);
    hash = mix_hash(mix_hash(hash, crc32c(name_of(path))), bytes.ok() ? static_cast<uint64_t>(*bytes) : 0);
  }
  const size_t looked = std::min(paths.size(), kLookedAt);
  for (size_t i = 0; i < looked; ++i)
    hash = mix_hash(hash, some_bytes_of(paths[looked > 1 ? i * (paths.size() - 1) / (looked - 1) : 0]));
  return hash | 1;
}

}  // namespace tenon
