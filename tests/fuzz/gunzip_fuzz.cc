// Compressed bodies: refused, or no larger than the limit.
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/http/gunzip.h"

using namespace tenon::server;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMost = 4096;
  std::string out;
  const Gunzip found = gunzip({reinterpret_cast<const char*>(data), size}, kMost, &out);
  if (found == Gunzip::kDone && std::ssize(out) > kMost) std::abort();
  if (out.size() > kMost + 65536) std::abort();  // what was allocated
  return 0;
}
