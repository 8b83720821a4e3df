// max_pool and avg_pool against loops over windows.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

// Pooling of one channel [h,w] by the definition.
struct Plain {
  int64_t h, w;
  PoolOptions o;

  int64_t out_h() const { return (h + o.low[0] + o.high[0] - o.window[0]) / o.strides[0] + 1; }
  int64_t out_w() const { return (w + o.low[1] + o.high[1] - o.window[1]) / o.strides[1] + 1; }
  bool inside(int64_t i, int64_t j) const { return i >= 0 && i < h && j >= 0 && j < w; }

  template <class F>
  void each(int64_t p, int64_t q, F f) const {
    for (int64_t a = 0; a < o.window[0]; ++a)
      for (int64_t b = 0; b < o.window[1]; ++b) {
        const int64_t i = p * o.strides[0] - o.low[0] + a, j = q * o.strides[1] - o.low[1] + b;
        if (inside(i, j)) f(i * w + j);
      }
  }
  Doubles max(const Doubles& x) const {
    Doubles y;
    for (int64_t p = 0; p < out_h(); ++p)
      for (int64_t q = 0; q < out_w(); ++q) {
        double best = -kInf;
        each(p, q, [&](int64_t e) { best = std::max(best, x[e]); });
        y.push_back(best);
      }
    return y;
  }
  Doubles avg(const Doubles& x) const {
    Doubles y;
    for (int64_t p = 0; p < out_h(); ++p)
      for (int64_t q = 0; q < out_w(); ++q) {
        double sum = 0, count = 0;
        each(p, q, [&](int64_t e) { sum += x[e], ++count; });
        y.push_back(sum / (o.count_pad ? static_cast<double>(o.window[0] * o.window[1]) : count));
      }
    return y;
  }
};

std::vector<Plain> cases() {
  return {{4, 4, {{2, 2}, {2, 2}, {0, 0}, {0, 0}}},       {5, 6, {{3, 3}, {2, 2}, {1, 0}, {1, 1}}},
          {5, 6, {{3, 3}, {2, 2}, {1, 0}, {1, 1}, true}}, {4, 3, {{4, 3}, {1, 1}, {0, 0}, {0, 0}}},  // global
          {7, 5, {{1, 2}, {3, 1}, {0, 1}, {0, 0}}},   // gaps between windows
          {3, 3, {{3, 3}, {1, 1}, {2, 2}, {2, 2}}}};  // the widest pads
}

Build max_of(const PoolOptions& o) {
  return [o](const Tensors& in) { return Tensors{max_pool(in[0], o)}; };
}
Build avg_of(const PoolOptions& o) {
  return [o](const Tensors& in) { return Tensors{avg_pool(in[0], o)}; };
}

TEST(Pooling, EqualsALoopOverWindows) {
  for (const Plain& c : cases()) {
    const Feed x = noise({1, c.h, c.w, 1}, 7);
    expect_near(value(max_of(c.o), {x}), c.max(x.values));
    expect_near(value(avg_of(c.o), {x}), c.avg(x.values));
  }
}

TEST(Pooling, GradientEqualsDifferences) {
  for (const Plain& c : cases()) {
    const Feed x = distinct({2, c.h, c.w, 2}, 3);
    expect_gradients(max_of(c.o), {x});
    expect_gradients(avg_of(c.o), {x});
  }
}

TEST(Pooling, WorksInOneAndThreeDimensions) {
  const PoolOptions line{{2}, {2}, {0}, {1}}, cube{{2, 2, 2}, {1, 2, 1}, {0, 1, 0}, {0, 0, 1}};
  expect_near(value(max_of(line), {f64({1, 3, 1}, {3, 1, 2})}), {3, 2});
  expect_near(value(avg_of(line), {f64({1, 3, 1}, {3, 1, 2})}), {2, 2});
  for (const PoolOptions& o : {line, cube}) {
    const Shape shape = o.window.size() == 1 ? Shape{2, 5, 2} : Shape{1, 3, 3, 2, 1};
    expect_gradients(max_of(o), {distinct(shape, 5)});
    expect_gradients(avg_of(o), {distinct(shape, 5)});
  }
}

TEST(MaxPool, GradientGoesToTheFirstOfEqualElements) {
  const PoolOptions o{{2, 2}, {2, 2}, {0, 0}, {0, 0}};
  const Build f = [&](const Tensors& in) { return Tensors{max_pool_grad(in[0], max_pool(in[0], o), in[1], o)}; };
  expect_near(value(f, {f64({1, 2, 4, 1}, {1, 5, 3, 3, 5, 5, 3, 3}), f64({1, 1, 2, 1}, {10, 20})}),
              {0, 10, 20, 0, 0, 0, 0, 0});
}

TEST(MaxPool, NanWinsAndMinusInfinityIsNoPad) {
  const PoolOptions o{{2}, {2}, {1}, {0}};
  const Build f = [&](const Tensors& in) {
    const Tensor y = max_pool(in[0], o);
    return Tensors{y, max_pool_grad(in[0], y, full_like(y, 1), o)};
  };
  const auto r = evaluate(f, {f64({1, 5, 1}, {-kInf, 1, kNaN, kNaN, 2})});
  expect_near(r[0].values, {-kInf, kNaN, kNaN});
  expect_near(r[1].values, {1, 0, 1, 1, 0});
}

TEST(MaxPool, GradientGoesToTheFirstNaN) {
  const PoolOptions o{{2, 2}, {2, 2}, {0, 0}, {0, 0}}, apart{{2}, {1}, {1}, {0}};
  const auto gradient_of = [](const PoolOptions& p) {
    return [=](const Tensors& in) { return Tensors{max_pool_grad(in[0], max_pool(in[0], p), in[1], p)}; };
  };
  expect_near(value(gradient_of(o),
                    {f64({1, 2, 4, 1}, {kInf, 5, kNaN, 3, kNaN, kNaN, kNaN, kInf}), f64({1, 1, 2, 1}, {10, 20})}),
              {0, 0, 20, 0, 10, 0, 0, 0});
  expect_near(value(gradient_of(apart), {f64({1, 3, 1}, {kNaN, 1, kNaN}), f64({1, 3, 1}, {1, 10, 100})}), {11, 0, 100});
}

// simplify() puts the one in the place of the other.
TEST(MaxPool, GradientOfNaNIsTheSameBehindTheActivationsAndBeforeIt) {
  const PoolOptions o{{2}, {2}, {0}, {0}};
  const auto gradients_of = [&](Activation act) {
    return [=](const Tensors& in) {
      const Tensor x = activation(in[0], act, 1), y = max_pool(x, o);
      return Tensors{activation_grad(max_pool_grad(x, y, in[1], o), x, act, 1),
                     max_pool_grad(x, y, activation_grad(in[1], y, act, 1), o)};
    };
  };
  const std::vector<Feed> feeds{f64({1, 4, 1}, {-1, kNaN, 2, 3}), f64({1, 2, 1}, {10, 20})};
  for (const Evaluated& dx : evaluate(gradients_of(Activation::kRelu), feeds)) expect_near(dx.values, {0, 0, 0, 20});
  for (const Evaluated& dx : evaluate(gradients_of(Activation::kElu), feeds)) expect_near(dx.values, {0, 10, 0, 20});
}

TEST(AvgPool, GradientIsLinearAndDifferentiable) {
  const PoolOptions o{{3, 2}, {2, 1}, {1, 1}, {0, 0}};
  expect_gradients(
      [&](const Tensors& in) {
        return Tensors{avg_pool_grad(in[0], {5, 4}, o)};
      },
      {noise({1, 2, 4, 2}, 3)});
}

TEST(Pooling, RefusesWindowsThatHoldNoElement) {
  const auto f = [](PoolOptions o) { return max_of(o); };
  const std::vector<Type> image{{DType::kF32, {1, 4, 4, 3}}};
  EXPECT_EQ(error_of(f({{2, 2}, {1, 1}, {2, 0}, {0, 0}}), image),
            "max_pool 'max_pool': padding 2 and 0 in spatial dimension 0, expected less than the window 2");
  EXPECT_EQ(
      error_of(f({{5, 2}, {1, 1}, {0, 0}, {0, 0}}), image),
      "max_pool 'max_pool': input [1,4,4,3] padded by 0 and 0 is smaller than the window 5 in spatial dimension 0");
  EXPECT_EQ(error_of(f({{2}, {1}, {0}, {0}}), image),
            "max_pool 'max_pool': attribute 'window' has 1 numbers, expected 2");
  EXPECT_EQ(error_of(f({{2, 2}, {0, 1}, {0, 0}, {0, 0}}), image),
            "max_pool 'max_pool': stride 0 in dimension 0, expected 1 or more");
}

TEST(Pooling, KeepsDtypesThroughLowering) {
  const Build f = [](const Tensors& in) {
    const PoolOptions o{{2, 2}, {2, 1}, {1, 0}, {0, 1}};
    const Tensor y = max_pool(in[0], o), z = avg_pool(in[0], o);
    return Tensors{y, z, max_pool_grad(in[0], y, z, o), avg_pool_grad(z, {3, 4}, o)};
  };
  expect_types_survive_lowering(f, {{DType::kF64, {2, 3, 4, 2}}});
}

}  // namespace
}  // namespace tenon::op_testing
