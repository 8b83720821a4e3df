// Translation memories.
#include "pairs.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("f", {reinterpret_cast<const char*>(data), size});
  fuzz::read_pairs(read_tmx_pairs("f", "en", "de"), 2 * size);  // a byte of ISO-8859-1 is two of UTF-8
  fuzz::remove_files();
  return 0;
}
