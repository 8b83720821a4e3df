// The random numbers that initial values are made of. Each element has numbers of its own, counted by its place, so that
// elements can be drawn in any order and by any number of threads. All are of sums, products and roots that IEEE 754
// defines: they have the same bits on every processor.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tenon {

class Draw {
 public:
  Draw(uint64_t seed, std::string_view variable);

  // Draws elements [first, first + out.size()).
  void uniforms(uint64_t first, std::span<double> out) const;  // [0, 1) in steps of 2^-53; REQUIRES an even first
  void normals(uint64_t first, std::span<double> out) const;   // of mean 0 and deviation 1, by Box and Muller
  void truncated_normals(uint64_t first, std::span<double> out) const;  // drawn again until they are within (-2, 2)

 private:
  uint64_t seed_;
  uint32_t stream_;
};

}  // namespace tenon
