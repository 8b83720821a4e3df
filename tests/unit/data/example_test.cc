#include "tenon/example.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace tenon {
namespace {

// Written by hand from the wire format: Example { features { feature { key "a" value { int64_list {
// value: [1, 300] packed } } } } }.
const std::string kPackedInts(
    "\x0a\x0e\x0a\x0c\x0a\x01"
    "a"
    "\x12\x07\x1a\x05\x0a\x03\x01\xac\x02",
    16);
// The same, unpacked: two fields 08.
const std::string kUnpackedInts(
    "\x0a\x0e\x0a\x0c\x0a\x01"
    "a"
    "\x12\x07\x1a\x05\x08\x01\x08\xac\x02",
    16);
// Floats 1.0 and -2.0, packed and unpacked.
const std::string kPackedFloats(
    "\x0a\x13\x0a\x11\x0a\x01"
    "f"
    "\x12\x0c\x12\x0a\x0a\x08\x00\x00\x80\x3f\x00\x00\x00\xc0",
    21);
const std::string kUnpackedFloats(
    "\x0a\x13\x0a\x11\x0a\x01"
    "f"
    "\x12\x0c\x12\x0a\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\xc0",
    21);
// Byte strings "xy" and "".
const std::string kByteStrings(
    "\x0a\x11\x0a\x0f\x0a\x03"
    "key"
    "\x12\x08\x0a\x06\x0a\x02"
    "xy"
    "\x0a\x00",
    19);

std::vector<int64_t> ints(const Feature& feature) {
  std::vector<int64_t> values(feature.size());
  feature.copy(values.data());
  return values;
}

std::vector<float> floats(const Feature& feature) {
  std::vector<float> values(feature.size());
  feature.copy(values.data());
  return values;
}

std::vector<std::string_view> strings(const Feature& feature) {
  std::vector<std::string_view> values(feature.size());
  feature.copy(values.data());
  return values;
}

TEST(Example, ReadsListsWrittenByHandPackedAndUnpacked) {
  Example example;
  for (const std::string& wire : {kPackedInts, kUnpackedInts}) {
    ASSERT_TRUE(example.parse(wire).ok()) << example.parse(wire).message();
    ASSERT_NE(example.find("a"), nullptr);
    EXPECT_EQ(example.find("a")->kind(), Feature::Kind::kInt64);
    EXPECT_EQ(ints(*example.find("a")), (std::vector<int64_t>{1, 300}));
    EXPECT_EQ(example.find("a")->int64(1), 300);
  }
  for (const std::string& wire : {kPackedFloats, kUnpackedFloats}) {
    ASSERT_TRUE(example.parse(wire).ok()) << example.parse(wire).message();
    EXPECT_EQ(floats(*example.find("f")), (std::vector<float>{1.0f, -2.0f}));
    EXPECT_EQ(example.find("f")->float32(1), -2.0f);
  }
  ASSERT_TRUE(example.parse(kByteStrings).ok()) << example.parse(kByteStrings).message();
  EXPECT_EQ(strings(*example.find("key")), (std::vector<std::string_view>{"xy", ""}));
  EXPECT_EQ(example.find("key")->bytes(), "xy");
  EXPECT_EQ(example.find("ke"), nullptr);
}

TEST(ExampleBuilder, WritesTheBytesWrittenByHand) {
  ExampleBuilder builder;
  builder.add_int64s("a", std::array<int64_t, 2>{1, 300});
  EXPECT_EQ(builder.finish(), kPackedInts);
  builder.add_floats("f", std::array<float, 2>{1.0f, -2.0f});
  EXPECT_EQ(builder.finish(), kPackedFloats);
  builder.add_bytes("key", std::array<std::string_view, 2>{"xy", ""});
  EXPECT_EQ(builder.finish(), kByteStrings);
}

TEST(ExampleBuilder, WhatItWritesIsReadBack) {
  const std::string large(100000, 'x');
  const std::array<int64_t, 5> extremes = {0, -1, std::numeric_limits<int64_t>::min(),
                                           std::numeric_limits<int64_t>::max(), 128};
  ExampleBuilder builder;
  builder.add_bytes("image/encoded", large);
  builder.add_int64("label", -7);
  builder.add_float("weight", 0.5f);
  builder.add_int64s("extremes", extremes);
  builder.add_floats("none", {});
  Example example;
  ASSERT_TRUE(example.parse(builder.finish()).ok());
  EXPECT_EQ(example.features().size(), 5u);
  EXPECT_EQ(*example.bytes("image/encoded"), large);
  EXPECT_EQ(*example.int64("label"), -7);
  EXPECT_EQ(*example.float32("weight"), 0.5f);
  EXPECT_EQ(ints(*example.find("extremes")), std::vector<int64_t>(extremes.begin(), extremes.end()));
  EXPECT_EQ(example.find("none")->size(), 0u);
  EXPECT_EQ(example.find("none")->kind(), Feature::Kind::kFloat);
}

TEST(Example, EmptyRecordHasNoFeatures) {
  Example example;
  ASSERT_TRUE(example.parse("").ok());
  EXPECT_TRUE(example.features().empty());
  ExampleBuilder builder;
  EXPECT_EQ(builder.finish(), std::string("\x0a\x00", 2));
  EXPECT_TRUE(example.parse(builder.finish()).ok());
}

TEST(Example, OfTwoFeaturesOfOneNameTheLastCounts) {
  ExampleBuilder builder;
  builder.add_int64("a", 1);
  builder.add_int64("a", 2);
  Example example;
  ASSERT_TRUE(example.parse(builder.finish()).ok());
  EXPECT_EQ(*example.int64("a"), 2);
}

TEST(Example, MergesRepeatedMessagesAsProtobufDoes) {
  Example example;
  // Two Features messages.
  const std::string two = kPackedInts + kPackedFloats;
  ASSERT_TRUE(example.parse(two).ok());
  EXPECT_EQ(example.features().size(), 2u);
  // Feature { int64_list [1], float_list [], int64_list [2], int64_list [3] }: the float list empties
  // the oneof, the last two lists are one.
  const std::string wire(
      "\x0a\x17\x0a\x15\x0a\x01"
      "a"
      "\x12\x10\x1a\x02\x08\x01\x12\x00\x1a\x03\x0a\x01\x02\x1a\x03\x0a\x01\x03",
      25);
  ASSERT_TRUE(example.parse(wire).ok()) << example.parse(wire).message();
  EXPECT_EQ(ints(*example.find("a")), (std::vector<int64_t>{2, 3}));
}

TEST(Example, PassesOverUnknownFieldsOfEveryWireType) {
  // Fields 15 as varint, fixed64, bytes, fixed32 before the known one.
  const std::string unknown(
      "\x78\x96\x01\x79"
      "12345678"
      "\x7a\x02zz\x7d"
      "1234",
      21);
  Example example;
  const std::string mixed = unknown + kPackedInts + unknown;
  ASSERT_TRUE(example.parse(mixed).ok());
  EXPECT_EQ(ints(*example.find("a")), (std::vector<int64_t>{1, 300}));
}

TEST(Example, NamesTheOffsetOfWhatIsBroken) {
  Example example;
  std::string bad = kPackedInts;
  bad[1] = 0x7f;  // Features longer than the record
  EXPECT_EQ(example.parse(bad).message(),
            "tf.train.Example at byte 0: expected a protobuf field that ends inside its message");
  bad = kPackedInts;
  bad[10] = 0x06;  // the list is longer than its feature
  EXPECT_EQ(example.parse(bad).message(),
            "tf.train.Example at byte 9: expected a protobuf field that ends inside its message");
  bad = kPackedInts;
  bad[15] = static_cast<char>(0x82);  // the last varint does not end
  EXPECT_EQ(example.parse(bad).message(),
            "tf.train.Example at byte 14: expected a protobuf field that ends inside its message");
  EXPECT_TRUE(example.features().empty());
  bad = kPackedFloats;
  bad[10] = 0x09, bad[12] = 0x07, bad[8] = 0x0b, bad[3] = 0x10, bad[1] = 0x12, bad.pop_back();
  EXPECT_EQ(example.parse(bad).message(),
            "tf.train.Example at byte 13: expected a protobuf field that ends inside its message");
}

TEST(Example, RefusesGroupsFieldZeroAndOverlongNumbers) {
  Example example;
  EXPECT_FALSE(example.parse(std::string("\x0b", 1)).ok());
  EXPECT_FALSE(example.parse(std::string("\x0c", 1)).ok());
  EXPECT_FALSE(example.parse(std::string("\x00\x01", 2)).ok());
  EXPECT_FALSE(example.parse(std::string("\x08") + std::string(10, '\xff') + '\x01').ok());
  EXPECT_FALSE(example.parse(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")).ok());
}

TEST(Example, NoFlipAndNoTruncationBreaksTheParser) {
  ExampleBuilder builder;
  builder.add_bytes("image", "some bytes");
  builder.add_int64s("ints", std::array<int64_t, 3>{1, -1, 1000});
  builder.add_floats("floats", std::array<float, 2>{1, 2});
  const std::string wire(builder.finish());
  Example example;
  for (size_t at = 0; at < wire.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      const std::string bad = wire.substr(0, at) + static_cast<char>(value) + wire.substr(at + 1);
      if (!example.parse(bad).ok()) continue;
      for (const Example::Named& named : example.features()) {
        if (named.feature.kind() == Feature::Kind::kBytes) strings(named.feature);
        if (named.feature.kind() == Feature::Kind::kFloat) floats(named.feature);
        if (named.feature.kind() == Feature::Kind::kInt64) ints(named.feature);
      }
    }
  for (size_t size = 1; size < wire.size(); ++size) EXPECT_FALSE(example.parse(wire.substr(0, size)).ok()) << size;
}

TEST(Example, MoreFeaturesThanTheLimitAreRefused) {
  std::string entries;
  for (size_t i = 0; i <= Example::kMaxFeatures; ++i) entries += std::string("\x0a\x00", 2);
  std::string wire("\x0a\x82\x80\x08", 4);  // 2 * 65537 = 131074
  Example example;
  EXPECT_EQ(example.parse(wire + entries).message(),
            "tf.train.Example at byte 131076: expected at most 65536 features, found more");
}

TEST(Example, SingleValueErrorsSayWhatTheRecordHas) {
  Example example;
  ASSERT_TRUE(example.parse(kPackedInts).ok());
  EXPECT_EQ(example.int64("b").status().message(), "tf.train.Example: expected a feature 'b', found a");
  EXPECT_EQ(example.int64("a").status().message(),
            "tf.train.Example: feature 'a': expected 1 value of integers, found 2 of integers");
  EXPECT_EQ(example.bytes("a").status().message(),
            "tf.train.Example: feature 'a': expected 1 value of bytes, found 2 of integers");
  ASSERT_TRUE(example.parse("").ok());
  EXPECT_EQ(example.int64("b").status().message(), "tf.train.Example: expected a feature 'b', found none");
}

}  // namespace
}  // namespace tenon
