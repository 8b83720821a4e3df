// Archives, as .keras files are: the directory, and reading every member; config.json as what it says of layers.
#include <cstdlib>
#include <string>

#include "checkpoint/archive/zip_file.h"
#include "checkpoint/keras/keras_names.h"
#include "seam/memory_files.h"

using namespace tenon;

static void read_all(const ZipFile& zip, int64_t size) {
  for (const auto& [name, member] : zip.members()) {
    if (member.bytes > 1100 * size + 64) std::abort();  // what deflate makes of a file at most
    const Result<std::string> bytes = zip.read(name, int64_t{1} << 20);
    if (bytes.ok() && std::ssize(*bytes) != member.bytes) std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  fuzz::put_file("p", bytes);
  Result<ZipFile> zip = ZipFile::open("p");
  if (!zip.ok() && zip.status().message().size() > 4096) std::abort();
  if (zip.ok()) read_all(*zip, static_cast<int64_t>(size));
  (void)layers_of_config(bytes);
  fuzz::remove_files();
  return 0;
}
