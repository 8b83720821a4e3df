#include <algorithm>
#include <cmath>

#include "float_bits.h"
#include "isa_test.h"

TENON_WIDE_FAMILY_FIXTURE(Attention, add_attention)

namespace tenon::cpu::avx512 {
extern bool pair_products, tile_products;
bool request_tiles();
}  // namespace tenon::cpu::avx512

namespace tenon::testing {
namespace {

// Random123's Philox4x32-10, word e & 3 of counter (e >> 2, stream, step).
double draw(uint64_t e, uint64_t seed, uint64_t step, uint32_t stream) {
  uint32_t c[4] = {static_cast<uint32_t>(e >> 2), stream, static_cast<uint32_t>(step),
                   static_cast<uint32_t>(step >> 32)};
  uint32_t k[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return static_cast<double>(c[e & 3] >> 8) * 0x1p-24;
}

struct AttentionProblem {
  int64_t B, T, N, D, S, M;
  bool causal = false;
  double rate = 0;
  Dims bias;  // or empty
  double scale = 0.3;
};
struct Data {
  Floats q, k, v, bias, dy;
};
struct AttentionSolution {
  Doubles y, lse, dq, dk, dv, dbias;
};
constexpr int64_t kSeed = 0x123456789abc, kStep = 5;
constexpr uint32_t kStream = 77;

AttentionSolution solve_attention(const AttentionProblem& p, const Data& d) {
  const auto qi = [&](int64_t b, int64_t t, int64_t n) { return static_cast<size_t>(((b * p.T + t) * p.N + n) * p.D); };
  const auto ki = [&](int64_t b, int64_t s, int64_t n) {
    return static_cast<size_t>(((b * p.S + s) * p.M + n / (p.N / p.M)) * p.D);
  };
  AttentionSolution r{Doubles(d.q.size()),   {}, Doubles(d.q.size()), Doubles(d.k.size()), Doubles(d.v.size()),
                      Doubles(d.bias.size())};
  const auto D = static_cast<size_t>(p.D), S = static_cast<size_t>(p.S);
  for (int64_t b = 0; b < p.B; ++b)
    for (int64_t n = 0; n < p.N; ++n)
      for (int64_t t = 0; t < p.T; ++t) {
        Doubles prob(S, 0), mask(S, 1), dp(S, 0);
        std::vector<size_t> at(S);
        const size_t q = qi(b, t, n);
        const auto row = static_cast<uint64_t>((b * p.N + n) * p.T + t);
        double max = -INFINITY, sum = 0, delta = 0;
        for (size_t s = 0; s < S; ++s) {
          const auto key = static_cast<int64_t>(s);
          if (p.causal && key > t + p.S - p.T) {
            prob[s] = -INFINITY;
            continue;
          }
          for (size_t i = 0; i < D; ++i) prob[s] += p.scale * d.q[q + i] * d.k[ki(b, key, n) + i];
          if (!p.bias.empty()) {
            const auto dim = [&](size_t i, int64_t v) { return p.bias[i] == 1 ? 0 : v; };
            at[s] = static_cast<size_t>(((dim(0, b) * p.bias[1] + dim(1, n)) * p.bias[2] + dim(2, t)) * p.S + key);
            prob[s] += d.bias[at[s]];
          }
          max = std::max(max, prob[s]);
        }
        for (double& v : prob) sum += v = std::exp(v - max);
        r.lse.push_back(max + std::log(sum));
        for (size_t s = 0; s < S; ++s) {
          prob[s] /= sum;
          if (p.rate > 0)
            mask[s] = draw(row * S + s, kSeed, kStep, kStream) >= static_cast<double>(static_cast<float>(p.rate))
                          ? 1 / (1 - p.rate)
                          : 0;
          const size_t k = ki(b, static_cast<int64_t>(s), n);
          for (size_t i = 0; i < D; ++i) {
            r.y[q + i] += prob[s] * mask[s] * d.v[k + i];
            r.dv[k + i] += prob[s] * mask[s] * d.dy[q + i];
            dp[s] += mask[s] * d.dy[q + i] * d.v[k + i];
          }
          delta += prob[s] * dp[s];
        }
        for (size_t s = 0; s < S; ++s) {
          const double ds = prob[s] * (dp[s] - delta);
          const size_t k = ki(b, static_cast<int64_t>(s), n);
          if (!p.bias.empty()) r.dbias[at[s]] += ds;
          for (size_t i = 0; i < D; ++i) {
            r.dq[q + i] += p.scale * ds * d.k[k + i];
            r.dk[k + i] += p.scale * ds * d.q[q + i];
          }
        }
      }
  return r;
}

const std::vector<AttentionProblem> kProblems = {
    {1, 1, 1, 1, 1, 1},
    {2, 3, 2, 5, 7, 2},
    {2, 32, 2, 16, 32, 2},
    {1, 49, 3, 8, 97, 3},
    {1, 100, 1, 33, 20, 1},
    {2, 5, 4, 8, 9, 2},
    {1, 6, 6, 3, 11, 1},
    {2, 50, 2, 64, 50, 2, true},
    {1, 3, 2, 4, 8, 1, true},
    {1, 65, 2, 8, 65, 2, true, 0.1},
    {2, 7, 2, 8, 13, 2, false, 0.5},
    {1, 33, 2, 8, 300, 2, false, 0.25},
    {2, 5, 3, 4, 6, 3, false, 0, {2, 3, 5, 6}},
    {2, 60, 2, 8, 60, 2, true, 0.1, {2, 2, 60, 60}},
    {2, 5, 3, 4, 6, 3, false, 0, {2, 1, 1, 6}},
    {2, 5, 3, 4, 6, 3, false, 0, {1, 3, 5, 6}},
    // scores of negative scale or none, whose last vector is not full
    {1, 4, 2, 8, 21, 2, false, 0, {}, -0.7},
    {2, 3, 1, 8, 5, 1, true, 0.3, {}, 0},
    // draws of one row, and of several that do not begin where a counter does
    {1, 3, 2, 4, 1101, 2, false, 0.4},
    {1, 50, 3, 4, 77, 3, true, 0.4},
    // heads that share keys, the last block of queries part of one
    {2, 98, 4, 8, 98, 2, true, 0.2},
    {1, 60, 2, 6, 60, 2, false, 0, {1, 2, 60, 60}}};

class AttentionCases : public Attention {
 protected:
  Data data_of(const AttentionProblem& p) {
    return {random(p.B * p.T * p.N * p.D, -2, 2), random(p.B * p.S * p.M * p.D, -2, 2), random(p.B * p.S * p.M * p.D),
            p.bias.empty() ? Floats() : random(product(p.bias), -3, 3), random(p.B * p.T * p.N * p.D)};
  }
  void rest(NodeRun& n, const AttentionProblem& p, const Data& d) {
    if (p.bias.empty())
      n.absent();
    else
      n.in(TENON_F32, p.bias, d.bias);
    if (p.rate > 0)
      n.in(TENON_I64, {}, std::vector<int64_t>{kSeed}).in(TENON_I64, {}, std::vector<int64_t>{kStep});
    else
      n.absent().absent();
  }
  static void attributes(plugin::GraphBuilder& b, const AttentionProblem& p) {
    b.attr_f64("scale", p.scale).attr_bool("causal", p.causal).attr_f64("rate", p.rate).attr_i64("stream", kStream);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, AttentionCases, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(AttentionCases, EqualTheDefinitionForwardAndBackward) {
  for (const AttentionProblem& p : kProblems) {
    SCOPED_TRACE(&p - kProblems.data());
    const Data d = data_of(p);
    const AttentionSolution s = solve_attention(p, d);
    const Dims q = {p.B, p.T, p.N, p.D}, k = {p.B, p.S, p.M, p.D}, lse = {p.B, p.N, p.T};
    const Results f = run(2, [&](NodeRun& n) {
      n.in(TENON_F32, q, d.q).in(TENON_F32, k, d.k).in(TENON_F32, k, d.v);
      rest(n, p, d);
      attributes(n.out(TENON_F32, q).out(TENON_F32, lse).op("attention"), p);
    });
    expect_near(f.get(0), s.y, 1e-5);
    expect_near(f.get(1), s.lse, 1e-5);
    const bool dbias = !p.bias.empty() && p.bias[1] == p.N && p.bias[0] == p.B;
    const Results b = run(dbias ? 4 : 3, [&](NodeRun& n) {
      n.in(TENON_F32, q, d.dy).in(TENON_F32, q, d.q).in(TENON_F32, k, d.k).in(TENON_F32, k, d.v);
      n.in(TENON_F32, q, f.get(0)).in(TENON_F32, lse, f.get(1));
      rest(n, p, d);
      n.out(TENON_F32, q).out(TENON_F32, k).out(TENON_F32, k);
      if (dbias) n.out(TENON_F32, p.bias);
      attributes(n.op("attention_grad"), p);
    });
    expect_near(b.get(0), s.dq, 3e-5);
    expect_near(b.get(1), s.dk, 3e-5);
    expect_near(b.get(2), s.dv, 3e-5);
    if (dbias) expect_near(b.get(3), s.dbias, 3e-5);
  }
}

// Rounds numbers to those that bf16 holds; returns their bits.
std::vector<uint16_t> halves_of(Floats& x) {
  const auto bits = to_halves(TENON_BF16, x);
  x = from_halves(TENON_BF16, bits);
  return bits;
}

// What is rounded before the last product has eight bits, as results have. By the instruction for pairs, without it, and by
// tiles, whose sums have another order.
TEST_P(AttentionCases, OfBf16EqualTheDefinitionButForRounding) {
  const bool instruction = GetParam() == "avx512" && __builtin_cpu_supports("avx512bf16");
  for (const AttentionProblem& p : kProblems) {
    SCOPED_TRACE(&p - kProblems.data());
    Data d = data_of(p);
    const auto hq = halves_of(d.q), hk = halves_of(d.k), hv = halves_of(d.v), hdy = halves_of(d.dy);
    const AttentionSolution s = solve_attention(p, d);
    const Dims q = {p.B, p.T, p.N, p.D}, k = {p.B, p.S, p.M, p.D}, lse = {p.B, p.N, p.T};
    const bool dbias = !p.bias.empty() && p.bias[1] == p.N && p.bias[0] == p.B;
    const auto both = [&] {
      Results f = run(2, [&](NodeRun& n) {
        n.in(TENON_BF16, q, hq).in(TENON_BF16, k, hk).in(TENON_BF16, k, hv);
        rest(n, p, d);
        attributes(n.out(TENON_BF16, q).out(TENON_F32, lse).op("attention"), p);
      });
      const Results b = run(dbias ? 4 : 3, [&](NodeRun& n) {
        n.in(TENON_BF16, q, hdy).in(TENON_BF16, q, hq).in(TENON_BF16, k, hk).in(TENON_BF16, k, hv);
        n.in(TENON_BF16, q, f.get<uint16_t>(0)).in(TENON_F32, lse, f.get(1));
        rest(n, p, d);
        n.out(TENON_BF16, q).out(TENON_BF16, k).out(TENON_BF16, k);
        if (dbias) n.out(TENON_F32, p.bias);
        attributes(n.op("attention_grad"), p);
      });
      f.bytes.insert(f.bytes.end(), b.bytes.begin(), b.bytes.end());
      return f;
    };
    const auto expect_solution = [&](const Results& r) {
      expect_near(from_halves(TENON_BF16, r.get<uint16_t>(0)), s.y, 1e-2);
      expect_near(r.get(1), s.lse, 1e-5);
      expect_near(from_halves(TENON_BF16, r.get<uint16_t>(2)), s.dq, 4e-2);
      expect_near(from_halves(TENON_BF16, r.get<uint16_t>(3)), s.dk, 4e-2);
      expect_near(from_halves(TENON_BF16, r.get<uint16_t>(4)), s.dv, 4e-2);
      if (dbias) expect_near(r.get(5), s.dbias, 4e-2);
    };
    const Results r = both();
    expect_solution(r);
    if (instruction) {
      cpu::avx512::pair_products = true;
      const Results other = both();
      cpu::avx512::pair_products = false;
      EXPECT_EQ(r.bytes, other.bytes);
    }
    if (instruction && cpu::avx512::request_tiles()) {
      std::optional<plugin::KernelTable> others;  // whose order is not that of tiles
      std::swap(narrow_, others);
      cpu::avx512::pair_products = cpu::avx512::tile_products = true;
      expect_solution(both());
      cpu::avx512::pair_products = cpu::avx512::tile_products = false;
      std::swap(narrow_, others);
    }
  }
}

TEST_P(AttentionCases, QueriesThatSeeNoKeyGiveZero) {
  AttentionProblem p{1, 5, 1, 2, 3, 1, true};
  const Data d = data_of(p);
  const Results f = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, {1, 5, 1, 2}, d.q).in(TENON_F32, {1, 3, 1, 2}, d.k).in(TENON_F32, {1, 3, 1, 2}, d.v);
    attributes(n.out(TENON_F32, {1, 5, 1, 2}).out(TENON_F32, {1, 1, 5}).op("attention"), p);
  });
  const Floats y = f.get(0);
  EXPECT_EQ(Floats(y.begin(), y.begin() + 4), Floats(4, 0));
  EXPECT_NEAR(y[4], d.v[0], 1e-6);
}

TEST_P(AttentionCases, ABiasThatHidesEveryKeyGivesZeroAndNoGradient) {
  AttentionProblem p{1, 2, 1, 3, 9, 1, false, 0, {1, 1, 2, 9}};
  Data d = data_of(p);
  std::fill(d.bias.begin(), d.bias.begin() + 9, -INFINITY);
  const Dims q = {1, 2, 1, 3}, k = {1, 9, 1, 3};
  const Results f = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, q, d.q).in(TENON_F32, k, d.k).in(TENON_F32, k, d.v).in(TENON_F32, p.bias, d.bias);
    attributes(n.out(TENON_F32, q).out(TENON_F32, {1, 1, 2}).op("attention"), p);
  });
  const Floats y = f.get(0);
  EXPECT_EQ(Floats(y.begin(), y.begin() + 3), Floats(3, 0));
  EXPECT_EQ(f.get(1)[0], -INFINITY);
  const Results b = run(3, [&](NodeRun& n) {
    n.in(TENON_F32, q, d.dy)
        .in(TENON_F32, q, d.q)
        .in(TENON_F32, k, d.k)
        .in(TENON_F32, k, d.v)
        .in(TENON_F32, q, y)
        .in(TENON_F32, {1, 1, 2}, f.get(1))
        .in(TENON_F32, p.bias, d.bias);
    attributes(n.out(TENON_F32, q).out(TENON_F32, k).out(TENON_F32, k).op("attention_grad"), p);
  });
  const Floats dq = b.get(0);
  EXPECT_EQ(Floats(dq.begin(), dq.begin() + 3), Floats(3, 0));
  for (size_t i : {1, 2})
    for (float v : b.get(i)) EXPECT_TRUE(std::isfinite(v));
}

TEST_P(Attention, ValuesOfAnotherSizeAndARepeatedBiasGradientAreDecomposed) {
  plugin::GraphBuilder b;
  const auto in = [&](const Dims& d) { return b.input(TENON_F32, d, TENON_ROLE_FEED); };
  const uint32_t q = in({1, 2, 1, 4}), k = in({1, 3, 1, 4}), v = in({1, 3, 1, 5}), bias = in({1, 1, 1, 3}),
                 lse = in({1, 1, 2});
  b.node("attention", {q, k, v}, {in({1, 2, 1, 5}), lse});
  b.node("attention_grad", {q, q, k, k, q, lse, bias, TENON_NONE, TENON_NONE}, {q, k, k, bias});
  b.node("attention_grad", {q, q, k, k, q, lse, bias, TENON_NONE, TENON_NONE}, {q, k, k});
  const plugin::FlatGraph flat = b.build();
  const plugin::GraphView g(*flat.graph());
  EXPECT_EQ(table_.find("attention", 1)->accept(g.node(0)).answer, TENON_DECOMPOSE);
  EXPECT_EQ(table_.find("attention_grad", 1)->accept(g.node(1)).answer, TENON_DECOMPOSE);
  EXPECT_EQ(table_.find("attention_grad", 1)->accept(g.node(2)).answer, TENON_TAKE);
}

}  // namespace
}  // namespace tenon::testing
