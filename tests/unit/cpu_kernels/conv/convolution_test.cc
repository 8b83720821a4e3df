#include <bit>

#include "isa_test.h"

TENON_WIDE_FAMILY_FIXTURE(Convolution, add_convolution)

namespace tenon::testing {
namespace {

struct Conv {
  Dims x;  // [N, S.., C]
  Dims k;  // spatial
  int64_t o;
  Dims strides, low, high, dilation;
  int64_t groups = 1;
  bool bias = false, residual = false;
  int act = TENON_ACT_NONE;
};

// The definition in f64, one term at a time, with the size of the terms beside the sum.
class NaiveConv {
 public:
  explicit NaiveConv(Conv c) : c_(std::move(c)) {
    const size_t n = c_.k.size();
    if (c_.strides.empty()) c_.strides.assign(n, 1);
    if (c_.low.empty()) c_.low.assign(n, 0);
    if (c_.high.empty()) c_.high = c_.low;
    if (c_.dilation.empty()) c_.dilation.assign(n, 1);
    y = {c_.x[0]};
    for (size_t d = 0; d < n; ++d)
      y.push_back((c_.x[d + 1] + c_.low[d] + c_.high[d] - (c_.k[d] - 1) * c_.dilation[d] - 1) / c_.strides[d] + 1);
    y.push_back(c_.o);
    w = c_.k;
    w.push_back(c_.x.back() / c_.groups);
    w.push_back(c_.o);
    x_data = uniform(product(c_.x), 1);
    w_data = uniform(product(w), 2);
    dy_data = uniform(product(y), 3);
    bias_data = uniform(c_.o, 4);
    residual_data = uniform(product(y), 5);
  }

  // Calls f(x index, w index, y index) for each product.
  template <class F>
  void each_term(F f) const {
    const size_t n = c_.k.size();
    const int64_t cg = w[n], og = c_.o / c_.groups, channels = c_.x.back();
    const int64_t y_points = product(y) / c_.o, taps = product(c_.k);
    for (int64_t p = 0; p < y_points; ++p)
      for (int64_t t = 0; t < taps; ++t) {
        int64_t at = 0, scale = 1, rest_p = p, rest_t = t;
        bool inside = true;
        for (size_t d = n; d-- > 0;) {
          const int64_t i = rest_p % y[d + 1] * c_.strides[d] + rest_t % c_.k[d] * c_.dilation[d] - c_.low[d];
          inside = inside && i >= 0 && i < c_.x[d + 1];
          at += i * scale;
          scale *= c_.x[d + 1];
          rest_p /= y[d + 1];
          rest_t /= c_.k[d];
        }
        if (!inside) continue;
        at += rest_p * scale;
        for (int64_t o = 0; o < c_.o; ++o)
          for (int64_t c = 0; c < cg; ++c) f(at * channels + o / og * cg + c, (t * cg + c) * c_.o + o, p * c_.o + o);
      }
  }

  plugin::GraphBuilder& attributes(plugin::GraphBuilder& op) const {
    op.attr_list("strides", c_.strides).attr_list("low", c_.low).attr_list("high", c_.high);
    return op.attr_list("dilation", c_.dilation).attr_i64("groups", c_.groups).attr_dtype("out", TENON_F32);
  }
  bool plain() const { return !c_.bias && !c_.residual && c_.act == TENON_ACT_NONE; }
  void define_forward(NodeRun& node) const {
    node.in(TENON_F32, c_.x, x_data).in(TENON_F32, w, w_data).out(TENON_F32, y);
    if (plain()) {
      attributes(node.op("conv"));
      return;
    }
    if (c_.bias)
      node.in(TENON_F32, {c_.o}, bias_data);
    else
      node.absent();
    if (c_.residual) node.in(TENON_F32, y, residual_data);
    attributes(node.op("conv_bias_act")).attr_enum("act", c_.act).attr_f64("alpha", 0.25);
  }
  void define_input(NodeRun& node) const {
    node.in(TENON_F32, y, dy_data).in(TENON_F32, w, w_data).out(TENON_F32, c_.x);
    attributes(node.op("conv_grad_input")).attr_list("size", Dims(c_.x.begin() + 1, c_.x.end() - 1));
  }
  void define_filter(NodeRun& node) const {
    node.in(TENON_F32, c_.x, x_data).in(TENON_F32, y, dy_data).out(TENON_F32, w);
    attributes(node.op("conv_grad_filter")).attr_list("size", c_.k);
  }

  struct Sums {
    std::vector<double> sum, size;
    std::vector<int64_t> terms;
    explicit Sums(int64_t n) : sum(n), size(n), terms(n) {}
    void add(int64_t at, double term) {
      sum[static_cast<size_t>(at)] += term;
      size[static_cast<size_t>(at)] += std::abs(term);
      ++terms[static_cast<size_t>(at)];
    }
  };
  void compare(const Floats& got, const Sums& s, const char* what) const {
    ASSERT_EQ(got.size(), s.sum.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double bound = static_cast<double>(s.terms[i] + 4) * 0x1p-24 * (s.size[i] + 1);
      ASSERT_NEAR(got[i], s.sum[i], bound) << what << " element " << i << " of " << ::testing::PrintToString(c_.x)
                                           << " kernel " << ::testing::PrintToString(c_.k) << " to " << c_.o;
    }
  }
  Sums forward() const {
    Sums s(product(y));
    if (c_.bias)
      for (int64_t i = 0; i < product(y); ++i) s.add(i, bias_data[static_cast<size_t>(i % c_.o)]);
    each_term([&](int64_t a, int64_t b, int64_t r) { s.add(r, double(x_data[a]) * w_data[b]); });
    if (c_.residual)
      for (int64_t i = 0; i < product(y); ++i) s.add(i, residual_data[static_cast<size_t>(i)]);
    if (c_.act == TENON_ACT_RELU)
      for (double& v : s.sum) v = v > 0 ? v : 0;
    if (c_.act == TENON_ACT_LEAKY_RELU)
      for (double& v : s.sum) v = v > 0 ? v : 0.25 * v;
    return s;
  }
  Sums input() const {
    Sums s(product(c_.x));
    each_term([&](int64_t a, int64_t b, int64_t r) { s.add(a, double(dy_data[r]) * w_data[b]); });
    return s;
  }
  Sums filter() const {
    Sums s(product(w));
    each_term([&](int64_t a, int64_t b, int64_t r) { s.add(b, double(x_data[a]) * dy_data[r]); });
    return s;
  }

  Dims y, w;
  Floats x_data, w_data, dy_data, bias_data, residual_data;

 private:
  Conv c_;
};

// Shapes that name what is special about them.
std::vector<Conv> conv_shapes() {
  std::vector<Conv> all = {
      {{1, 1, 1, 1}, {1, 1}, 1},
      {{2, 5, 7, 3}, {3, 3}, 10, {}, {1, 1}},
      {{3, 28, 28, 1}, {3, 3}, 32},
      {{2, 13, 13, 32}, {3, 3}, 20},
      {{2, 19, 17, 3}, {5, 5}, 10, {}, {2, 2}},
      {{1, 21, 23, 10}, {5, 5}, 20, {}, {2, 2}},
      {{2, 16, 16, 16}, {3, 3}, 16, {}, {1, 1}},
      {{4, 8, 8, 64}, {3, 3}, 64, {}, {1, 1}},
      {{1, 7, 7, 130}, {3, 3}, 40, {}, {1, 1}},
      {{2, 6, 6, 20}, {1, 1}, 17},
      {{2, 9, 8, 5}, {1, 1}, 33, {2, 2}},
      {{2, 9, 8, 24}, {1, 1}, 8, {3, 2}},
      {{1, 23, 22, 3}, {7, 7}, 20, {2, 2}, {3, 3}},
      {{2, 12, 11, 8}, {3, 3}, 5, {2, 2}, {0, 1}, {1, 1}},
      {{2, 14, 15, 6}, {3, 2}, 9, {3, 2}, {1, 0}, {2, 1}},
      {{1, 14, 15, 6}, {3, 3}, 9, {1, 1}, {2, 3}, {1, 0}, {2, 3}},
      {{1, 17, 15, 4}, {3, 3}, 6, {2, 2}, {2, 2}, {2, 2}, {2, 2}},
      {{1, 17, 15, 4}, {3, 2}, 6, {2, 3}, {1, 3}, {0, 2}, {3, 2}},
      {{2, 3, 2, 4}, {5, 5}, 7, {}, {2, 2}},
      {{1, 2, 2, 3}, {4, 4}, 3, {2, 2}, {2, 2}, {3, 3}},
      {{2, 9, 9, 12}, {3, 3}, 8, {}, {1, 1}, {}, {}, 4},
      {{2, 9, 9, 6}, {3, 3}, 12, {2, 2}, {1, 1}, {}, {}, 2},
      {{1, 6, 6, 5}, {3, 3}, 15, {}, {1, 1}, {}, {}, 5},
      {{2, 10, 9, 19}, {3, 3}, 19, {}, {1, 1}, {}, {}, 19},
      {{2, 10, 9, 32}, {3, 3}, 32, {2, 2}, {1, 1}, {}, {}, 32},
      {{1, 12, 13, 24}, {5, 3}, 24, {1, 1}, {3, 2}, {2, 1}, {2, 2}, 24},
      {{2, 6, 40, 48}, {1, 7}, 17, {}, {0, 3}},
      {{3, 50, 4}, {5}, 6, {}, {2}},
      {{2, 300, 7}, {4}, 20, {3}, {3}, {0}, {2}},
      {{2, 40, 16}, {3}, 16, {}, {1}, {}, {}, 16},
      {{2, 5, 6, 7, 3}, {3, 3, 3}, 5, {}, {1, 1, 1}},
      {{1, 7, 8, 9, 4}, {2, 3, 2}, 17, {2, 1, 3}, {1, 0, 1}, {0, 1, 1}, {1, 2, 1}},
      {{1, 4, 4, 4, 8}, {3, 3, 3}, 8, {}, {1, 1, 1}, {}, {}, 8},
      {{1, 3, 70, 60, 3}, {2, 3, 3}, 4, {}, {0, 1, 1}},
      {{1, 60, 61, 16}, {3, 3}, 18, {}, {1, 1}},
      {{3, 7, 8, 60}, {3, 3}, 130, {}, {1, 1}},
      {{2, 5, 40, 9}, {3, 3}, 9, {1, 2}, {1, 1}, {}, {}, 9},
      {{1, 8, 8, 128}, {3, 3}, 24, {}, {1, 1}},
      {{1, 7, 7, 130}, {3, 3}, 150, {}, {1, 1}},
      {{2, 9, 9, 90}, {3, 3}, 90, {2, 2}, {0, 1}, {1, 0}, {1, 2}},
      {{30, 4, 4, 3}, {3, 3}, 4, {}, {1, 1}},
      // few rows and many weights, which are packed a piece at a time
      {{1, 14, 14, 80}, {3, 3}, 128, {2, 2}, {1, 1}},
      // groups of 4, 2 and 8 channels into as many
      {{2, 9, 8, 12}, {3, 3}, 12, {}, {1, 1}, {}, {}, 3},
      {{2, 33, 32, 64}, {3, 3}, 64, {}, {1, 1}, {}, {}, 16},
      {{2, 10, 11, 14}, {3, 3}, 14, {2, 2}, {1, 1}, {}, {}, 7},
      {{2, 40, 20}, {5}, 20, {}, {2}, {}, {}, 10},
      {{1, 9, 13, 24}, {3, 5}, 24, {2, 1}, {1, 2}, {0, 1}, {1, 2}, 3},
      {{1, 4, 5, 6, 16}, {2, 3, 1}, 16, {1, 2, 1}, {0, 1, 0}, {}, {}, 2},
      // depthwise: images narrower than a tile and wider, odd rows, part of a vector
      {{3, 7, 7, 80}, {3, 3}, 80, {}, {1, 1}, {}, {}, 80},
      {{2, 15, 27, 21}, {3, 3}, 21, {2, 2}, {0, 0}, {1, 1}, {}, 21},
      {{2, 14, 33, 40}, {5, 5}, 40, {}, {2, 2}, {}, {}, 40},
      {{1, 21, 19, 37}, {5, 5}, 37, {2, 2}, {1, 2}, {2, 1}, {}, 37},
      {{1, 16, 18, 16}, {7, 7}, 16, {}, {3, 3}, {}, {}, 16},
      {{2, 4, 3, 24}, {5, 5}, 24, {}, {2, 2}, {}, {}, 24},
      {{1, 17, 20, 18}, {3, 3}, 18, {}, {2, 4}, {}, {2, 4}, 18},
      {{2, 13, 15, 17}, {3, 3}, 17, {3, 4}, {1, 0}, {1, 2}, {}, 17},
      {{1, 11, 12, 8}, {1, 1}, 8, {2, 3}, {}, {}, {}, 8},
      {{1, 9, 10, 34}, {2, 4}, 34, {2, 1}, {1, 0}, {0, 3}, {1, 2}, 34},
      // points that no tap reaches, and padding that is wider than the filter
      {{1, 9, 9, 5}, {3, 3}, 5, {5, 4}, {4, 0}, {5, 6}, {}, 5},
      {{1, 6, 5, 20}, {5, 7}, 20, {1, 2}, {2, 3}, {}, {}, 20},
      // several filters of a channel
      {{2, 13, 12, 9}, {3, 3}, 18, {}, {1, 1}, {}, {}, 9},
      {{2, 30, 31, 12}, {5, 5}, 36, {2, 2}, {1, 2}, {2, 1}, {}, 12},
      {{1, 40, 41, 16}, {3, 3}, 64, {1, 2}, {1, 1}, {}, {2, 1}, 16},
  };
  return all;
}

TEST_P(Convolution, EqualsTheDefinitionForward) {
  for (const Conv& c : conv_shapes()) {
    const NaiveConv naive(c);
    naive.compare(run(1, [&](NodeRun& node) { naive.define_forward(node); }).get(0), naive.forward(), "y");
  }
}

TEST_P(Convolution, EqualsTheDefinitionOfTheInputGradient) {
  for (const Conv& c : conv_shapes()) {
    const NaiveConv naive(c);
    naive.compare(run(1, [&](NodeRun& node) { naive.define_input(node); }).get(0), naive.input(), "dx");
  }
}

TEST_P(Convolution, EqualsTheDefinitionOfTheFilterGradient) {
  for (const Conv& c : conv_shapes()) {
    const NaiveConv naive(c);
    naive.compare(run(1, [&](NodeRun& node) { naive.define_filter(node); }).get(0), naive.filter(), "dw");
  }
}

TEST_P(Convolution, AddsBiasAndResidualBeforeTheActivation) {
  for (int act : {TENON_ACT_NONE, TENON_ACT_RELU, TENON_ACT_LEAKY_RELU})
    for (int operands : {1, 2, 3})
      for (Conv c :
           {conv_shapes()[1], conv_shapes()[4], conv_shapes()[8], conv_shapes()[9], conv_shapes()[20],
            conv_shapes()[23], Conv{{1, 9, 15, 36}, {5, 5}, 36, {}, {2, 2}, {}, {}, 36},
            Conv{{1, 8, 9, 10}, {3, 3}, 20, {2, 2}, {1, 1}, {}, {}, 10},
            Conv{{2, 9, 9, 12}, {3, 3}, 12, {}, {1, 1}, {}, {}, 3}, Conv{{1, 5, 5, 100}, {3, 3}, 90, {}, {1, 1}}}) {
        c.bias = (operands & 1) != 0;
        c.residual = (operands & 2) != 0;
        c.act = act;
        const NaiveConv naive(c);
        naive.compare(run(1, [&](NodeRun& node) { naive.define_forward(node); }).get(0), naive.forward(), "y");
      }
}

TEST_P(Convolution, ComputesDoublesInDouble) {
  const NaiveConv naive({{2, 9, 9, 6}, {3, 2}, 12, {2, 1}, {1, 1}, {1, 0}, {1, 2}, 2});
  const auto wide = [](const Floats& v) { return std::vector<double>(v.begin(), v.end()); };
  const auto check = [&](const std::vector<double>& got, const NaiveConv::Sums& s) {
    ASSERT_EQ(got.size(), s.sum.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], s.sum[i], 1e-13 * (1 + s.size[i])) << i;
  };
  const auto y = run(1, [&](NodeRun& node) {
    node.in(TENON_F64, {2, 9, 9, 6}, wide(naive.x_data))
        .in(TENON_F64, naive.w, wide(naive.w_data))
        .out(TENON_F64, naive.y);
    naive.attributes(node.op("conv"));
  });
  check(y.get<double>(0), naive.forward());
  const auto dx = run(1, [&](NodeRun& node) {
    node.in(TENON_F64, naive.y, wide(naive.dy_data))
        .in(TENON_F64, naive.w, wide(naive.w_data))
        .out(TENON_F64, {2, 9, 9, 6});
    naive.attributes(node.op("conv_grad_input"));
  });
  check(dx.get<double>(0), naive.input());
  const auto dw = run(1, [&](NodeRun& node) {
    node.in(TENON_F64, {2, 9, 9, 6}, wide(naive.x_data))
        .in(TENON_F64, naive.y, wide(naive.dy_data))
        .out(TENON_F64, naive.w);
    naive.attributes(node.op("conv_grad_filter"));
  });
  check(dw.get<double>(0), naive.filter());
}

// What bf16 holds of numbers: they are themselves.
std::vector<uint16_t> halves_of(Floats* v) {
  std::vector<uint16_t> halves;
  for (float& x : *v) {
    const uint32_t bits = std::bit_cast<uint32_t>(x) & 0xffff0000u;
    x = std::bit_cast<float>(bits);
    halves.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return halves;
}

TEST_P(Convolution, OfOneChannelAGroupWidensAndRoundsOnce) {
  for (const Conv& c : {Conv{{2, 15, 14, 21}, {3, 3}, 21, {2, 2}, {1, 1}, {}, {}, 21},
                        Conv{{1, 9, 13, 48}, {5, 5}, 48, {}, {2, 2}, {}, {}, 48},
                        Conv{{1, 7, 8, 6}, {3, 3}, 12, {}, {1, 1}, {}, {}, 6}}) {
    NaiveConv naive(c);
    const auto x = halves_of(&naive.x_data), w = halves_of(&naive.w_data), dy = halves_of(&naive.dy_data);
    const auto check = [](const std::vector<uint16_t>& got, const NaiveConv::Sums& s) {
      ASSERT_EQ(got.size(), s.sum.size());
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(std::bit_cast<float>(static_cast<uint32_t>(got[i]) << 16), s.sum[i],
                    std::abs(s.sum[i]) * 0x1p-8 + s.size[i] * 0x1p-20)
            << i;
    };
    check(run(1,
              [&](NodeRun& node) {
                node.in(TENON_BF16, c.x, x).in(TENON_BF16, naive.w, w).out(TENON_BF16, naive.y);
                naive.attributes(node.op("conv")).attr_dtype("out", TENON_BF16);
              })
              .get<uint16_t>(0),
          naive.forward());
    check(run(1,
              [&](NodeRun& node) {
                node.in(TENON_BF16, naive.y, dy).in(TENON_BF16, naive.w, w).out(TENON_BF16, c.x);
                naive.attributes(node.op("conv_grad_input")).attr_dtype("out", TENON_BF16);
              })
              .get<uint16_t>(0),
          naive.input());
    check(run(1,
              [&](NodeRun& node) {
                node.in(TENON_BF16, c.x, x).in(TENON_BF16, naive.y, dy).out(TENON_BF16, naive.w);
                naive.attributes(node.op("conv_grad_filter")).attr_dtype("out", TENON_BF16);
              })
              .get<uint16_t>(0),
          naive.filter());
  }
}

TEST_P(Convolution, RoundsSixteenBitResultsOnce) {
  // Nine taps of 1, and 1/256 eight times: 9 + 8/256 rounds to 9 in bf16 (spacing 1/16), f32 keeps it.
  std::vector<uint16_t> x(9 * 2, 0x3f80), w(9 * 2, 0x3f80);
  for (size_t i = 1; i < x.size(); i += 2) x[i] = i == 1 ? 0 : 0x3b80;
  const auto conv = [&](int32_t out) {
    return run(1, [&](NodeRun& node) {
      node.in(TENON_BF16, {1, 3, 3, 2}, x).in(TENON_BF16, {3, 3, 2, 1}, w).out(out, {1, 1, 1, 1});
      node.op("conv").attr_dtype("out", out);
    });
  };
  EXPECT_EQ(conv(TENON_F32).get(0)[0], 9 + 8 / 256.f);
  EXPECT_EQ(conv(TENON_BF16).get<uint16_t>(0)[0], 0x4110);
}

TEST_P(Convolution, RefusesMoreThanThreeSpatialDimensions) {
  plugin::GraphBuilder builder;
  const Dims six = {1, 2, 2, 2, 2, 3};
  const uint32_t x = builder.input(TENON_F32, six, TENON_ROLE_FEED), y = builder.value(TENON_F32, six);
  builder.node("conv", {x, x}, {y});
  const plugin::FlatGraph flat = builder.build();
  const plugin::GraphView graph(*flat.graph());
  EXPECT_EQ(table_.find("conv", 1)->accept(graph.node(0)).answer, TENON_REFUSE);
}

}  // namespace
}  // namespace tenon::testing
