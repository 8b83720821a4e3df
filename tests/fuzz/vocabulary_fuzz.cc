// Vocabulary files, and text through them: what follows a NUL. All text that can be written comes back.
#include <algorithm>
#include <cstdlib>

#include "seam/memory_files.h"
#include "tenon/subtokenizer.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(all.find('\0'), size);
  const std::string_view text = all.substr(std::min(end + 1, size));
  fuzz::put_file("f", all.substr(0, end));
  const Result<Subtokenizer> words = Subtokenizer::load("f");
  fuzz::remove_files();
  std::vector<int32_t> ids;
  if (!words.ok() || !words->encode(text, ids).ok()) return 0;
  if (words->decode(ids) != text) std::abort();
  return 0;
}
