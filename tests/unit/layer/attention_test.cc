// MultiHeadAttention beyond the golden files: other keys than values, masks, dropout, names.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::feed;
using model_testing::golden_bias;
using model_testing::golden_input;
using model_testing::golden_kernel;
using model_testing::Numbers;
using model_testing::Session;

MultiHeadAttentionOptions golden_attention(int64_t heads, int64_t key_dim) {
  return {
      .num_heads = heads, .key_dim = key_dim, .kernel_initializer = &golden_kernel, .bias_initializer = &golden_bias};
}

// Two heads of size 2, values of size 3, on query[1,2,2], value[1,3,2] and key[1,3,3], half the golden input. What is
// expected was computed in double precision from the formulas, for head n, query t, key u:
//   Q = query Wq + bq, K = key Wk + bk, V = value Wv + bv
//   s[u] = Q[t,n] . K[u,n] / sqrt(2), -1e9 where the mask hides u; p = softmax(s)
//   y[t,n] = sum_u p[u] V[u,n]; out[t] = (y[t,0], y[t,1]) Wo + bo
Numbers attended(const Shape& mask_shape, const Numbers& mask, bool causal = false) {
  Graph graph;
  const Tensor query = feed(graph, "q", {1, 2, 2}), value = feed(graph, "v", {1, 3, 2});
  MultiHeadAttentionOptions o = golden_attention(2, 2);
  o.value_dim = 3;
  o.key = feed(graph, "k", {1, 3, 3});
  o.use_causal_mask = causal;
  if (!mask.empty()) o.attention_mask = feed(graph, "m", mask_shape, DType::kI32);
  Session session(graph, {multi_head_attention(query, value, o)});
  Numbers key = golden_input(9);
  for (double& x : key) x /= 2;
  return session.run({{"q", golden_input(4)}, {"v", golden_input(6)}, {"k", key}, {"m", mask}})[0];
}

TEST(MultiHeadAttention, TakesOtherKeysThanValues) {
  golden::expect_near(attended({}, {}), {-0.268068028, -0.043865606, -0.264057903, -0.0429698969}, 1e-6);
}

TEST(MultiHeadAttention, HidesWhatTheMaskHides) {
  const Numbers mask{1, 0, 1, 0, 1, 1}, expected{-0.26092961, -0.140993984, -0.171185755, -0.0753409824};
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 2, 3}, Shape{1, 1, 2, 3}})
    golden::expect_near(attended(shape, mask), expected, 1e-6);
  const Numbers by_head{1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1};
  golden::expect_near(attended({1, 2, 2, 3}, by_head), expected, 1e-6);
}

TEST(MultiHeadAttention, CountsCausalQueriesFromTheFirstKey) {
  golden::expect_near(attended({}, {}, true), {-0.43828125, -0.00078125, -0.364359273, 0.0842185878}, 1e-6);
  golden::expect_near(attended({2, 3}, {1, 0, 1, 0, 1, 1}, true), {-0.43828125, -0.00078125, -0.27421875, 0.16328125},
                      1e-6);
}

TEST(MultiHeadAttention, SeesAllKeysAlikeWhereTheMaskHidesAll) {
  golden::expect_near(attended({2, 3}, {0, 0, 0, 1, 1, 1}), {-0.259895833, -0.0515625, -0.264057903, -0.0429698969},
                      1e-6);
}

TEST(MultiHeadAttention, HidesTheFutureUnderACausalMask) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 6});
  MultiHeadAttentionOptions o = golden_attention(2, 3);
  o.use_causal_mask = true;
  Session session(graph, {multi_head_attention(x, x, o)});
  const Numbers before = golden_input(48), y = session.run({{"x", before}})[0];
  Numbers after = before;
  for (size_t i = 0; i < 48; ++i)
    if (i % 24 >= 12) after[i] += 1 + static_cast<double>(i);  // tokens 2 and 3 of each example
  const Numbers z = session.run({{"x", after}})[0];
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(y[i] == z[i], i % 24 < 12) << "element " << i;
}

TEST(MultiHeadAttention, DropsWeightsWhileTrainingOnly) {
  const auto run = [](Mode mode, double rate, double seed) {
    Graph graph;
    graph.mode = mode;
    const Tensor x = feed(graph, "x", {2, 4, 6});
    MultiHeadAttentionOptions o = golden_attention(2, 3);
    o.dropout = rate;
    Session session(graph, {multi_head_attention(x, x, o)});
    return session.run({{"x", golden_input(48)}, {"seed", {seed}}, {"global_step", {0}}})[0];
  };
  const Numbers plain = run(Mode::kTrain, 0, 1), dropped = run(Mode::kTrain, 0.5, 1);
  EXPECT_EQ(run(Mode::kEval, 0.5, 1), plain);
  EXPECT_EQ(run(Mode::kPredict, 0.5, 1), plain);
  EXPECT_EQ(run(Mode::kTrain, 0.5, 1), dropped);
  EXPECT_NE(dropped, plain);
  EXPECT_NE(run(Mode::kTrain, 0.5, 2), dropped);
}

TEST(MultiHeadAttention, NamesItsVariablesAsKerasDoes) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 6});
  multi_head_attention(x, x, golden_attention(2, 3));
  multi_head_attention(x, x, golden_attention(2, 3));
  std::vector<std::string> names;
  for (const Variable& v : graph.variables) names.push_back(v.name);
  ASSERT_EQ(names.size(), 16u);
  EXPECT_EQ(join(std::vector<std::string>(names.begin(), names.begin() + 9), " "),
            "multi_head_attention/query/kernel multi_head_attention/query/bias multi_head_attention/key/kernel "
            "multi_head_attention/key/bias multi_head_attention/value/kernel multi_head_attention/value/bias "
            "multi_head_attention/attention_output/kernel multi_head_attention/attention_output/bias "
            "multi_head_attention_1/query/kernel");
}

TEST(MultiHeadAttention, TakesSixteenBits) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 3, 4}, DType::kBF16);
  MultiHeadAttentionOptions o = golden_attention(2, 2);
  o.attention_mask = full(graph, DType::kBool, {3, 3}, 1);
  const Tensor y = multi_head_attention(x, x, o);
  EXPECT_EQ(y.type(), (Type{DType::kBF16, {1, 3, 4}}));
  // MultiHeadAttention(2, 2) of layer_values.csv; bf16 has 8 bits
  const Numbers f32{-0.2946015, 0.08330987, -0.1976365, 0.2059984,  -0.2511789, 0.06565683,
                    -0.2088071, 0.2161664,  -0.2631694, 0.09697293, -0.173618,  0.216434};
  const Numbers found = Session(graph, {y}).run({{"x", golden_input(12)}})[0];
  for (size_t i = 0; i < f32.size(); ++i) EXPECT_NEAR(found[i], f32[i], 0x1p-6) << "element " << i;
}

// The row sparse_logits of losses.csv, as one sentence of three tokens and as three of one.
TEST(SequenceLoss, IsTheMeanOverAllTokens) {
  for (const Shape& rows : {Shape{1, 3}, Shape{3, 1}}) {
    Graph graph;
    const Tensor x = feed(graph, "x", {rows[0], rows[1], 3}), y = feed(graph, "y", rows, DType::kI32);
    Session session(graph, {sparse_categorical_crossentropy(y, x, {.from_logits = true})});
    const double loss = session.run({{"x", {1, 2, 0.5, -1, 0, 3, 0, 4, -2}}, {"y", {1, 2, 0}}})[0][0];
    EXPECT_NEAR(loss, 1.51694453, 1e-6);
  }
}

// A kernel [2, 4] is two heads A and B, [2, 8] each of them twice, A A B B; [8, 2] is the output's.
Initializer heads_in_pairs(const Shape& matrix) {
  if (matrix[0] != 2) return golden_kernel(matrix);
  const int64_t columns = matrix[1], times = columns / 4;
  std::vector<float> out;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t head = c / 2 / times;
      out.push_back(0.3f * static_cast<float>(i) - 0.2f * static_cast<float>(c % 2) + 0.5f * static_cast<float>(head));
    }
  return values_initializer(out);
}

// Two heads of keys and values for four of queries do what four heads do that are the same two by two.
TEST(GroupQueryAttention, SharesKeysAndValuesAmongNeighbouringHeads) {
  Graph graph;
  const Tensor query = feed(graph, "q", {1, 2, 2}), value = feed(graph, "v", {1, 3, 2});
  const auto all = [&](bool causal) {
    return multi_head_attention(
        query, value, {.num_heads = 4, .key_dim = 2, .kernel_initializer = &heads_in_pairs, .use_causal_mask = causal});
  };
  const auto grouped = [&](bool causal) {
    return GroupQueryAttention({.head_dim = 2,
                                .num_query_heads = 4,
                                .num_key_value_heads = 2,
                                .kernel_initializer = &heads_in_pairs,
                                .use_causal_mask = causal})({query, value});
  };
  Session session(graph, {grouped(false), all(false), grouped(true), all(true)});
  const auto y = session.run({{"q", golden_input(4)}, {"v", golden_input(6)}});
  golden::expect_near(y[0], y[1], 1e-6);
  golden::expect_near(y[2], y[3], 1e-6);
  EXPECT_GT(std::fabs(y[0][0] - y[2][0]), 1e-3);  // the mask counts
  const Variable* key = graph.find_variable("grouped_query_attention/key/kernel");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(graph.type(graph.inputs[static_cast<size_t>(key->input)].value).shape.vec(),
            (std::vector<int64_t>{2, 2, 2}));
}

TEST(GroupQueryAttention, SaysWhatDoesNotDivide) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2, 4});
  EXPECT_EQ(model_testing::error_of(
                [&] { group_query_attention(x, x, {.head_dim = 2, .num_query_heads = 3, .num_key_value_heads = 2}); }),
            "grouped_query_attention 'grouped_query_attention': num_query_heads is 3, expected a multiple of "
            "num_key_value_heads, 2");
}

}  // namespace
}  // namespace tenon
