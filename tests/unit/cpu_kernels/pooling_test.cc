#include "float_bits.h"
#include "isa_test.h"

TENON_FAMILY_FIXTURE(Pooling, add_pooling)

namespace tenon::testing {
namespace {

struct Pool {
  Dims x, window, strides, low, high;
};

std::vector<Pool> pool_shapes() {
  return {
      {{2, 4, 6, 8}, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
      {{2, 13, 13, 32}, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
      {{9, 7, 7, 3}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
      {{1, 9, 8, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 12, 14, 10}, {5, 4}, {3, 2}, {2, 0}, {1, 3}},
      {{2, 6, 6, 19}, {2, 3}, {3, 4}, {1, 0}, {0, 2}},
      {{3, 7, 7, 40}, {7, 7}, {1, 1}, {0, 0}, {0, 0}},
      {{2, 30, 5}, {3}, {2}, {1}, {0}},
      {{2, 5, 6, 7, 4}, {2, 3, 2}, {2, 1, 2}, {0, 1, 1}, {1, 1, 0}},
      {{1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {{1, 40, 40, 33}, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
  };
}

// Few different numbers, so that windows hold ties.
std::vector<double> numbers(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> v(static_cast<size_t>(n));
  for (double& x : v) x = static_cast<double>(random() % 17) - 8;
  return v;
}

template <class T>
std::vector<T> as(const std::vector<double>& v) {
  return std::vector<T>(v.begin(), v.end());
}

// The windows as lists of x indices in row-major order, one for each element of y.
struct NaivePool {
  explicit NaivePool(const Pool& p) : pool(p), y{p.x[0]} {
    const size_t n = p.window.size();
    size_of_window = product(p.window);
    for (size_t d = 0; d < n; ++d) y.push_back((p.x[d + 1] + p.low[d] + p.high[d] - p.window[d]) / p.strides[d] + 1);
    y.push_back(p.x.back());
    x_data = numbers(product(p.x), 1);
    dy_data = numbers(product(y), 2);
    for (int64_t e = 0; e < product(y); ++e) {
      windows.emplace_back();
      for (int64_t t = 0; t < size_of_window; ++t) {
        int64_t rest = e / y.back(), rest_t = t, at = 0, scale = 1;
        bool inside = true;
        for (size_t d = n; d-- > 0;) {
          const int64_t i = rest % y[d + 1] * p.strides[d] + rest_t % p.window[d] - p.low[d];
          inside = inside && i >= 0 && i < p.x[d + 1];
          at += i * scale;
          scale *= p.x[d + 1];
          rest /= y[d + 1];
          rest_t /= p.window[d];
        }
        if (inside) windows.back().push_back(static_cast<size_t>((at + rest * scale) * y.back() + e % y.back()));
      }
    }
  }
  double largest(size_t e) const {
    double top = x_data[windows[e][0]];
    for (size_t i : windows[e]) top = std::max(top, x_data[i]);
    return top;
  }
  double count(size_t e, bool pad) const {
    return static_cast<double>(pad ? size_of_window : int64_t(windows[e].size()));
  }
  std::vector<double> max() const {
    std::vector<double> v;
    for (size_t e = 0; e < windows.size(); ++e) v.push_back(largest(e));
    return v;
  }
  std::vector<double> avg(bool pad) const {
    std::vector<double> v;
    for (size_t e = 0; e < windows.size(); ++e) {
      v.push_back(0);
      for (size_t i : windows[e]) v[e] += x_data[i];
      v[e] /= count(e, pad);
    }
    return v;
  }
  std::vector<double> max_grad() const {
    std::vector<double> v(x_data.size());
    for (size_t e = 0; e < windows.size(); ++e)
      for (size_t i : windows[e])
        if (x_data[i] == largest(e)) {
          v[i] += dy_data[e];
          break;
        }
    return v;
  }
  std::vector<double> avg_grad(bool pad) const {
    std::vector<double> v(x_data.size());
    for (size_t e = 0; e < windows.size(); ++e)
      for (size_t i : windows[e]) v[i] += dy_data[e] / count(e, pad);
    return v;
  }
  plugin::GraphBuilder& attributes(plugin::GraphBuilder& op, bool pad = false) const {
    op.attr_list("window", pool.window).attr_list("strides", pool.strides).attr_list("low", pool.low);
    return op.attr_list("high", pool.high).attr_bool("count_pad", pad);
  }
  Pool pool;
  Dims y;
  int64_t size_of_window;
  std::vector<double> x_data, dy_data;
  std::vector<std::vector<size_t>> windows;
};

TEST_P(Pooling, TakesTheLargestOfEachWindow) {
  for (const Pool& p : pool_shapes()) {
    const NaivePool n(p);
    const auto y = run(1, [&](NodeRun& node) {
      n.attributes(node.in(TENON_F32, p.x, as<float>(n.x_data)).out(TENON_F32, n.y).op("max_pool"));
    });
    EXPECT_EQ(y.get(0), as<float>(n.max()));
  }
}

TEST_P(Pooling, AveragesWithAndWithoutThePads) {
  for (const Pool& p : pool_shapes())
    for (bool pad : {false, true}) {
      const NaivePool n(p);
      const auto y = run(1, [&](NodeRun& node) {
        n.attributes(node.in(TENON_F32, p.x, as<float>(n.x_data)).out(TENON_F32, n.y).op("avg_pool"), pad);
      });
      expect_near(y.get(0), n.avg(pad), 1e-6);
    }
}

TEST_P(Pooling, SendsTheGradientToTheFirstLargest) {
  for (const Pool& p : pool_shapes()) {
    const NaivePool n(p);
    const auto dx = run(1, [&](NodeRun& node) {
      node.in(TENON_F32, p.x, as<float>(n.x_data)).in(TENON_F32, n.y, as<float>(n.max()));
      n.attributes(node.in(TENON_F32, n.y, as<float>(n.dy_data)).out(TENON_F32, p.x).op("max_pool_grad"));
    });
    EXPECT_EQ(dx.get(0), as<float>(n.max_grad()));  // small integers: exact
  }
}

TEST_P(Pooling, SpreadsTheGradientOverTheWindow) {
  for (const Pool& p : pool_shapes())
    for (bool pad : {false, true}) {
      const NaivePool n(p);
      const auto dx = run(1, [&](NodeRun& node) {
        auto& op = node.in(TENON_F32, n.y, as<float>(n.dy_data)).out(TENON_F32, p.x).op("avg_pool_grad");
        n.attributes(op, pad).attr_list("size", Dims(p.x.begin() + 1, p.x.end() - 1));
      });
      expect_near(dx.get(0), n.avg_grad(pad), 1e-5);
    }
}

TEST_P(Pooling, TakesDoubles) {
  for (const Pool& p : pool_shapes()) {
    const NaivePool n(p);
    const auto dx = run(1, [&](NodeRun& node) {
      node.in(TENON_F64, p.x, n.x_data).in(TENON_F64, n.y, n.max());
      n.attributes(node.in(TENON_F64, n.y, n.dy_data).out(TENON_F64, p.x).op("max_pool_grad"));
    });
    EXPECT_EQ(dx.get<double>(0), n.max_grad());
  }
}

std::vector<uint16_t> halves(int32_t dtype, const std::vector<double>& v) {
  std::vector<uint16_t> h;
  for (double x : v) h.push_back(to_half(dtype, static_cast<float>(x)));
  return h;
}

// Gradients have 8 bits, which sums of them exceed.
TEST_P(Pooling, RoundsSixteenBitNumbersOnce) {
  for (const int32_t dtype : {TENON_BF16, TENON_F16})
    for (const Pool& p : pool_shapes()) {
      NaivePool n(p);
      for (double& x : n.dy_data) x *= 31;
      const auto in = [&](const std::vector<double>& v) { return halves(dtype, v); };
      const auto found = [&](const char* op, bool grad) {
        return run(1,
                   [&](NodeRun& node) {
                     const bool max = op[0] == 'm';
                     if (!grad || max) node.in(dtype, p.x, in(n.x_data));
                     if (grad && max) node.in(dtype, n.y, in(n.max()));
                     if (grad) node.in(dtype, n.y, in(n.dy_data));
                     n.attributes(node.out(dtype, grad ? p.x : n.y).op(op))
                         .attr_list("size", Dims(p.x.begin() + 1, p.x.end() - 1));
                   })
            .get<uint16_t>(0);
      };
      EXPECT_EQ(found("max_pool", false), in(n.max()));
      EXPECT_EQ(found("avg_pool", false), in(n.avg(false)));
      EXPECT_EQ(found("max_pool_grad", true), in(n.max_grad()));
      const std::vector<uint16_t> dx = found("avg_pool_grad", true);
      const std::vector<double> want = n.avg_grad(false);
      for (size_t i = 0; i < dx.size(); ++i)
        ASSERT_NEAR(from_half(dtype, dx[i]), want[i], std::abs(want[i]) / 256 + 1e-4) << "element " << i;
    }
}

TEST_P(Pooling, LetsTheFirstNaNWin) {
  for (size_t at : {0, 1, 3}) {
    Floats x = {1, 2, 3, 4}, expected(4, 0);
    for (size_t i = at; i < 4; i += 2) x[i] = NAN;
    expected[at] = 7;
    const auto y = run(1, [&](NodeRun& node) {
      node.in(TENON_F32, {1, 2, 2, 1}, x).out(TENON_F32, {1, 1, 1, 1}).op("max_pool").attr_list("window", {2, 2});
    });
    EXPECT_TRUE(std::isnan(y.get(0)[0]));
    const auto dx = run(1, [&](NodeRun& node) {
      node.in(TENON_F32, {1, 2, 2, 1}, x)
          .in(TENON_F32, {1, 1, 1, 1}, Floats{NAN})
          .in(TENON_F32, {1, 1, 1, 1}, Floats{7});
      node.out(TENON_F32, {1, 2, 2, 1}).op("max_pool_grad").attr_list("window", {2, 2});
    });
    EXPECT_EQ(dx.get(0), expected);
  }
}

}  // namespace
}  // namespace tenon::testing
