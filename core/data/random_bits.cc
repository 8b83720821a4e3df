#include "data/random_bits.h"

#include "tenon/input.h"

namespace tenon {

uint32_t SampleRandom::bits() {
  if (used_ % 4 == 0) {
    const auto block =
        philox(seed_, used_ / 4, static_cast<uint32_t>(sample_), static_cast<uint32_t>(sample_ >> 32), stream_);
    for (int i = 0; i < 4; ++i) words_[i] = block[i];
  }
  return words_[used_++ % 4];
}

// 24 bits fill a float's mantissa exactly, as the op `random` does.
float SampleRandom::uniform(float lower, float upper) {
  return lower + (upper - lower) * static_cast<float>(bits() >> 8) * 0x1p-24f;
}

int SampleRandom::below(int n) {
  return static_cast<int>((static_cast<uint64_t>(bits()) * static_cast<uint64_t>(n)) >> 32);
}

}  // namespace tenon
