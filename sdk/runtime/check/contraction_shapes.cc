// Shape rules of products, convolutions and pools.
#include <algorithm>

#include "runtime/check/shape_rules.h"

namespace tenon::plugin {
namespace {

// ---- contractions ----

void contracted_dtype(const Asked& a, int i, int32_t operands) {
  const auto out = static_cast<int32_t>(a.n.i64("out"));
  Asked::expect(out == 0 || out == TENON_F32 || out == operands || dtype_bytes(out) == 0, "out is another dtype");
  if (dtype_bytes(out) || out == 0) a.out_dtype(i, out ? out : operands);
}
void product(const Asked& a) {
  a.same_dtype(0, 1);
  a.rank(0, 2, TENON_MAX_RANK);
  Dims x = a.in(0), w = a.in(1);
  a.rank(1, static_cast<int>(x.size()), static_cast<int>(x.size()));
  const size_t r = x.size();
  if (a.n.flag("ta")) std::swap(x[r - 1], x[r - 2]);
  if (a.n.flag("tb")) std::swap(w[r - 1], w[r - 2]);
  if (!(x[r - 1] == w[r - 2] && std::equal(x.begin(), x.end() - 2, w.begin())))
    Asked::fail("cannot multiply " + text_of(a.in(0)) + " by " + text_of(a.in(1)));
  x[r - 1] = w[r - 1];
  contracted_dtype(a, 0, a.dtype(0));
  a.out_is(0, x);
}

// How many steps a window makes along each spatial axis of x; x is [N, S.., C].
Dims windowed(const Asked& a, Dims x, const Dims& window, bool dilates) {
  const size_t n = window.size();
  const Dims stride = a.numbers("strides", n, 1, 1), low = a.numbers("low", n, 0, 0), high = a.numbers("high", n, 0, 0);
  const Dims dilation = dilates ? a.numbers("dilation", n, 1, 1) : Dims(n, 1);
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 0; d < n; ++d) {
    Asked::expect(window[d] >= 1 && std::max({window[d], stride[d], low[d], high[d], dilation[d]}) < kMost,
                  "a window attribute is out of range");
    const int64_t room = x[d + 1] + low[d] + high[d] - (window[d] - 1) * dilation[d] - 1;
    if (!(room >= 0)) Asked::fail("the window " + text_of(window) + " is larger than the padded " + text_of(x));
    x[d + 1] = room / stride[d] + 1;
  }
  return x;
}
void convolution(const Asked& a, const Dims& x, const Dims& w, const Dims& y) {
  Asked::expect(x.size() >= 3 && x.size() <= 5 && w.size() == x.size() && y.size() == x.size(),
                "has no 1 to 3 spatial axes");
  const int64_t groups = a.number("groups", 1, x.back(), 1);
  if (!(x.back() % groups == 0 && w.back() % groups == 0 && x.back() / groups == w[w.size() - 2]))
    Asked::fail(std::to_string(groups) + " groups do not fit " + text_of(x) + " and the filter " + text_of(w));
  Dims expected = windowed(a, x, Dims(w.begin(), w.end() - 2), true);
  expected.back() = w.back();
  if (!(y == expected))
    Asked::fail(text_of(x) + " and " + text_of(w) + " give " + text_of(expected) + ", not " + text_of(y));
}
void conv(const Asked& a) {
  a.same_dtype(0, 1), contracted_dtype(a, 0, a.dtype(0));
  convolution(a, a.in(0), a.in(1), a.out(0));
}
// Spatial sizes of a gradient's result are an attribute too.
void has_size(const Asked& a, const Dims& y, size_t from) {
  const Dims size = a.list("size");
  if (!(size.size() + 2 == y.size() && std::equal(size.begin(), size.end(), y.begin() + static_cast<int64_t>(from))))
    Asked::fail("size is " + text_of(size) + ", but the result is " + text_of(y));
}
void conv_grad_input(const Asked& a) {
  a.same_dtype(0, 1), contracted_dtype(a, 0, a.dtype(0)), has_size(a, a.out(0), 1);
  convolution(a, a.out(0), a.in(1), a.in(0));
}
void conv_grad_filter(const Asked& a) {
  a.same_dtype(0, 1), contracted_dtype(a, 0, a.dtype(0)), has_size(a, a.out(0), 0);
  convolution(a, a.in(0), a.out(0), a.in(1));
}
void epilogue(const Asked& a) {
  const Dims y = a.out(0);
  a.in_is(2, {y.back()}), a.in_is(3, y);
  for (int i = 2; i < 4; ++i)
    if (a.has(i))
      if (!a.has_dtype(i, a.n.out(0).dtype())) Asked::fail("operand " + std::to_string(i) + " has another dtype");
}
void dot_bias_act(const Asked& a) { product(a), epilogue(a); }
void conv_bias_act(const Asked& a) { conv(a), epilogue(a); }
void bias_act_grad(const Asked& a) {
  a.rank(0, 1, TENON_MAX_RANK);
  a.in_same(1, 0), a.out_same(0, 0);
  a.out_dtype(1, a.dtype(0)), a.out_is(1, {a.in(0).back()});
}

// ---- pools ----

Dims pooled(const Asked& a, const Dims& x) {
  Asked::expect(x.size() >= 3 && x.size() <= 5, "has no 1 to 3 spatial axes");
  const Dims window = a.numbers("window", x.size() - 2, 1, 1, false);
  const Dims low = a.numbers("low", window.size(), 0, 0), high = a.numbers("high", window.size(), 0, 0);
  for (size_t d = 0; d < window.size(); ++d)
    Asked::expect(low[d] < window[d] && high[d] < window[d], "pads by a whole window or more");
  return windowed(a, x, window, false);
}
void pool(const Asked& a) { a.out_dtype(0, a.dtype(0)), a.out_is(0, pooled(a, a.in(0))); }
void max_pool_grad(const Asked& a) {
  const Dims y = pooled(a, a.in(0));
  for (int i = 1; i < 3; ++i) a.same_dtype(0, i), a.in_is(i, y);
  a.out_same(0, 0);
}
void avg_pool_grad(const Asked& a) {
  a.out_dtype(0, a.dtype(0)), has_size(a, a.out(0), 1);
  a.in_is(0, pooled(a, a.out(0)));
}

constexpr ShapeRule kContractionRules[] = {
    {" dot ", product},
    {" conv ", conv},
    {" conv_grad_input ", conv_grad_input},
    {" conv_grad_filter ", conv_grad_filter},
    {" dot_bias_act ", dot_bias_act},
    {" conv_bias_act ", conv_bias_act},
    {" bias_act_grad ", bias_act_grad},
    {" max_pool avg_pool ", pool},
    {" max_pool_grad ", max_pool_grad},
    {" avg_pool_grad ", avg_pool_grad},
};

}  // namespace

Span<ShapeRule> contraction_rules() { return {kContractionRules, std::size(kContractionRules)}; }

}  // namespace tenon::plugin
