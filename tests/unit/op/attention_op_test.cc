// Attention against the plain formula, query by query.
#include <cmath>

#include "conformance/reference/reference_philox.h"
#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

struct Problem {
  int64_t B, T, N, D, S, M, E;
  bool causal = false;
  Shape bias = {};  // rank 0: none
  double rate = 0, scale = 0.7;

  Shape q() const { return {B, T, N, D}; }
  Shape k() const { return {B, S, M, D}; }
  Shape v() const { return {B, S, M, E}; }
  AttentionOptions options() const { return {scale, causal, rate, 5}; }
};

constexpr int64_t kSeed = 11, kStep = 3;

std::vector<Feed> feeds_of(const Problem& p) {
  std::vector<Feed> feeds{noise(p.q(), 1, -2, 2), noise(p.k(), 2, -2, 2), noise(p.v(), 3, -2, 2)};
  if (p.bias.rank()) feeds.push_back(noise(p.bias, 4));
  if (p.rate > 0)
    for (int64_t s : {kSeed, kStep}) feeds.push_back(of(DType::kI64, {}, {static_cast<double>(s)}));
  return feeds;
}

Tensors optional_operands(const Problem& p, const Tensors& x) {
  size_t next = 3;
  Tensors out(3);
  if (p.bias.rank()) out[0] = x[next++];
  if (p.rate > 0) out[1] = x[next], out[2] = x[next + 1];
  return out;
}

Build attend(const Problem& p) {
  return [p](const Tensors& x) {
    const Tensors o = optional_operands(p, x);
    const Attended a = attention(x[0], x[1], x[2], o[0], o[1], o[2], p.options());
    return Tensors{a.y, a.lse};
  };
}
Build attend_y(const Problem& p) {
  return [p](const Tensors& x) { return Tensors{attend(p)(x)[0]}; };
}

// 0 or 1 / (1 - rate) for a score, from Philox as the op specification defines random.
double kept(const Problem& p, int64_t element) {
  if (p.rate == 0) return 1;
  const auto words = reference::philox4x32_10({static_cast<uint32_t>(element >> 2), 5, kStep, 0}, {kSeed, 0});
  return (words[element & 3] >> 8) * 0x1p-24 >= p.rate ? 1 / (1 - p.rate) : 0;
}

double bias_at(const Problem& p, const std::vector<Feed>& f, const std::vector<int64_t>& at) {
  if (!p.bias.rank()) return 0;
  int64_t i = 0;
  for (int d = 0; d < 4; ++d) i = i * p.bias[d] + (p.bias[d] == 1 ? 0 : at[static_cast<size_t>(d)]);
  return f[3].values[static_cast<size_t>(i)];
}

struct Expected {
  Doubles y, lse;
};

Expected formula(const Problem& p, const std::vector<Feed>& f) {
  Expected out{Doubles(static_cast<size_t>(p.B * p.T * p.N * p.E), 0),
               Doubles(static_cast<size_t>(p.B * p.N * p.T), 0)};
  for (int64_t b = 0; b < p.B; ++b)
    for (int64_t n = 0; n < p.N; ++n)
      for (int64_t t = 0; t < p.T; ++t) {
        const int64_t m = n / (p.N / p.M);
        Doubles e(static_cast<size_t>(p.S), 0);
        double sum = 0;
        for (int64_t j = 0; j < p.S; ++j) {
          if (p.causal && j > t + p.S - p.T) continue;
          double s = bias_at(p, f, {b, n, t, j});
          for (int64_t d = 0; d < p.D; ++d)
            s += p.scale * f[0].values[static_cast<size_t>(((b * p.T + t) * p.N + n) * p.D + d)] *
                 f[1].values[static_cast<size_t>(((b * p.S + j) * p.M + m) * p.D + d)];
          sum += e[static_cast<size_t>(j)] = std::exp(s);
        }
        const int64_t row = (b * p.N + n) * p.T + t;
        out.lse[static_cast<size_t>(row)] = std::log(sum);
        for (int64_t j = 0; j < p.S; ++j)
          for (int64_t d = 0; d < p.E && sum > 0; ++d)
            out.y[static_cast<size_t>(((b * p.T + t) * p.N + n) * p.E + d)] +=
                e[static_cast<size_t>(j)] / sum * kept(p, row * p.S + j) *
                f[2].values[static_cast<size_t>(((b * p.S + j) * p.M + m) * p.E + d)];
      }
  return out;
}

const Problem kProblems[] = {
    {2, 3, 2, 4, 5, 2, 4},                             // plain
    {1, 4, 4, 2, 3, 2, 3},                             // two query heads a key head, values of another size
    {1, 3, 2, 2, 5, 1, 2, true},                       // causal, keys from before
    {2, 3, 2, 2, 4, 2, 2, false, {2, 1, 1, 4}},        // a bias a key
    {2, 3, 2, 2, 3, 2, 2, true, {1, 2, 3, 3}},         // a bias a head, causal
    {2, 2, 2, 3, 7, 1, 3, false, {2, 2, 2, 7}, 0.25},  // all, with dropout
};

TEST(Attention, IsTheFormulaOfEachQuery) {
  for (const Problem& p : kProblems) {
    const auto feeds = feeds_of(p);
    const auto y = evaluate(attend(p), feeds);
    const Expected want = formula(p, feeds);
    expect_near(y[0].values, want.y);
    expect_near(y[1].values, want.lse);
  }
}

TEST(Attention, HasGradients) {
  for (const Problem& p : kProblems) expect_gradients(attend_y(p), feeds_of(p));
}

TEST(Attention, HasGradientsOfItsLogarithmsToo) { expect_gradients(attend(kProblems[0]), feeds_of(kProblems[0])); }

TEST(Attention, UsesItsGradientOp) {
  const Problem p = kProblems[3];
  Graph graph;
  Tensors x;
  for (const Feed& f : feeds_of(p)) x.emplace_back(&graph, graph.add_input(f.type, Role::kFeed, "x"));
  gradients(reduce_sum(attend_y(p)(x)[0]), {x[0], x[2]});
  ASSERT_EQ(count(graph, "attention_grad"), 1);
  for (const Node& n : graph.nodes) EXPECT_TRUE(n.op != "attention_grad" || n.results.size() == 3);  // no dbias
}

TEST(Attention, OfAQueryThatSeesNoKeyIsZero) {
  // Causal with fewer keys than queries: the first two queries see none.
  const Problem p{1, 4, 1, 2, 2, 1, 2, true};
  const auto feeds = feeds_of(p);
  const auto y = evaluate(attend(p), feeds);
  expect_near(y[0].values, formula(p, feeds).y);
  EXPECT_EQ(y[0].values[0], 0);
  EXPECT_EQ(y[1].values[1], -kInf);
  expect_gradients(attend_y(p), feeds);
}

TEST(Attention, OfAQueryWhoseBiasHidesEveryKeyIsZeroWithoutGradient) {
  const Problem p{1, 2, 1, 2, 3, 1, 2, false, {1, 1, 2, 3}};
  auto feeds = feeds_of(p);
  for (size_t i = 0; i < 3; ++i) feeds[3].values[i] = -kInf;
  const auto y = evaluate(attend(p), feeds);
  EXPECT_EQ(y[0].values[0], 0);
  EXPECT_EQ(y[1].values[0], -kInf);
  const auto d = evaluate([&](const Tensors& x) { return gradients(reduce_sum(attend_y(p)(x)[0]), x); }, feeds);
  for (const Evaluated& e : d)
    for (double v : e.values) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(d[0].values[0], 0);
}

TEST(Attention, SumsTheGradientOfEachHeadThatReadsAKey) {
  // The head of k that two query heads share gets both gradients: twice one's, when the queries are equal.
  const Problem one{1, 2, 1, 2, 3, 1, 2}, two{1, 2, 2, 2, 3, 1, 2};
  std::vector<Feed> a = feeds_of(one), b = a;
  const Doubles& q = a[0].values;
  b[0] = f64(two.q(), {q[0], q[1], q[0], q[1], q[2], q[3], q[2], q[3]});
  const auto grad = [](const Problem& p) {
    return [p](const Tensors& x) { return gradients(reduce_sum(square(attend_y(p)(x)[0])), {x[1], x[2]}); };
  };
  const auto d1 = evaluate(grad(one), a), d2 = evaluate(grad(two), b);
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < d1[i].values.size(); ++k) EXPECT_NEAR(d2[i].values[k], 2 * d1[i].values[k], 1e-12);
}

TEST(Attention, KeepsItsTypesInEveryDtype) {
  const Problem p{2, 3, 4, 2, 5, 2, 3, true, {2, 1, 1, 5}};
  const std::vector<Type> types{
      {DType::kF64, p.q()}, {DType::kF64, p.k()}, {DType::kF64, p.v()}, {DType::kF64, p.bias}};
  expect_types_survive_lowering(attend(p), types);
  expect_types_survive_lowering(
      [&](const Tensors& x) { return gradients(cast(reduce_sum(attend_y(p)(x)[0]), DType::kF32), x); }, types);
}

std::string error(const Shape& q, const Shape& k, const Shape& v, const Shape& bias, double rate = 0) {
  return error_of(
      [&](const Tensors& x) {
        return Tensors{attention(x[0], x[1], x[2], x[3], {}, {}, {1, false, rate, 0}).y};
      },
      {{DType::kF32, q}, {DType::kF32, k}, {DType::kF32, v}, {DType::kF32, bias}});
}

TEST(Attention, NamesTheOperandThatDoesNotFit) {
  const Shape q{2, 3, 4, 8}, k{2, 5, 2, 8}, bias{1, 1, 3, 5};
  EXPECT_EQ(error(q, {2, 5, 3, 8}, {2, 5, 3, 8}, bias),
            "attention 'attention': operand 0 'q' has 4 heads, expected a multiple of the 3 of operand 1 'k'");
  EXPECT_EQ(error(q, {2, 5, 2, 7}, k, bias),
            "attention 'attention': operand 1 'k' is f32[2,5,2,7], expected 2 examples of size 8 as operand 0 'q'");
  EXPECT_EQ(error(q, k, k, {1, 1, 3, 4}),
            "attention 'attention': operand 3 'bias' is f32[1,1,3,4], expected [2,4,3,5] or 1 in its place");
  EXPECT_EQ(error(q, k, k, bias, 0.5), "attention 'attention': dropout needs operand 4 'seed'");
  EXPECT_EQ(error(q, k, k, bias, 1), "attention 'attention': rate is 1, expected 0 to less than 1");
}

}  // namespace
}  // namespace tenon::op_testing
