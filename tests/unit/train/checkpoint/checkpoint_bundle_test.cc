// tests/golden/tensor_bundle was written by TensorFlow.
#include <bit>
#include <numbers>

#include "checkpoint_test_util.h"
#include "tenon/checkpoint.h"
#include "checkpoint/tensor_bundle_table.h"

namespace tenon {
namespace {

using testing::bytes_of;
using testing::Directory;
using testing::slurp;
using testing::spill;

std::string golden(const std::string& name) { return std::string(TENON_GOLDEN) + "/tensor_bundle/" + name; }

template <class T>
std::vector<T> read(const BundleReader& reader, const std::string& name) {
  std::vector<T> out(static_cast<size_t>(reader.find(name)->shape.elements()));
  EXPECT_EQ(reader.read(name, std::as_writable_bytes(std::span(out))).message(), "");
  return out;
}

const std::vector<std::string> kStrings = {"first", "", [] {
                                             std::string s;
                                             for (int i = 0; i < 100; ++i) s += std::string("\x00\xff", 2);
                                             return s;
                                           }()};

// What tests/golden/tensor_bundle/make.py saves.
Status write_golden(const std::string& prefix) {
  TENON_ASSIGN(BundleWriter out, BundleWriter::create(prefix));
  TENON_TRY(out.add("dense/bias", {DType::kF32, {2}}, bytes_of(std::vector<float>{1.5f, -2.25f})));
  TENON_TRY(out.add("dense/kernel", {DType::kF32, {3, 2}},
                    bytes_of(std::vector<float>{-0.5f, -0.25f, 0, 0.25f, 0.5f, 0.75f})));
  TENON_TRY(out.add("empty", {DType::kF32, {0, 4}}, std::span<const std::byte>()));
  TENON_TRY(out.add("flags", {DType::kBool, {3}}, bytes_of(std::vector<uint8_t>{1, 0, 1})));
  TENON_TRY(out.add_scalar("global_step", 30));
  TENON_TRY(out.add("half", {DType::kF16, {2}}, bytes_of(std::vector<uint16_t>{0x3800, 0xbc00})));
  TENON_TRY(out.add("ids", {DType::kI32, {2}}, bytes_of(std::vector<int32_t>{-7, 2147483647})));
  TENON_TRY(out.add("pixels", {DType::kU8, {1, 2}}, bytes_of(std::vector<uint8_t>{0, 255})));
  TENON_TRY(out.add_strings("tenon/input", {3}, kStrings));
  TENON_TRY(out.add("wide", {DType::kF64, {1}}, bytes_of(std::vector<double>{std::numbers::pi})));
  TENON_TRY(out.add("z/bf16", {DType::kBF16, {2}}, bytes_of(std::vector<uint16_t>{0x3f80, 0xc040})));
  return out.commit();
}

TEST(TensorBundle, WritesTheVeryBytesThatTensorFlowWrites) {
  Directory dir;
  ASSERT_EQ(write_golden(dir / "ckpt").message(), "");
  EXPECT_EQ(slurp(dir / "ckpt.index"), slurp(golden("types.index")));
  EXPECT_EQ(slurp(dir / "ckpt.data-00000-of-00001"), slurp(golden("types.data-00000-of-00001")));
}

// Several pieces and a rest: what is looked at is never held as a whole.
TEST(CheckpointFile, GivesTheValuesInPiecesInOrder) {
  Directory dir;
  std::vector<float> values((3 << 20) / sizeof(float) + 5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 0.5f;
  const auto file = [&](uint32_t damage) {
    BundleWriter out = BundleWriter::create(dir / "ckpt").take();
    check(out.add("w", {DType::kF32, {static_cast<int64_t>(values.size())}}, bytes_of(values)));
    check(out.commit());
    std::string data = slurp(dir / "ckpt.data-00000-of-00001");
    data.back() = static_cast<char>(data.back() ^ damage);
    spill(dir / "ckpt.data-00000-of-00001", data);
    return CheckpointFile::open(dir / "ckpt").take();
  };
  size_t most = 0;
  std::vector<double> seen;
  const auto take = [&](std::span<const double> piece) {
    most = std::max(most, piece.size());
    seen.insert(seen.end(), piece.begin(), piece.end());
  };
  EXPECT_EQ(file(0).read("w", take).message(), "");
  EXPECT_EQ(seen, std::vector<double>(values.begin(), values.end()));
  EXPECT_EQ(seen, file(0).read("w").take());
  EXPECT_LE(most, (1 << 20) / sizeof(float));
  EXPECT_NE(file(1).read("w", take).message().find("fails its checksum"), std::string::npos);
  EXPECT_EQ(file(0).read("v", take).message(), dir / "ckpt" + ": has no tensor 'v'");
}

TEST(TensorBundle, TheIndexStartsWithTheHeader) {
  Directory dir;
  ASSERT_EQ(write_golden(dir / "ckpt").message(), "");
  const auto table = decode_table(slurp(dir / "ckpt.index"), "f").take();
  EXPECT_EQ(table.front().first, "");
  EXPECT_EQ(table.front().second, std::string("\x08\x01\x1a\x02\x08\x01", 6));
}

TEST(TensorBundle, ReadsEveryTypeOfTensorFlow) {
  const BundleReader reader = BundleReader::open(golden("types")).take();
  EXPECT_EQ(reader.verify().message(), "");
  EXPECT_EQ(reader.entries().size(), 11u);
  EXPECT_EQ(reader.find("dense/kernel")->str(), "f32[3,2]");
  EXPECT_EQ(read<float>(reader, "dense/bias"), (std::vector<float>{1.5f, -2.25f}));
  EXPECT_EQ(read<float>(reader, "empty"), std::vector<float>{});
  EXPECT_EQ(read<uint8_t>(reader, "flags"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(reader.read_scalar("global_step").take(), 30);
  EXPECT_EQ(read<uint16_t>(reader, "half"), (std::vector<uint16_t>{0x3800, 0xbc00}));
  EXPECT_EQ(read<int32_t>(reader, "ids"), (std::vector<int32_t>{-7, 2147483647}));
  EXPECT_EQ(read<double>(reader, "wide"), std::vector<double>{std::numbers::pi});
  EXPECT_EQ(read<uint16_t>(reader, "z/bf16"), (std::vector<uint16_t>{0x3f80, 0xc040}));
  EXPECT_EQ(reader.read_strings("tenon/input").take(), kStrings);
  EXPECT_EQ(reader.find("tenon/input")->str(), "string[3]");
}

TEST(TensorBundle, ReadsSeveralDataFilesUnderOneIndex) {
  const BundleReader reader = BundleReader::open(golden("merged")).take();
  EXPECT_EQ(reader.entries().size(), 8u);
  EXPECT_EQ(reader.verify().message(), "");
  EXPECT_EQ(read<float>(reader, "layer07/kernel"), (std::vector<float>{7, 7}));
  EXPECT_EQ(read<float>(reader, "layer06/kernel"), (std::vector<float>{6, 6}));
}

TEST(TensorBundle, AMissingDataFileIsNamed) {
  Directory dir;
  for (const char* name : {"merged.index", "merged.data-00000-of-00002"})
    std::filesystem::copy(golden(name), dir / name);
  const std::string message = BundleReader::open(dir / "merged").status().message();
  EXPECT_NE(message.find(dir / "merged.data-00001-of-00002"), std::string::npos) << message;
}

TEST(TensorBundle, PiecesMakeTheSameFileAsTheWhole) {
  Directory dir;
  std::vector<float> values(600'000);  // more than two pieces
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Type type{DType::kF32, {600, 1000}};
  BundleWriter whole = BundleWriter::create(dir / "whole").take();
  ASSERT_TRUE(whole.add("x", type, bytes_of(values)).ok() && whole.commit().ok());
  BundleWriter pieces = BundleWriter::create(dir / "pieces").take();
  size_t at = 0;
  const auto fill = [&](std::span<std::byte> piece) {
    std::memcpy(piece.data(), reinterpret_cast<const char*>(values.data()) + at, piece.size());
    at += piece.size();
    return Status();
  };
  ASSERT_TRUE(pieces.add("x", type, fill).ok() && pieces.commit().ok());
  EXPECT_EQ(slurp(dir / "whole.index"), slurp(dir / "pieces.index"));
  EXPECT_EQ(read<float>(BundleReader::open(dir / "pieces").take(), "x"), values);
}

TEST(TensorBundle, ManyLongNamesNeedSeveralBlocks) {
  Directory dir;
  BundleWriter out = BundleWriter::create(dir / "ckpt").take();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(out.add_scalar(std::to_string(i) + std::string(100, 'x'), i).ok());
  ASSERT_TRUE(out.commit().ok());
  const BundleReader reader = BundleReader::open(dir / "ckpt").take();
  EXPECT_EQ(reader.entries().size(), 5000u);
  EXPECT_EQ(reader.read_scalar("4321" + std::string(100, 'x')).take(), 4321);
}

TEST(TensorBundle, MistakesOfTheCallerAreNamed) {
  Directory dir;
  const auto message = [&](auto add) {
    BundleWriter out = BundleWriter::create(dir / "ckpt").take();
    const std::string first = add(out).message();
    EXPECT_EQ(out.commit().message(), first);  // and nothing is written after one
    return first;
  };
  const std::string where = "checkpoint " + (dir / "ckpt") + ": ";
  EXPECT_EQ(message([](BundleWriter& out) {
              return out.add("x", {DType::kF32, {2}}, bytes_of(std::vector<float>(3)));
            }),
            where + "variable 'x' is f32[2] but has 12 bytes, expected 8");
  EXPECT_EQ(message([](BundleWriter& out) {
              (void)out.add_scalar("x", 1);
              return out.add_scalar("x", 1);
            }),
            where + "two variables are named 'x'");
  EXPECT_EQ(message([](BundleWriter& out) { return out.add_scalar("", 1); }), where + "a variable has no name");
  EXPECT_EQ(message([](BundleWriter& out) { return out.add_strings("x", {2}, kStrings); }),
            where + "variable 'x' is string[2] but has 3 values");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(TensorBundle, ReadingTheWrongThingIsNamed) {
  const BundleReader reader = BundleReader::open(golden("types")).take();
  std::vector<std::byte> four(4);
  EXPECT_NE(reader.read("nothing", four).message().find("has no variable 'nothing'"), std::string::npos);
  EXPECT_NE(reader.read("dense/bias", four).message().find("'dense/bias' is f32[2] of 8 bytes, expected 4"),
            std::string::npos);
  EXPECT_NE(reader.read("tenon/input", four).message().find("string[3]"), std::string::npos);
  EXPECT_NE(reader.read_strings("dense/bias").status().message().find("expected string"), std::string::npos);
  EXPECT_NE(reader.read_scalar("ids").status().message().find("'ids' is i32[2], expected i64[]"), std::string::npos);
}

TEST(TensorBundle, AMissingIndexIsNamed) {
  EXPECT_EQ(BundleReader::open("/nowhere/x").status().message(),
            "cannot open '/nowhere/x.index': No such file or directory");
}

// An index whose entry for 'x' is `entry`; its data file has 16 bytes.
std::string open_with_entry(const Directory& dir, const std::string& entry, const std::string& header = "\x08\x01") {
  spill(dir / "bad.index", encode_table({{"", header}, {"x", entry}}));
  spill(dir / "bad.data-00000-of-00001", std::string(16, '\0'));
  Result<BundleReader> reader = BundleReader::open(dir / "bad");
  return reader.ok() ? reader->verify().message() : reader.status().message();
}

TEST(TensorBundle, NoSizeInTheIndexIsBelieved) {
  Directory dir;
  using namespace std::string_literals;
  const auto has = [&](const std::string& entry, const std::string& expected) {
    const std::string message = open_with_entry(dir, entry);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  const std::string f4 = "\x08\x01\x12\x04\x12\x02\x08\x04"s;  // f32[4]
  has(f4 + "\x28\x10\x20\x01"s, "needs 16 bytes at offset 1, but the file has 16");
  has(f4 + "\x28\x10\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f"s, "needs 16 bytes at offset 9223372036854775807");
  has(f4 + "\x28\x10\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "at offset -1");
  has(f4 + "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "needs -1 bytes");
  has(f4 + "\x28\x0c"s, "'x' is f32[4] but has 12 bytes");
  has(f4 + "\x28\x10\x18\x01"s, "in shard 1 of 1");
  has("\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "dimension -1");
  has("\x08\x01\x12\x18\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40"s,
      "more elements than 2^60");
  has("\x08\x01\x12\x02\x18\x01"s, "rank is unknown");
  has("\x08\x01\x12\x12\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0"s, "rank 9");
  has("\x08\x07\x12\x06\x12\x04\x08\x80\x80\x40\x28\x10"s, "is string[1048576] but has 16 bytes");
  has("\xff\xff", "damaged entry");
  has(f4 + "\x28\x10"s, "'x' fails its checksum");
}

TEST(TensorBundle, TypesThatTenonDoesNotHaveAreOnlyListed) {
  Directory dir;
  using namespace std::string_literals;
  EXPECT_NE(open_with_entry(dir, "\x08\x08\x12\x04\x12\x02\x08\x02\x28\x10"s), "");  // only its checksum is wrong
  const BundleReader reader = BundleReader::open(dir / "bad").take();
  std::vector<std::byte> out(16);
  EXPECT_EQ(reader.read("x", out).code(), Code::kUnsupported);
  EXPECT_NE(reader.read("x", out).message().find("'x' is type 8[2]"), std::string::npos);
}

TEST(TensorBundle, HeadersOfOtherKindsAreRefused) {
  Directory dir;
  using namespace std::string_literals;
  EXPECT_NE(open_with_entry(dir, "", "\x08\x01\x10\x01"s).find("big-endian"), std::string::npos);
  EXPECT_NE(open_with_entry(dir, "", "\x08\x00"s).find("0 shards"), std::string::npos);
  EXPECT_NE(open_with_entry(dir, "", "\x08\x01\x1a\x02\x10\x02"s).find("reader of version 2"), std::string::npos);
}

}  // namespace
}  // namespace tenon
