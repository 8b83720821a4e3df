// Small photographs of four classes, no two alike, with the list that `tenon convert images` reads.
//   trust_jpegs DIR COUNT
#include <cstdlib>
#include <fstream>

#include "unit/data/jpeg_writer.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr int kWidth = 40, kHeight = 32, kClasses = 4;
  const std::string dir = argv[1];
  std::ofstream list(dir + "/train.csv"), labels(dir + "/labels.txt");
  for (int i = 0; i < kClasses; ++i) labels << "class" << i << "\n";
  uint32_t state = 12345;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    std::vector<uint8_t> pixels = tenon::smooth_pixels(kWidth, kHeight, 3);
    for (size_t p = 0; p < pixels.size(); ++p) {
      state = state * 1664525 + 1013904223;
      pixels[p] =
          static_cast<uint8_t>((pixels[p] + (state >> 27) + 50 * (p % 3 == static_cast<size_t>(i % kClasses))) % 256);
    }
    const std::string name = std::to_string(i) + ".jpg";
    std::ofstream(dir + "/" + name, std::ios::binary) << tenon::write_jpeg(pixels, kWidth, kHeight, 3, JCS_RGB);
    list << dir << "/" << name << ",class" << i % kClasses << "\n";
  }
  return list.flush() && labels.flush() ? 0 : 1;
}
