// Constants that grow with the rows, or whose numbers do: what is exported makes them for any number of rows.
#include "export/fit/spread_constants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "export/model_file.h"
#include "tenon/export.h"
#include "tenon/exported_model.h"
#include "tenon/ops.h"
#include "tenon/strategy.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

using Numbers = std::vector<int64_t>;
using OfRows = std::function<Array(int64_t rows)>;  // [rows, 2], or what broadcasts to it

// y = x + the constant of as many rows, for x f32[rows, 2].
class Grown {
 public:
  explicit Grown(const OfRows& value, bool turned = false) {
    const TensorFunction function = [=](const Features& in) {
      const Tensor x = in["x"], c = cast(constant(value(x.dim(0))), DType::kF32);
      return Outputs{{"y", x + broadcast_to(turned ? transpose(c, {1, 0}) : c, x.shape())}};
    };
    Strategy strategy("cpu");
    made_ = export_function(strategy, function, {{"x", {DType::kF32, {2}}}}, directory_ / "made",
                            {.format = ExportFormat::kTenon});
  }

  std::string message() const { return made_.status().message(); }

  // What the constant is for so many rows, row by row.
  Numbers at(int64_t rows) const {
    const ExportedModel model = ExportedModel::open(*made_).take();
    Strategy strategy("cpu");
    check(model.load(strategy));
    const Results found = model.function(strategy)({{"x", Array({DType::kF32, {rows, 2}})}});
    Numbers out;
    for (const float v : found["y"].to<float>()) out.push_back(static_cast<int64_t>(v));
    return out;
  }

  bool has(const std::string& op) const {
    std::ifstream in(*made_ + "/assets.extra/tenon/model.pb", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const PortableGraph graph = parse_model_file(bytes).take().graph;
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const PortableNode& n) { return n.op == op; });
  }

 private:
  TemporaryDirectory directory_;
  Result<std::string> made_{Status()};
};

// [rows, 2] of number(row, column).
template <class T>
OfRows table(std::function<T(int64_t row, int64_t column, int64_t rows)> number) {
  return [=](int64_t rows) {
    std::vector<T> out;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 2; ++j) out.push_back(number(i, j, rows));
    return Array(out, Shape{rows, 2});
  };
}

TEST(SpreadConstants, CountTheRowsByAnIotaAlone) {
  const Grown grown(table<int64_t>([](int64_t i, int64_t, int64_t) { return i; }));
  ASSERT_EQ(grown.message(), "");
  EXPECT_EQ(grown.at(3), (Numbers{0, 0, 1, 1, 2, 2}));
  EXPECT_TRUE(grown.has("iota"));
  EXPECT_FALSE(grown.has("mul"));
}

TEST(SpreadConstants, HaveABaseAndAStepForEachPlace) {
  const Grown grown(table<int32_t>([](int64_t i, int64_t j, int64_t) { return j == 0 ? 7 + 3 * i : -5 * i; }));
  ASSERT_EQ(grown.message(), "");
  EXPECT_EQ(grown.at(1), (Numbers{7, 0}));
  EXPECT_EQ(grown.at(4), (Numbers{7, 0, 10, -5, 13, -10, 16, -15}));
}

TEST(SpreadConstants, DependOnHowManyRowsThereAre) {
  const Grown reversed(table<int64_t>([](int64_t i, int64_t j, int64_t rows) { return (rows - 1 - i) * (1 + j); }));
  ASSERT_EQ(reversed.message(), "");
  EXPECT_EQ(reversed.at(3), (Numbers{2, 4, 1, 2, 0, 0}));
  const Grown count([](int64_t rows) { return Array(2 * rows + 1); });
  ASSERT_EQ(count.message(), "");
  EXPECT_EQ(count.at(2), (Numbers{5, 5, 5, 5}));
  EXPECT_EQ(count.at(80), Numbers(160, 161));
  const Grown pair([](int64_t rows) { return Array(Numbers{rows, 4}); });
  ASSERT_EQ(pair.message(), "");
  EXPECT_EQ(pair.at(2), (Numbers{2, 4, 2, 4}));
}

TEST(SpreadConstants, GrowAlongAnyAxis) {
  const OfRows wide = [](int64_t rows) {
    std::vector<float> out;
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t i = 0; i < rows; ++i) out.push_back(static_cast<float>(10 * j + i));
    return Array(out, Shape{2, rows});
  };
  const Grown grown(wide, true);
  ASSERT_EQ(grown.message(), "");
  EXPECT_EQ(grown.at(3), (Numbers{0, 10, 1, 11, 2, 12}));
}

TEST(SpreadConstants, OfOneNumberAreFilledWithIt) {
  const Grown ones(table<uint8_t>([](int64_t, int64_t, int64_t) { return uint8_t{9}; }));
  ASSERT_EQ(ones.message(), "");
  EXPECT_FALSE(ones.has("iota"));
  EXPECT_EQ(ones.at(2), Numbers(4, 9));
  const Grown columns(table<float>([](int64_t, int64_t j, int64_t) { return j == 0 ? 3.0f : 4.0f; }));
  ASSERT_EQ(columns.message(), "");
  EXPECT_EQ(columns.at(2), (Numbers{3, 4, 3, 4}));
}

TEST(SpreadConstants, OfAnotherFormulaAreNamed) {
  const char* said = "its value depends on the number of rows in another way";
  const Grown squares(table<int64_t>([](int64_t i, int64_t, int64_t) { return i * i; }));
  EXPECT_NE(squares.message().find(said), std::string::npos) << squares.message();
  EXPECT_TRUE(squares.message().starts_with("constant 'constant': ")) << squares.message();
  const Grown tenths(table<float>([](int64_t i, int64_t, int64_t) { return 0.1f * static_cast<float>(i); }));
  EXPECT_NE(tenths.message().find(said), std::string::npos) << tenths.message();
  const Grown parity(table<int64_t>([](int64_t, int64_t, int64_t rows) { return rows % 4; }));
  EXPECT_NE(parity.message().find(said), std::string::npos) << parity.message();
  const Grown large(table<float>([](int64_t i, int64_t, int64_t) { return static_cast<float>(i << 20); }));
  EXPECT_NE(large.message().find(said), std::string::npos) << large.message();
}

}  // namespace
}  // namespace tenon
