#include "data/image/affine_pixels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tenon {
namespace {

// Where a coordinate outside [0, n - 1] is read, as ImageProjectiveTransformV3 does.
double folded_place(double at, int size, FillMode fill) {
  const double n = size, last = n - 1;
  if (fill == FillMode::kConstant) return at;
  if (fill == FillMode::kReflect && (at < 0 || at > last)) {
    if (size <= 1) return 0;
    if (at < 0) {
      if (at < -2 * n) at += 2 * n * std::trunc(-at / (2 * n));
      at = at < -n ? at + 2 * n : -at - 1;
    } else {
      at -= 2 * n * std::trunc(at / (2 * n));
      if (at >= n) at = 2 * n - at - 1;
    }
  }
  if (fill == FillMode::kWrap && (at < 0 || at > last)) {
    if (size <= 1) return 0;
    at = at < 0 ? at + n * (std::trunc(-at / last) + 1) : at - n * std::trunc(at / last);
  }
  return std::clamp(at, 0.0, last);
}

using Float4 = float __attribute__((vector_size(16)));

struct Picture {
  const float* in;
  int height, width, channels;
  const float* value;  // one a channel

  const float* at(double row, double column) const {
    if (!(row >= 0 && column >= 0 && row < height && column < width)) return value;
    return in + (static_cast<int64_t>(row) * width + static_cast<int64_t>(column)) * channels;
  }

  void mixed(double row, double column, float* out) const {
    const double top = std::floor(row), left = std::floor(column);
    const auto down = static_cast<float>(row - top), right = static_cast<float>(column - left);
    const float* taps[4] = {at(top, left), at(top, left + 1), at(top + 1, left), at(top + 1, left + 1)};
    const float weights[4] = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right};
    for (int c = 0; c < channels; ++c) {
      float sum = 0;
      for (int t = 0; t < 4; ++t) sum += weights[t] * taps[t][c];
      out[c] = sum;
    }
  }

  // All four pixels are there, and a value behind the last of them.
  bool is_inside(double row, double column) const {
    return row >= 0 && column >= 0 && row < height - 1 && column < width - 1 &&
           !(row >= height - 2 && column >= width - 2);
  }
  // The same of these, of 3 or 4 channels; a fourth value is for the next pixel to overwrite.
  Float4 mixed_inside(double row, double column) const {
    const auto top = static_cast<int>(row), left = static_cast<int>(column);
    const auto down = static_cast<float>(row - top), right = static_cast<float>(column - left);
    const float* const taps = in + (int64_t{top} * width + left) * channels;
    const float* const below = taps + int64_t{width} * channels;
    const auto pixel = [](const float* from) {
      Float4 v;
      std::memcpy(&v, from, sizeof v);
      return v;
    };
    const Float4 zero = {0, 0, 0, 0};
    return zero + ((1 - down) * (1 - right)) * pixel(taps) + ((1 - down) * right) * pixel(taps + channels) +
           (down * (1 - right)) * pixel(below) + (down * right) * pixel(below + channels);
  }
};

}  // namespace

void move_pixels(const float* in, int height, int width, int channels, const Places& places, FillMode fill,
                 ResizeMethod method, float value, float* out) {
  const float values[4] = {value, value, value, value};
  const Picture picture{in, height, width, channels, values};
  const auto& t = places.numbers;
  const bool wide = method == ResizeMethod::kBilinear && channels >= 3;
  const float* const last = out + (int64_t{height} * width - 1) * channels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x, out += channels) {
      double column = double{t[0]} * x + double{t[1]} * y + double{t[2]};
      double row = double{t[3]} * x + double{t[4]} * y + double{t[5]};
      if (wide && out != last && picture.is_inside(row, column)) {
        const Float4 pixel = picture.mixed_inside(row, column);
        std::memcpy(out, &pixel, sizeof pixel);
        continue;
      }
      column = folded_place(column, width, fill);
      row = folded_place(row, height, fill);
      if (!std::isfinite(row) || !std::isfinite(column))
        std::copy_n(values, channels, out);
      else if (method == ResizeMethod::kBilinear)
        picture.mixed(row, column, out);
      else
        std::copy_n(picture.at(std::floor(row + 0.5), std::floor(column + 0.5)), channels, out);
    }
}

}  // namespace tenon
