// A file that a Dataset's cache wrote, checksums off.
#include <cstdlib>

#include "data/chain/cache/cache_file.h"
#include "seam/memory_files.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("c", {reinterpret_cast<const char*>(data), size});
  const Result<std::unique_ptr<const CacheFile>> file = CacheFile::open("c", {1, 0});
  if (file.ok() && !*file) std::abort();
  if (file.ok() && (*file)->size() > size) std::abort();
  for (uint64_t i = 0; file.ok() && i < (*file)->size() && i < 64; ++i) {
    const Result<CachedElement> read = (*file)->read(i, 0);
    size_t bytes = 0;
    if (read.ok())
      for (const auto& [name, array] : read->element) bytes += name.size() + array.bytes().size();
    if (bytes > size) std::abort();
  }
  fuzz::remove_files();
  return 0;
}
