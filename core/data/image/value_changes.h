// Changes of values that need no pixel's neighbours, in few passes over memory.
#pragma once

#include <cstdint>
#include <span>

namespace tenon {

// x scale + offset of a channel, then to [low, high], then to whole numbers.
struct ValueChange {
  float scale[4] = {1, 1, 1, 1}, offset[4] = {0, 0, 0, 0};
  float low = 0, high = 0;
  bool clips = false, rounds = false;
  bool is_linear_identity() const;
};

// values: [count, channels], channels 1, 3 or 4. All of the changes, one after the other, in place, in one pass over memory. With
// `means`, also the mean of each channel of what comes out. Thread safe.
void change_values(float* values, int64_t count, int channels, std::span<const ValueChange> changes, float* means);

// REQUIRED: values are 0, 1 .. 255.
void bytes_of_values(const float* values, int64_t n, uint8_t* out);

}  // namespace tenon
