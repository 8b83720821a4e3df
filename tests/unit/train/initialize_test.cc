// The numbers that variables start with: bounds, moments, bits that depend on seed and name alone.
#include "step/variables/initialize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "unit/layer/golden.h"

namespace tenon {
namespace {

using golden::Numbers;

Numbers drawn(const Initializer& init, const Shape& shape, const std::string& name = "dense/kernel",
              uint64_t seed = 1) {
  std::vector<float> out(static_cast<size_t>(shape.elements()));
  const Status status = initialize(init, {DType::kF32, shape}, name, seed, std::as_writable_bytes(std::span(out)));
  EXPECT_TRUE(status.ok()) << status.message();
  return Numbers(out.begin(), out.end());
}

double mean(const Numbers& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

double deviation(const Numbers& v) {
  const double m = mean(v);
  double sum = 0;
  for (double x : v) sum += (x - m) * (x - m);
  return std::sqrt(sum / static_cast<double>(v.size()));
}

// Mean 0 and a standard deviation, each within four standard errors; kurtosis is the distribution's own.
void expect_moments(const Numbers& v, double expected, double kurtosis) {
  const double n = static_cast<double>(v.size());
  EXPECT_NEAR(mean(v), 0, 4 * expected / std::sqrt(n));
  EXPECT_NEAR(deviation(v), expected, 4 * expected * std::sqrt((kurtosis - 1) / (4 * n)));
}

double largest(const Numbers& v) {
  double out = 0;
  for (double x : v) out = std::max(out, std::fabs(x));
  return out;
}

constexpr double kUniformKurtosis = 1.8, kNormalKurtosis = 3, kTruncatedKurtosis = 2.3655;

struct Rules {
  Initializer uniform, normal;
  const char *limit, *deviation, *raw;
};

// The columns of tests/golden/initializers.csv, which Keras was seen to draw from.
TEST(Initialize, DrawsWithKerasLimitsAndDeviationsForEveryKernel) {
  for (const golden::Row& row : golden::rows("initializers.csv")) {
    if (row.at("layer").find("MultiHeadAttention") == 0) continue;
    SCOPED_TRACE(row.at("layer"));
    const Shape shape(golden::integers(row.at("shape")));
    const auto n = [&](const char* column) { return std::stod(row.at(column)); };
    const Rules all[] = {
        {glorot_uniform(shape), glorot_normal(shape), "glorot_uniform_limit", "glorot_normal_std", "glorot_normal_raw"},
        {he_uniform(shape), he_normal(shape), "he_uniform_limit", "he_normal_std", "he_normal_raw"},
        {lecun_uniform(shape), lecun_normal(shape), "lecun_uniform_limit", "lecun_normal_std", "lecun_normal_raw"}};
    for (const Rules& r : all) {
      SCOPED_TRACE(r.limit);
      const Numbers uniform = drawn(r.uniform, shape), normal = drawn(r.normal, shape);
      EXPECT_LE(largest(uniform), n(r.limit) * (1 + 1e-6));
      EXPECT_LE(largest(normal), 2 * n(r.raw) * (1 + 1e-6));
      expect_moments(uniform, n(r.limit) / std::sqrt(3.0), kUniformKurtosis);
      expect_moments(normal, n(r.deviation), kTruncatedKurtosis);
    }
  }
}

TEST(Initialize, FillsTheWholeIntervalEvenly) {
  std::vector<int> cells(20);
  for (double v : drawn(random_uniform(-1, 3), {40000})) {
    ASSERT_GE(v, -1);
    ASSERT_LE(v, 3);
    ++cells[static_cast<size_t>(std::min(19.0, (v + 1) * 5))];
  }
  for (int count : cells) EXPECT_NEAR(count, 2000, 4 * std::sqrt(2000 * 0.95));
}

TEST(Initialize, DrawsNormalNumbersWithNormalTails) {
  const Numbers v = drawn(random_normal(0, 2), {100000});
  expect_moments(v, 2, kNormalKurtosis);
  const double shares[] = {0.3173105, 0.0455003, 0.0026998};  // beyond 1, 2 and 3 deviations
  for (int k = 1; k <= 3; ++k) {
    double beyond = 0;
    for (double x : v) beyond += std::fabs(x) > 2 * k;
    const double expected = 1e5 * shares[k - 1];
    EXPECT_NEAR(beyond, expected, 4 * std::sqrt(expected)) << k;
  }
}

TEST(Initialize, DependsOnSeedAndNameAlone) {
  const Numbers v = drawn(glorot_uniform({8, 8}), {8, 8});
  drawn(random_normal(), {100}, "another", 7);  // what else is drawn in between changes nothing
  EXPECT_EQ(drawn(glorot_uniform({8, 8}), {8, 8}), v);
  EXPECT_NE(drawn(glorot_uniform({8, 8}), {8, 8}, "dense_1/kernel"), v);
  EXPECT_NE(drawn(glorot_uniform({8, 8}), {8, 8}, "dense/kernel", 2), v);
}

TEST(Initialize, GivesVariablesOfDifferentNamesUnrelatedNumbers) {
  const Numbers a = drawn(random_normal(0, 1), {10000}, "a"), b = drawn(random_normal(0, 1), {10000}, "b");
  double product = 0;
  for (size_t i = 0; i < a.size(); ++i) product += a[i] * b[i];
  EXPECT_NEAR(product / 10000, 0, 0.04);
}

// rows of the smaller side: their products are gain^2 or 0
void expect_orthogonal(const Shape& shape, double gain) {
  SCOPED_TRACE(shape.str());
  const Numbers v = drawn(orthogonal(gain), shape);
  const size_t cols = static_cast<size_t>(shape[-1]), rows = v.size() / cols, count = std::min(rows, cols);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      double sum = 0;
      if (rows < cols)
        for (size_t k = 0; k < cols; ++k) sum += v[i * cols + k] * v[j * cols + k];
      else
        for (size_t k = 0; k < rows; ++k) sum += v[k * cols + i] * v[k * cols + j];
      EXPECT_NEAR(sum, i == j ? gain * gain : 0, 1e-5);
    }
}

TEST(Initialize, MakesOrthogonalRowsOrColumns) {
  expect_orthogonal({8, 8}, 1);
  expect_orthogonal({12, 5}, 1);
  expect_orthogonal({5, 12}, 2);
  expect_orthogonal({3, 3, 4, 6}, 1);  // the leading axes are one
  expect_orthogonal({1, 4}, 1);
}

TEST(Initialize, StoresConstantsAndValuesInTheVariablesDType) {
  std::vector<int64_t> step(1, -1);
  ASSERT_TRUE(
      initialize(constant_initializer(7), {DType::kI64, {}}, "s", 0, std::as_writable_bytes(std::span(step))).ok());
  EXPECT_EQ(step[0], 7);
  std::vector<double> wide(2);
  ASSERT_TRUE(
      initialize(values_initializer({0.5f, -2}), {DType::kF64, {2}}, "w", 0, std::as_writable_bytes(std::span(wide)))
          .ok());
  EXPECT_EQ(wide, (std::vector<double>{0.5, -2}));
  std::vector<uint16_t> half(1);
  ASSERT_TRUE(initialize(ones(), {DType::kBF16, {1}}, "h", 0, std::as_writable_bytes(std::span(half))).ok());
  EXPECT_EQ(half[0], 0x3f80);
}

std::string error_of(const Initializer& init, const Type& type) {
  std::vector<std::byte> out(static_cast<size_t>(type.bytes()));
  return initialize(init, type, "dense/kernel", 0, out).message();
}

TEST(Initialize, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(values_initializer({1, 2, 3}), {DType::kF32, {2, 2}}),
            "variable 'dense/kernel': initializer has 3 values, expected 4");
  EXPECT_EQ(error_of(random_normal(), {DType::kI32, {2}}),
            "variable 'dense/kernel': random numbers for i32, expected a float dtype");
  EXPECT_EQ(error_of(orthogonal(), {DType::kF32, {4}}),
            "variable 'dense/kernel': orthogonal initializer for f32[4], expected rank 2 or more");
  EXPECT_EQ(error_of(orthogonal(), {DType::kI32, {4, 4}}),
            "variable 'dense/kernel': random numbers for i32, expected a float dtype");
  EXPECT_EQ(error_of(constant_initializer(-1), {DType::kU8, {2}}),
            "variable 'dense/kernel': initial value -1 is outside u8");
  EXPECT_EQ(error_of(values_initializer({7, 0x1p31f}), {DType::kI32, {2}}),
            "variable 'dense/kernel': initial value 2147483648 is outside i32");
  EXPECT_EQ(error_of(values_initializer({7, -0x1p31f}), {DType::kI32, {2}}), "");
  EXPECT_EQ(error_of(constant_initializer(std::nanf("")), {DType::kI64, {2}}),
            "variable 'dense/kernel': initial value nan is outside i64");
}

}  // namespace
}  // namespace tenon
