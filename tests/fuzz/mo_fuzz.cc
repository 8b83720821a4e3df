// Compiled gettext catalogues.
#include "pairs.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("f", {reinterpret_cast<const char*>(data), size});
  fuzz::read_pairs(read_mo_pairs("f"), size);
  fuzz::remove_files();
  return 0;
}
