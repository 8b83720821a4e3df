// Rules of convolutions and pools: what slides a window over spatial dimensions.
#include "op/shapes/rules.h"
#include "tenon/op/window.h"

namespace tenon::op::shapes {
namespace {

void expect_window(const Window& w) {
  const size_t n = w.size.size();
  if (n < 1 || n > 3) fail("has ", n, " spatial dimensions, expected 1 to 3");
  for (size_t d = 0; d < n; ++d) {
    if (w.size[d] < 1) fail("window size ", w.size[d], " in dimension ", d, ", expected 1 or more");
    if (w.stride[d] < 1) fail("stride ", w.stride[d], " in dimension ", d, ", expected 1 or more");
    if (w.dilation[d] < 1) fail("dilation ", w.dilation[d], " in dimension ", d, ", expected 1 or more");
    if (w.low[d] < 0 || w.high[d] < 0) fail("negative padding in dimension ", d);
    for (const int64_t v : {w.size[d], w.stride[d], w.low[d], w.high[d], w.dilation[d]})
      if (v >= int64_t{1} << 31) fail("a window attribute is ", v, ", expected less than 2^31");
  }
}

Window read_window(const Infer& c, Ints size, bool dilates) {
  const auto n = static_cast<int>(size.size());
  Window w{std::move(size), c.numbers("strides", n, 1), c.numbers("low", n, 0), c.numbers("high", n, 0),
           dilates ? c.numbers("dilation", n, 1) : Ints(static_cast<size_t>(n), 1)};
  expect_window(w);
  return w;
}

// [N, S.., C] -> [N, S'.., channels].
Shape slid(const Window& w, const Shape& x, int64_t channels) {
  Shape y = x;
  for (int d = 0; d < w.spatial(); ++d) {
    const int64_t n = window_output(w, d, x[d + 1]);
    if (n < 1)
      fail("input ", x.str(), " padded by ", w.low[static_cast<size_t>(d)], " and ", w.high[static_cast<size_t>(d)],
           " is smaller than the window ", w.size[static_cast<size_t>(d)], " in spatial dimension ", d);
    y.set(d + 1, n);
  }
  y.set(-1, channels);
  return y;
}

// Attribute `size`: the spatial dimensions of a gradient's result, which is of `like`'s rank.
Ints result_size(const Infer& c, const Shape& like) {
  const Ints size = c.list("size");
  c.expect(size.size() + 2 == static_cast<size_t>(like.rank()), "attribute 'size' has ", size.size(),
           " numbers, expected ", like.rank() - 2);
  for (const int64_t s : size)
    c.expect(s >= 1 && s < int64_t{1} << 60, "attribute 'size' is ", text_of(size), ", expected 1 to less than 2^60");
  return size;
}

int64_t groups(const Infer& c, int64_t channels, int64_t filters) {
  const int64_t groups = c.number("groups");
  c.expect(groups >= 1 && channels % groups == 0 && filters % groups == 0, "groups ", groups, " do not divide ",
           channels, " channels and ", filters, " filters");
  return groups;
}

void expect_images(const Infer& c) {
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 3, 5);
  c.expect_rank(1, c.shape(0).rank(), c.shape(0).rank());
}

Type convolved(const Infer& c) {
  expect_images(c);
  const Shape &x = c.shape(op::conv::x), &w = c.shape(op::conv::w);
  const int64_t n = groups(c, x[-1], w[-1]);
  c.expect(x[-1] / n == w[-2], "input has ", x[-1], " channels", n > 1 ? cat(" in ", n, " groups") : "",
           ", filter expects ", w[-2]);
  return {product_dtype(c), slid(read_window(c, Ints(w.begin(), w.end() - 2), true), x, w[-1])};
}

Shape pooled(const Infer& c, const Shape& x) {
  c.expect(x.rank() >= 3 && x.rank() <= 5, "input has shape ", x.str(), ", expected rank 3 to 5");
  const Ints size = c.list("window");
  c.expect(size.size() + 2 == static_cast<size_t>(x.rank()), "attribute 'window' has ", size.size(),
           " numbers, expected ", x.rank() - 2);
  const Window w = read_window(c, size, false);
  for (size_t d = 0; d < size.size(); ++d)
    c.expect(w.low[d] < w.size[d] && w.high[d] < w.size[d], "padding ", w.low[d], " and ", w.high[d],
             " in spatial dimension ", d, ", expected less than the window ", w.size[d]);
  return slid(w, x, x[-1]);
}

}  // namespace

void conv(Infer& c) { c.result(convolved(c)); }

void conv_bias_act(Infer& c) { with_epilogue(c, convolved(c), op::conv_bias_act::bias, op::conv_bias_act::residual); }

void conv_grad_input(Infer& c) {
  using from = op::conv_grad_input;
  expect_images(c);
  const Shape &dy = c.shape(from::dy), &w = c.shape(from::w);
  const Ints size = result_size(c, dy);
  const Window window = read_window(c, Ints(w.begin(), w.end() - 2), true);
  const int64_t n = groups(c, w[-1], w[-1]);
  c.expect(dy[-1] == w[-1], c.operand(from::dy), " has ", dy[-1], " channels, filter expects ", w[-1]);
  Shape dx = dy;
  for (int d = 0; d < window.spatial(); ++d) {
    const int64_t given = size[static_cast<size_t>(d)];
    c.expect(window_output(window, d, given) == dy[d + 1], "input size ", given, " in spatial dimension ", d,
             " does not give ", dy[d + 1]);
    dx.set(d + 1, given);
  }
  int64_t channels = 0;
  c.expect(!__builtin_mul_overflow(w[-2], n, &channels), "has too many channels");
  dx.set(-1, channels);
  c.result(product_dtype(c), dx);
}

void conv_grad_filter(Infer& c) {
  using from = op::conv_grad_filter;
  expect_images(c);
  const Shape &x = c.shape(from::x), &dy = c.shape(from::dy);
  Ints size = result_size(c, x);
  const Window window = read_window(c, size, true);
  const int64_t n = groups(c, x[-1], dy[-1]);
  c.expect(x[0] == dy[0], c.operand(from::dy), " has batch ", dy[0], ", expected ", x[0]);
  for (int d = 0; d < window.spatial(); ++d) {
    const int64_t expected = window_output(window, d, x[d + 1]);
    c.expect(expected == dy[d + 1], c.operand(from::dy), " has size ", dy[d + 1], " in spatial dimension ", d,
             ", expected ", expected);
  }
  size.push_back(x[-1] / n);
  size.push_back(dy[-1]);
  c.result(product_dtype(c), Shape(size));
}

void max_pool(Infer& c) { c.result(c.dtype(0), pooled(c, c.shape(0))); }
void avg_pool(Infer& c) { max_pool(c); }

void max_pool_grad(Infer& c) {
  using from = op::max_pool_grad;
  const Shape y = pooled(c, c.shape(from::x));
  for (const int i : {from::y, from::dy}) c.expect_same_dtype(from::x, i), c.expect_shape(i, y);
  c.result(c.in(from::x));
}

void avg_pool_grad(Infer& c) {
  c.expect_rank(0, 3, 5);
  Shape x = c.shape(0);
  const Ints size = result_size(c, x);
  for (size_t d = 0; d < size.size(); ++d) x.set(static_cast<int>(d) + 1, size[d]);
  c.expect_shape(0, pooled(c, x));
  c.result(c.dtype(0), x);
}

}  // namespace tenon::op::shapes
