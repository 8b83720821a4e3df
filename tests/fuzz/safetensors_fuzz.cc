// Safetensors files: the header, and reading every tensor that it names.
#include <cstdlib>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "seam/memory_files.h"

using namespace tenon;

static void read_all(const SafetensorsReader& reader, int64_t size) {
  int64_t bytes = 0;
  for (const auto& [name, entry] : reader.entries()) {
    bytes += entry.size;
    if (bytes > size) std::abort();  // they tile the file
    std::vector<std::byte> out(static_cast<size_t>(entry.size));
    (void)reader.read(name, out);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("p", {reinterpret_cast<const char*>(data), size});
  Result<SafetensorsReader> reader = SafetensorsReader::open("p");
  if (!reader.ok() && reader.status().message().size() > 4096) std::abort();
  if (reader.ok()) read_all(*reader, static_cast<int64_t>(size));
  fuzz::remove_files();
  return 0;
}
