#include "bench/made_lines.h"

#include <algorithm>
#include <filesystem>

#include "tenon/atomic_file.h"
#include "tenon/element.h"
#include "tenon/status.h"

namespace tenon::runner {
namespace {

// Words of 2 to 9 letters until the line has its length.
std::string made_line(SampleRandom& random) {
  const auto length = static_cast<size_t>(std::min<int64_t>(8 << random.below(6), kLongestLine - 8) + random.below(8));
  std::string line;
  while (line.size() < length) {
    for (int left = 2 + random.below(8); left > 0; --left) line += static_cast<char>('a' + random.below(26));
    line += ' ';
  }
  line.resize(length);
  line.back() = '.';
  return line;
}

}  // namespace

void write_lines(const std::string& directory, int64_t count) {
  const std::string path = directory + "/lines.txt";
  if (std::filesystem::exists(path)) return;
  std::filesystem::create_directories(directory);
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    SampleRandom random(7, 0, static_cast<uint64_t>(i));
    text += made_line(random) + '\n';
  }
  AtomicFile file = AtomicFile::create(path).take();
  check(file.write(text));
  check(file.commit());
}

}  // namespace tenon::runner
