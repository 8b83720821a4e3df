// Convolutions, and those turned round.
#include <algorithm>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/onnx_window.h"
#include "import/onnx/quantized.h"

namespace tenon::onnx {
namespace convolution_ops {
namespace {

// [O,I,S..] as [S..,I,O].
Tensor kernel_of(const Value& w) {
  if (w.kernel) return w.kernel;
  const Tensor x = w.file();
  Ints perm;
  for (int a = 2; a < x.rank(); ++a) perm.push_back(a);
  perm.push_back(1);
  perm.push_back(0);
  return transpose(x, perm);
}

Ints spatial_of(const Shape& shape, int from) { return Ints(shape.begin() + from, shape.end()); }

ConvOptions options_of(Call& c, const Window& window) {
  ConvOptions out;
  out.strides = window.strides;
  out.low = window.low;
  out.high = window.high;
  out.dilation = window.dilation;
  out.groups = c.between("group", 1, 1, kMostSize);
  out.precision = c.walk.precision();
  return out;
}

void check_ranks(const Shape& x, const Shape& w) {
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank())
    fail("an input of ", x.str(), " and a kernel of ", w.str(), ", expected 3 to 5 dimensions of each");
}

void conv_rule(Call& c) {
  const Value x = c.value(0), w = c.value(1);
  check_ranks(x.shape(), w.shape());
  const Window window = window_of(c, spatial_of(x.shape(), 2), c.ints("kernel_shape", spatial_of(w.shape(), 2)));
  if (window.size != spatial_of(w.shape(), 2))
    fail("kernel_shape [", join(window.size, ","), "] and a kernel of ", w.shape().str());
  const Tensor image = x.last(), kernel = kernel_of(w);
  if (c.has(2) && c.in(2).rank() == 1)  // one op, as model code has it: backends know it whole
    return c.give_last(conv_bias_act(image, kernel, c.in(2), {}, Activation::kNone, 0, options_of(c, window)));
  Tensor y = conv(image, kernel, options_of(c, window));
  if (c.has(2)) y = y + c.in(2);
  c.give_last(y);
}

// Integers, by f32 where their sums are exact in it, else by f64.
Tensor integer_conv(Tensor x, Tensor w, const ConvOptions& options) {
  int64_t sum = 1;
  for (int a = 0; a < w.rank() - 1; ++a) sum *= w.dim(a);
  const DType real = sum <= 256 ? DType::kF32 : DType::kF64;
  ConvOptions exact = options;
  exact.precision = MathPrecision::kHighest;
  return cast(round(conv(cast(x, real), cast(w, real), exact)), DType::kI32);
}

Tensor less_zero(Call& c, Tensor x, size_t zero, int64_t axis) {
  return c.has(zero) ? broadcasted(sub, x, spread(c, c.in(zero), x.shape(), axis, 0)) : x;
}

void conv_integer(Call& c) {
  const Tensor x = less_zero(c, c.in(0), 2, 1), w = less_zero(c, c.in(1), 3, 0);
  check_ranks(x.shape(), w.shape());
  const Window window = window_of(c, spatial_of(x.shape(), 2), spatial_of(w.shape(), 2));
  c.give_last(integer_conv(Value(Element::kI32, x).last(), kernel_of(Value(Element::kI32, w)), options_of(c, window)),
              Element::kI32);
}

// x, its scale and zero point, w and its own, those of the result, the bias.
void q_linear_conv(Call& c) {
  const Tensor x = less_zero(c, c.in(0), 2, 1), w = less_zero(c, c.in(3), 5, 0);
  check_ranks(x.shape(), w.shape());
  const Window window = window_of(c, spatial_of(x.shape(), 2), spatial_of(w.shape(), 2));
  Tensor y = integer_conv(Value(Element::kI32, x).last(), kernel_of(Value(Element::kI32, w)), options_of(c, window));
  if (c.has(8)) y = y + c.in(8);
  const auto scale = [&](size_t i) { return spread(c, cast(c.in(i), DType::kF32), y.shape(), -1, 0); };
  const Tensor by = broadcasted(div, broadcasted(mul, scale(1), scale(4)), scale(6));
  const Tensor zero = c.in(7);
  c.give_last(quantized(broadcasted(mul, cast(y, DType::kF32), by), zero.elements() == 1 ? reshape(zero, {}) : zero,
                        c.element(7)),
              c.element(7));
}

// What a transposed convolution gives, and what is cut off or added at its ends.
struct Turned {
  Ints size, low, high;
};
Turned turned_of(Call& c, const Ints& in, const Window& window) {
  const size_t n = in.size();
  const Ints more = c.list("output_padding", n, 0, 0, kMostSize),
             pads = c.list("pads", 2 * n, 0, -kMostSize, kMostSize), wanted = c.ints("output_shape");
  const std::string mode = auto_pad_of(c);
  if (!wanted.empty() && wanted.size() < n) fail("output_shape [", join(wanted, ","), "] of ", n, " axes");
  Turned out;
  for (size_t a = 0; a < n; ++a) {
    const int64_t whole = (in[a] - 1) * window.strides[a] + (window.size[a] - 1) * window.dilation[a] + 1 + more[a];
    int64_t low = pads[a], high = pads[a + n], size = whole - low - high;
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (mode == "VALID") low = high = 0, size = whole;
    if (!wanted.empty() || same) {
      for (const int64_t v : wanted)
        if (v < 1 || v > int64_t{1} << 40) fail("output_shape [", join(wanted, ","), "]");
      size = wanted.empty() ? in[a] * window.strides[a] : wanted[wanted.size() == n ? a : a + wanted.size() - n];
      const int64_t total = whole - size;
      low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      if (mode == "NOTSET") low = total / 2;
      high = total - low;
    }
    if (size < 1 || size > int64_t{1} << 60) fail("a result of ", size, " elements along axis ", a + 2);
    out.size.push_back(size);
    out.low.push_back(low);
    out.high.push_back(high);
  }
  return out;
}

void conv_transpose(Call& c) {
  const Value x = c.value(0), w = c.value(1);
  check_ranks(x.shape(), w.shape());
  const Ints in = spatial_of(x.shape(), 2);
  Window window;
  window.size = spatial_of(w.shape(), 2);
  const size_t n = window.size.size();
  window.strides = c.list("strides", n, 1, 1, kMostSize);
  window.dilation = c.list("dilations", n, 1, 1, kMostSize);
  for (size_t a = 0; a < n; ++a)
    if (in[a] > kMostSize || window.size[a] > kMostSize) fail("an axis of ", in[a], " elements");
  const Turned turned = turned_of(c, in, window);
  // Whole first, then cut: pads of a transposed convolution may be wider than its window.
  Ints whole, low(n, 0);
  for (size_t a = 0; a < n; ++a)
    whole.push_back((in[a] - 1) * window.strides[a] + (window.size[a] - 1) * window.dilation[a] + 1);
  ConvOptions options;
  options.strides = window.strides;
  options.dilation = window.dilation;
  options.groups = c.between("group", 1, 1, kMostSize);
  options.precision = c.walk.precision();
  bool simple = true;
  Ints high(n, 0);
  for (size_t a = 0; a < n; ++a) {
    const int64_t reach = (window.size[a] - 1) * window.dilation[a] + 1;
    high[a] = (in[a] - 1) * window.strides[a] + reach - turned.size[a] - turned.low[a];
    simple &= turned.low[a] >= 0 && turned.low[a] < reach && high[a] >= 0 && high[a] < reach;
  }
  Tensor y;
  if (simple) {
    options.low = turned.low;
    options.high = high;
    y = conv_grad_input(x.last(), kernel_of(w), turned.size, options);
  } else {
    y = conv_grad_input(x.last(), kernel_of(w), whole, options);
    Ints from(n + 2, 0), to = y.shape().vec(), before(n + 2, 0), after(n + 2, 0);
    for (size_t a = 0; a < n; ++a) {
      const int64_t end = turned.low[a] + turned.size[a];
      from[a + 1] = std::clamp<int64_t>(turned.low[a], 0, whole[a]);
      to[a + 1] = std::clamp<int64_t>(end, from[a + 1], whole[a]);
      before[a + 1] = std::max<int64_t>(0, -turned.low[a]);
      after[a + 1] = turned.size[a] - before[a + 1] - (to[a + 1] - from[a + 1]);
    }
    y = pad(slice(y, from, to, {}), before, after, {}, 0);
  }
  if (c.has(2)) y = y + c.in(2);
  c.give_last(y);
}

// Blocks [N, C * places, L] put back where a window took them, those that meet added up.
void col2im(Call& c) {
  const Tensor x = c.in(0);
  const Ints image = c.known_ints(1), block = c.known_ints(2);
  const size_t n = image.size();
  const Window window = window_of(c, image, block);
  int64_t places = 1, windows = 1;
  double places_in_all = 1;
  for (size_t a = 0; a < n; ++a) places_in_all *= static_cast<double>(block[a]) * static_cast<double>(window.out[a]);
  expect_table(places_in_all);
  for (size_t a = 0; a < n; ++a) places *= block[a], windows *= window.out[a];
  if (x.rank() != 3 || x.dim(1) % places != 0 || x.dim(2) != windows)
    fail("blocks ", x.type().str(), " of ", places, " places and ", windows, " windows");
  const int64_t channels = x.dim(1) / places;
  // Where each place of each window lies in the padded image.
  int64_t whole = 1;
  Ints padded;
  for (size_t a = 0; a < n; ++a) {
    padded.push_back(image[a] + window.low[a] + window.high[a]);
    whole = product(whole, padded.back());
  }
  Ints at(static_cast<size_t>(places * windows), 0);
  for (int64_t p = 0; p < places; ++p)
    for (int64_t l = 0; l < windows; ++l) {
      int64_t place = p, slot = l, flat = 0, stride = 1;
      for (size_t a = n; a-- > 0;) {
        const int64_t i = place % block[a] * window.dilation[a] + slot % window.out[a] * window.strides[a];
        flat += i * stride, stride *= padded[a];
        place /= block[a], slot /= window.out[a];
      }
      at[static_cast<size_t>(p * windows + l)] = flat;
    }
  const Tensor updates = reshape(transpose(reshape(x, {x.dim(0), channels, places * windows}), {2, 0, 1}),
                                 {places * windows, x.dim(0) * channels});
  const Tensor zeros = full(c.graph(), x.dtype(), Shape({whole, x.dim(0) * channels}), 0);
  Tensor y = scatter(zeros, c.ints_constant(at, Shape({places * windows})), updates, 0, 0, ScatterKind::kAdd);
  Ints dims = {x.dim(0), channels}, from = {0, 0}, to = dims;
  for (size_t a = 0; a < n; ++a)
    dims.push_back(padded[a]), from.push_back(window.low[a]), to.push_back(window.low[a] + image[a]);
  c.give(slice(reshape(transpose(y, {1, 0}), Shape(dims)), from, to, {}));
}

constexpr Rule kRules[] = {
    {"Col2Im", col2im},
    {"Conv", conv_rule},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"QLinearConv", q_linear_conv},
};

}  // namespace
}  // namespace convolution_ops

Rules convolution_rules() { return convolution_ops::kRules; }

}  // namespace tenon::onnx
