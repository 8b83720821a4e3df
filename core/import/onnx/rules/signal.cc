// Fourier transforms by matrices, windows.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace signal_ops {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMostLength = 4096;  // of a matrix's side

Tensor floats(Call& c, const std::vector<double>& values, const Shape& shape, DType dtype) {
  return cast(constant(c.graph(), {DType::kF64, shape},
                       {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)}),
              dtype);
}

struct Waves {
  std::vector<double> real, imaginary;  // [in, out]
};

Waves waves(int64_t in, int64_t out, int64_t length, bool inverse) {
  Waves w;
  const double by = inverse ? 1.0 / static_cast<double>(length) : 1;
  for (int64_t i = 0; i < in; ++i)
    for (int64_t o = 0; o < out; ++o) {
      const double angle = (inverse ? 2 : -2) * kPi * static_cast<double>(i * o % length) / static_cast<double>(length);
      w.real.push_back(std::cos(angle) * by);
      w.imaginary.push_back(std::sin(angle) * by);
    }
  return w;
}

// Numbers made `length` along the last axis: cut, or filled with zeros.
Tensor fitted(Tensor x, int64_t length) {
  const int64_t size = x.dim(-1);
  if (size > length) return part(x, x.rank() - 1, 0, length);
  Ints low(static_cast<size_t>(x.rank()), 0), high = low;
  high.back() = length - size;
  return size == length ? x : pad(x, low, high, {}, 0);
}

struct Complex {
  Tensor real, imaginary;  // no imaginary part: none
};

// Along the last axis.
Complex transformed(Call& c, Complex x, int64_t length, int64_t out, bool inverse) {
  if (length < 1 || length > kMostLength) c.refuse("a transform of ", length, " numbers, expected 1 to ", kMostLength);
  x.real = fitted(x.real, length);
  const Waves w = waves(length, out, length, inverse);
  const DotOptions exact{.precision = MathPrecision::kHighest};
  const DType dtype = x.real.dtype();
  const Tensor cosine = floats(c, w.real, Shape({length, out}), dtype),
               sine = floats(c, w.imaginary, Shape({length, out}), dtype);
  std::vector<int64_t> dims = x.real.shape().vec();
  dims.back() = out;
  const auto times = [&](Tensor t, Tensor m) {
    return reshape(dot(reshape(t, {t.elements() / length, length}), m, exact), Shape(dims));
  };
  Complex y{times(x.real, cosine), times(x.real, sine)};
  if (x.imaginary) {
    x.imaginary = fitted(x.imaginary, length);
    y.real = sub(y.real, times(x.imaginary, sine));
    y.imaginary = add(y.imaginary, times(x.imaginary, cosine));
  }
  return y;
}

Tensor plane(Tensor x, int64_t which) {
  std::vector<int64_t> dims = x.shape().vec();
  dims.pop_back();
  return reshape(part(x, x.rank() - 1, which, which + 1), Shape(dims));
}

void dft(Call& c) {
  const Tensor x = c.in(0);
  const int64_t given = c.opset >= 20 ? c.has(2) ? c.known_integer(2) : -2 : c.integer("axis", 1);
  const int64_t axis = c.axis(given, x.rank());
  if (axis + 1 >= x.rank()) fail("axis ", axis, " of ", x.type().str(), ", whose last one is the complex number");
  const bool inverse = c.flag("inverse"), onesided = c.flag("onesided");
  Complex z{axis_to_end(plane(x, 0), axis), x.dim(-1) == 2 ? axis_to_end(plane(x, 1), axis) : Tensor()};
  const int64_t size = z.real.dim(-1);
  const int64_t length = c.has(1) ? c.known_integer(1) : inverse && onesided ? 2 * (size - 1) : size;
  if (inverse && onesided) {
    // The other half is the conjugate of this one, backwards.
    const auto whole = [&](Tensor t, double sign) {
      t = fitted(t, length / 2 + 1);
      const int64_t end = (length + 1) / 2;
      return end <= 1 ? t : concat({t, reverse(part(t, t.rank() - 1, 1, end), {t.rank() - 1}) * sign}, t.rank() - 1);
    };
    z.real = whole(z.real, 1);
    if (z.imaginary) z.imaginary = whole(z.imaginary, -1);
    const Complex y = transformed(c, z, length, length, true);
    return c.give(expand_dims(axis_from_end(y.real, axis), x.rank() - 1));
  }
  const Complex y = transformed(c, z, length, onesided ? length / 2 + 1 : length, inverse);
  const Tensor real = axis_from_end(y.real, axis), imaginary = axis_from_end(y.imaginary, axis);
  c.give(concat({expand_dims(real, real.rank()), expand_dims(imaginary, real.rank())}, real.rank()));
}

// Frames of a signal [B,L,1] or [B,L,2], each times a window.
void stft(Call& c) {
  const Tensor x = c.in(0);
  const auto step = c.known_integer(1);
  const int64_t length = c.has(3) ? c.known_integer(3) : c.has(2) ? c.in(2).dim(0) : 0;
  if (x.rank() != 3 || step < 1 || length < 1 || length > x.dim(1))
    fail("frames of ", length, ", each ", step, " on, of ", x.type().str());
  const int64_t frames = (x.dim(1) - length) / step + 1;
  expect_table(static_cast<double>(frames) * static_cast<double>(length));
  Ints places;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < length; ++i) places.push_back(f * step + i);
  const Tensor at = c.ints_constant(places, Shape({frames, length}));
  const auto framed = [&](int64_t which) {
    Tensor t = gather(plane(x, which), at, 1);
    return c.has(2) ? t * cast(c.in(2), t.dtype()) : t;
  };
  const Complex z{framed(0), x.dim(2) == 2 ? framed(1) : Tensor()};
  const Complex y = transformed(c, z, length, c.flag("onesided", true) ? length / 2 + 1 : length, false);
  c.give(concat({expand_dims(y.real, 3), expand_dims(y.imaginary, 3)}, 3));
}

void window(Call& c, const std::vector<double>& waves_of) {
  const auto size = c.known_integer(0);
  const auto to = static_cast<Element>(c.integer("output_datatype", 1));
  if (size < 1 || size > 1 << 24) fail("a window of ", size);
  const auto n = static_cast<double>(c.flag("periodic", true) ? size : size - 1);
  std::vector<double> out;
  for (int64_t i = 0; i < size; ++i) {
    double sum = 0;
    for (size_t k = 0; k < waves_of.size(); ++k)
      sum += waves_of[k] * std::cos(2 * kPi * static_cast<double>(k) * static_cast<double>(i) / n);
    out.push_back(sum);
  }
  c.give(floats(c, out, Shape({size}), stored_as(to)), to);
}

void hann(Call& c) { window(c, {0.5, -0.5}); }
void hamming(Call& c) { window(c, {25.0 / 46, -21.0 / 46}); }
void blackman(Call& c) { window(c, {0.42, -0.5, 0.08}); }

void mel_weights(Call& c) {
  const auto bins = c.known_integer(0), length = c.known_integer(1), rate = c.known_integer(2);
  const double low = c.known_real(3), high = c.known_real(4);
  const auto to = static_cast<Element>(c.integer("output_datatype", 1));
  if (bins < 1 || bins > 1 << 16 || length < 1 || length > 1 << 20) fail(bins, " bins of ", length);
  const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double from = mel(low), step = (mel(high) - from) / static_cast<double>(bins + 2);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double f = 700 * (std::pow(10, (static_cast<double>(i) * step + from) / 2595) - 1);
    places.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * f / static_cast<double>(rate))));
  }
  const int64_t rows = length / 2 + 1;
  expect_table(static_cast<double>(rows) * static_cast<double>(bins));
  if (!(high >= low) || low < 0 || rate < 1 || !(high < 1e12))
    fail("frequencies ", low, " to ", high, " at a rate of ", rate);
  std::vector<double> out(static_cast<size_t>(rows * bins), 0);
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t first = places[static_cast<size_t>(b)], middle = places[static_cast<size_t>(b) + 1],
                  last = places[static_cast<size_t>(b) + 2];
    const auto put = [&](int64_t row, double v) {
      if (row >= 0 && row < rows) out[static_cast<size_t>(row * bins + b)] = v;
    };
    if (middle == first) put(middle, 1);
    for (int64_t i = first; i <= middle && middle > first; ++i)
      put(i, static_cast<double>(i - first) / static_cast<double>(middle - first));
    for (int64_t i = middle; i < last; ++i) put(i, static_cast<double>(last - i) / static_cast<double>(last - middle));
  }
  c.give(floats(c, out, Shape({rows, bins}), stored_as(to)), to);
}

constexpr Rule kRules[] = {
    {"BlackmanWindow", blackman},     {"DFT", dft},   {"HammingWindow", hamming}, {"HannWindow", hann},
    {"MelWeightMatrix", mel_weights}, {"STFT", stft},
};

}  // namespace
}  // namespace signal_ops

Rules signal_rules() { return signal_ops::kRules; }

}  // namespace tenon::onnx
