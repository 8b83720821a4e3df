// The table of ops: its rows can be read, and say what the C headers say.
#include <gtest/gtest.h>

#include <set>

#include "tenon/abi/op.h"
#include "tenon/op/enumerations.h"
#include "tenon/op/names.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"

namespace tenon::op {
namespace {

TEST(Signature, IsReadAsItIsWritten) {
  const Signature s = parse("x:F w:N.. [bias:A] ; strides:list=1 groups:i64=1 act:enum(act) -> y [var]");
  ASSERT_EQ(s.operands.size(), 3u);
  EXPECT_EQ(s.operands[0].name, "x");
  EXPECT_EQ(s.operands[0].dtypes, 'F');
  EXPECT_FALSE(s.operands[0].optional);
  EXPECT_TRUE(s.operands[1].variadic);
  EXPECT_EQ(s.operands[2].name, "bias");
  EXPECT_TRUE(s.operands[2].optional);
  ASSERT_EQ(s.attributes.size(), 3u);
  EXPECT_FALSE(s.attribute("strides")->required);
  EXPECT_EQ(s.attribute("strides")->missing, "1");
  EXPECT_EQ(s.attribute("groups")->missing, "1");
  EXPECT_TRUE(s.attribute("act")->required);
  EXPECT_EQ(s.attribute("act")->type, "enum");
  EXPECT_EQ(s.attribute("act")->enumeration, "act");
  EXPECT_EQ(s.attribute("stride"), nullptr);
  ASSERT_EQ(s.results.size(), 2u);
  EXPECT_FALSE(s.results[0].optional);
  EXPECT_EQ(s.results[1].name, "var");
  EXPECT_TRUE(s.results[1].optional);
}

TEST(Signature, MayHaveNoOperandsOrAttributes) {
  EXPECT_EQ(parse("-> y").operands.size(), 0u);
  EXPECT_EQ(parse("; axis:i64 -> y").attributes.size(), 1u);
  EXPECT_EQ(parse("x:F -> y").attributes.size(), 0u);
}

// Names in `names`, separated by blanks, that no entry has.
template <class Entries>
std::set<std::string_view> strangers(std::string_view names, const Entries& entries) {
  std::set<std::string_view> left;
  for (const std::string_view name : words(names)) left.insert(name);
  for (const auto& entry : entries) left.erase(entry.name);
  return left;
}

TEST(Table, HasRowsThatCanBeRead) {
  std::set<std::string_view> names;
  for (const Row* row : kRows) {
    SCOPED_TRACE(row->name);
    EXPECT_TRUE(names.insert(row->name).second);
    EXPECT_GT(row->doc.size(), 20u);
    EXPECT_EQ(row->doc.back(), '.');
    const Signature s = parse(row->signature);
    EXPECT_FALSE(s.results.empty());
    EXPECT_EQ(strangers(row->units.whole, s.operands), std::set<std::string_view>());
    EXPECT_EQ(strangers(row->units.sums, s.results), std::set<std::string_view>());
    for (const Signature::Attribute& a : s.attributes) {
      const std::set<std::string_view> types = {"i64", "f64", "bool", "dtype", "enum", "bytes", "list"};
      EXPECT_TRUE(types.count(a.type)) << a.name;
      EXPECT_EQ(a.type == "enum", enumeration(a.enumeration) != nullptr) << a.name;
    }
  }
}

TEST(Table, FindsRowsByName) {
  EXPECT_EQ(find("erf")->tensorflow, "");
  EXPECT_EQ(find("add")->tensorflow, "AddV2");
  EXPECT_EQ(find("acme.softmax"), nullptr);
  static_assert(row("conv").category == Category::kConvolution);
}

TEST(Names, ArePlacesInSignatures) {
  EXPECT_EQ(conv_bias_act::x, 0);
  EXPECT_EQ(conv_bias_act::residual, 3);
  EXPECT_EQ(lstm::out::gates, 2);
  EXPECT_EQ(adam_update::vmax, 9);
}

TEST(Enumerations, HaveTheNumbersOfTheCHeader) {
  EXPECT_EQ(enumeration("compare")->text(TENON_COMPARE_EQ), "eq");
  EXPECT_EQ(enumeration("compare")->text(TENON_COMPARE_GE), "ge");
  EXPECT_EQ(enumeration("reduce")->text(TENON_REDUCE_SUM), "sum");
  EXPECT_EQ(enumeration("reduce")->text(TENON_REDUCE_MIN), "min");
  EXPECT_EQ(enumeration("extreme")->text(TENON_REDUCE_MAX), "max");
  EXPECT_EQ(enumeration("extreme")->text(TENON_REDUCE_MIN), "min");
  EXPECT_FALSE(enumeration("extreme")->has(TENON_REDUCE_SUM));
  EXPECT_EQ(enumeration("scatter")->text(TENON_SCATTER_SET), "set");
  EXPECT_EQ(enumeration("precision")->text(TENON_PRECISION_HIGHEST), "highest");
  EXPECT_EQ(enumeration("act")->text(TENON_ACT_LEAKY_RELU), "leaky_relu");
  EXPECT_EQ(enumeration("act")->text(TENON_ACT_GELU_TANH), "gelu_tanh");
  EXPECT_EQ(enumeration("act")->text(TENON_ACT_HARD_SWISH), "hard_swish");
  EXPECT_EQ(enumeration("resize")->text(TENON_RESIZE_BILINEAR), "bilinear");
  EXPECT_EQ(enumeration("coords")->text(TENON_COORDS_ALIGN_CORNERS), "align_corners");
  EXPECT_EQ(enumeration("fill")->text(TENON_FILL_WRAP), "wrap");
}

TEST(Enumerations, EndBehindTheLast) {
  for (const Enumeration& e : kEnumerations) {
    EXPECT_FALSE(e.has(e.first - 1)) << e.name;
    EXPECT_TRUE(e.has(e.first)) << e.name;
    EXPECT_FALSE(e.has(INT64_MAX)) << e.name;
  }
  EXPECT_FALSE(enumeration("act")->has(TENON_ACT_HARD_SWISH + 1));
  EXPECT_FALSE(enumeration("reduce")->has(TENON_REDUCE_MIN + 1));
}

}  // namespace
}  // namespace tenon::op
