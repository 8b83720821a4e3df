// Documents and summaries as lines of JSON.
#include "pairs.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("f", {reinterpret_cast<const char*>(data), size});
  fuzz::read_pairs(read_jsonl_pairs("f", "document", "summary"), size);
  fuzz::remove_files();
  return 0;
}
