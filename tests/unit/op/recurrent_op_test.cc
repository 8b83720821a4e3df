// LSTM and GRU against Keras's values, hand calculation and differences.
#include <cmath>
#include <fstream>
#include <sstream>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

Build run_lstm() {
  return [](const Tensors& x) {
    const Recurrent r = lstm(x[0], x[1], x[2], x[3], x[4], x[5]);
    return Tensors{r.y, r.c, r.gates};
  };
}
Build run_gru() {
  return [](const Tensors& x) {
    const Recurrent r = gru(x[0], x[1], x[2], x[3], x[4], x[5]);
    return Tensors{r.y, r.gates};
  };
}
// Without the gates, which nobody differentiates in a model.
Build without_gates(const Build& build) {
  return [build](const Tensors& x) {
    Tensors r = build(x);
    r.pop_back();
    return r;
  };
}

// The inputs, kernels and biases that layer_values.csv was made with.
Feed values_x(const Shape& shape) {
  Doubles v(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = (static_cast<double>(7 * i % 11) - 5) / 4;
  return f64(shape, v);
}
Feed values_w(const Shape& shape) {
  Doubles v(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = (static_cast<double>(5 * i % 7) - 3) / 8;
  return f64(shape, v);
}
Feed values_b(int64_t n, int64_t from = 0) {
  Doubles v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = (static_cast<double>(3 * (i + static_cast<size_t>(from)) % 5) - 2) / 10;
  return f64({n}, v);
}
Feed zeros(const Shape& shape) { return f64(shape, Doubles(static_cast<size_t>(shape.elements()), 0)); }

Doubles golden(const std::string& key) {
  std::ifstream file(TENON_GOLDEN "/layer_values.csv");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ",", 0) != 0) continue;
    std::istringstream rest(line.substr(line.rfind(',') + 1));
    Doubles v;
    for (double x; rest >> x;) v.push_back(x);
    return v;
  }
  return {};
}

TEST(Lstm, HasKerassValues) {
  const std::vector<Feed> feeds{values_x({1, 3, 2}), zeros({1, 2}),    zeros({1, 2}),
                                values_w({2, 8}),    values_w({2, 8}), values_b(8)};
  const auto y = evaluate(run_lstm(), feeds);
  expect_near(y[0].values, golden("\"LSTM(2, return_sequences=True)\""), 1e-7);
  const Doubles last(y[0].values.end() - 2, y[0].values.end());
  expect_near(last, golden("LSTM(2)"), 1e-7);
}

TEST(Gru, HasKerassValues) {
  const std::vector<Feed> feeds{values_x({1, 3, 2}), zeros({1, 2}), values_w({2, 6}),
                                values_w({2, 6}),    values_b(6),   values_b(6, 6)};
  const Doubles y = value(run_gru(), feeds);
  expect_near(Doubles(y.end() - 2, y.end()), golden("GRU(2)"), 1e-7);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Lstm, GivesTheGatesAndTheLastCell) {
  // One unit, no recurrence: gates of x w + b with x = 1.
  const auto y =
      evaluate(run_lstm(), {f64({1, 1, 1}, {1}), f64({1, 1}, {0}), f64({1, 1}, {2}), f64({1, 4}, {0.1, 0.2, 0.3, 0.4}),
                            f64({1, 4}, {0, 0, 0, 0}), f64({4}, {0, 1, 0, 0})});
  const Doubles gates{sigmoid(0.1), sigmoid(1.2), std::tanh(0.3), sigmoid(0.4)};
  expect_near(y[2].values, gates);
  const double c = gates[1] * 2 + gates[0] * gates[2];
  expect_near(y[1].values, {c});
  expect_near(y[0].values, {gates[3] * std::tanh(c)});
}

TEST(Gru, GivesTheGatesAndTheResetSum) {
  const auto y = evaluate(run_gru(), {f64({1, 1, 1}, {1}), f64({1, 1}, {2}), f64({1, 3}, {0.1, 0.2, 0.3}),
                                      f64({1, 3}, {0.5, -0.5, 1}), f64({3}, {0, 0, 0.25}), f64({3}, {0.5, 0, -1})});
  const double z = sigmoid(0.1 + 1 + 0.5), r = sigmoid(0.2 - 1), q = 2.0 - 1, n = std::tanh(0.3 + 0.25 + r * q);
  expect_near(y[1].values, {z, r, n, q});
  expect_near(y[0].values, {z * 2 + (1 - z) * n});
}

TEST(Lstm, GoesOnFromItsStates) {
  const int64_t B = 2, U = 3;
  const std::vector<Feed> feeds{noise({B, 4, 2}, 1),  noise({B, U}, 2),     noise({B, U}, 3),
                                noise({2, 4 * U}, 4), noise({U, 4 * U}, 5), noise({4 * U}, 6)};
  const auto whole = evaluate(run_lstm(), feeds);
  const auto halves = evaluate(
      [&](const Tensors& x) {
        const Tensor first = slice(x[0], {0, 0, 0}, {B, 2, 2}, {}), rest = slice(x[0], {0, 2, 0}, {B, 4, 2}, {});
        const Recurrent a = lstm(first, x[1], x[2], x[3], x[4], x[5]);
        const Recurrent b = lstm(rest, reshape(slice(a.y, {0, 1, 0}, {B, 2, U}, {}), {B, U}), a.c, x[3], x[4], x[5]);
        return Tensors{concat({a.y, b.y}, 1), b.c};
      },
      feeds);
  expect_near(halves[0].values, whole[0].values);
  expect_near(halves[1].values, whole[1].values);
}

TEST(Lstm, HasGradients) {
  for (int64_t T : {1, 3}) {
    const std::vector<Feed> feeds{noise({2, T, 2}, 1), noise({2, 2}, 2), noise({2, 2}, 3),
                                  noise({2, 8}, 4),    noise({2, 8}, 5), noise({8}, 6)};
    expect_gradients(without_gates(run_lstm()), feeds);
    expect_gradients([](const Tensors& x) { return Tensors{run_lstm()(x)[1]}; }, feeds);  // of the cell alone
  }
}

TEST(Gru, HasGradients) {
  for (int64_t T : {1, 3})
    expect_gradients(without_gates(run_gru()), {noise({2, T, 2}, 1), noise({2, 2}, 2), noise({2, 6}, 4),
                                                noise({2, 6}, 5), noise({6}, 6), noise({6}, 7)});
}

TEST(Lstm, KeepsItsTypesInEveryDtype) {
  const std::vector<Type> types{{DType::kF64, {2, 3, 2}}, {DType::kF64, {2, 3}},  {DType::kF64, {2, 3}},
                                {DType::kF64, {2, 12}},   {DType::kF64, {3, 12}}, {DType::kF64, {12}}};
  expect_types_survive_lowering(run_lstm(), types);
  expect_types_survive_lowering([](const Tensors& x) { return gradients(reduce_sum(run_lstm()(x)[0]), x); }, types);
}

TEST(Gru, KeepsItsTypesInEveryDtype) {
  const std::vector<Type> types{{DType::kF64, {2, 3, 2}}, {DType::kF64, {2, 3}}, {DType::kF64, {2, 9}},
                                {DType::kF64, {3, 9}},    {DType::kF64, {9}},    {DType::kF64, {9}}};
  expect_types_survive_lowering(run_gru(), types);
  expect_types_survive_lowering([](const Tensors& x) { return gradients(reduce_sum(run_gru()(x)[0]), x); }, types);
}

TEST(Gru, NamesTheOperandThatDoesNotFit) {
  const auto error = [](const Shape& w, const Shape& bias) {
    return error_of([](const Tensors& x) { return Tensors{gru(x[0], x[1], x[2], x[3], x[4], x[4]).y}; },
                    {{DType::kF32, {2, 5, 3}},
                     {DType::kF32, {2, 4}},
                     {DType::kF32, w},
                     {DType::kF32, {4, 12}},
                     {DType::kF32, bias}});
  };
  EXPECT_EQ(error({3, 16}, {12}), "gru 'gru': operand 2 'w' has shape [3,16], expected [3,12]");
  EXPECT_EQ(error({3, 12}, {2, 12}), "gru 'gru': operand 4 'b' has shape [2,12], expected [12]");
}

}  // namespace
}  // namespace tenon::op_testing
