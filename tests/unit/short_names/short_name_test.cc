// Names in columns that are too narrow for them.
#include "inspect/short_name.h"

#include <gtest/gtest.h>

namespace tenon::runner {
namespace {

const std::string kLong = "decoder/layer_4/self_attention/attention_output/dot_bias_act";  // of 60 characters

TEST(ShortName, IsTheNameWhereThereIsRoom) {
  EXPECT_EQ(short_name(kLong, 60), kLong);
  EXPECT_EQ(short_name("argmax", 6), "argmax");
}

TEST(ShortName, LeavesOutTheFewestComponents) {
  EXPECT_EQ(short_name(kLong, 59), "../layer_4/self_attention/attention_output/dot_bias_act");
  EXPECT_EQ(short_name(kLong, 54), "decoder/layer_4/../attention_output/dot_bias_act");
  EXPECT_EQ(short_name(kLong, 39), "../attention_output/dot_bias_act");
  EXPECT_EQ(short_name(kLong, 31), "decoder/layer_4/../dot_bias_act");
  EXPECT_EQ(short_name(kLong, 30), "decoder/../dot_bias_act");
}

TEST(ShortName, CutsTheLastComponentOnlyWhereItAloneIsTooLong) {
  EXPECT_EQ(short_name(kLong, 15), "../dot_bias_act");
  EXPECT_EQ(short_name(kLong, 14), "..dot_bias_act");
  EXPECT_EQ(short_name(kLong, 10), "..bias_act");
  EXPECT_EQ(short_name(kLong, 13), "..bias_act");
  EXPECT_EQ(short_name("softmax_cross_entropy_grad", 15), "..entropy_grad");
  EXPECT_EQ(short_name("softmax_cross_entropy_grad", 7), "..grad");
  EXPECT_EQ(short_name("convolutional", 7), "..ional");
}

TEST(ShortName, CutsNoCharacterInHalves) { EXPECT_EQ(short_name("gr\u00fc\u00dfe", 6), "..\u00dfe"); }

}  // namespace
}  // namespace tenon::runner
