// The format is that of https://huggingface.co/docs/safetensors: files are spelled out here byte by byte.
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

// u64 size of the header, little-endian | header | buffer.
std::string file_of(const std::string& header, const std::string& buffer) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(header.size() >> shift & 0xff);
  return out + header + buffer;
}

std::string zeros(size_t bytes) { return std::string(bytes, '\0'); }

class Safetensors : public ::testing::Test {
 protected:
  Result<SafetensorsReader> open(const std::string& bytes) const {
    return SafetensorsReader::open(directory_.write("a.safetensors", bytes));
  }
  // What is said of a file with this header, without its name and what is common to all.
  std::string refusal(const std::string& header, const std::string& buffer) const {
    return without_start(open(file_of(header, buffer)).status().message());
  }
  std::string without_start(const std::string& message) const {
    const std::string start = directory_ / "a.safetensors: not a valid safetensors file: ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
  TemporaryDirectory directory_;
};

TEST_F(Safetensors, ReadsAFileThatWasMadeByHand) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[8,16]}}   )";
  const std::string one_and_minus_two("\0\0\x80\x3f\0\0\0\xc0", 8), seven("\7\0\0\0\0\0\0\0", 8);
  Result<SafetensorsReader> reader = open(file_of(header, one_and_minus_two + seven));
  ASSERT_EQ(reader.status().message(), "");
  EXPECT_EQ(reader->metadata().at("format"), "pt");
  ASSERT_EQ(reader->entries().size(), 2u);
  EXPECT_EQ(reader->entries().at("w").str(), "f32[2,1]");
  EXPECT_EQ(reader->entries().at("n").str(), "i64[]");
  float w[2];
  ASSERT_TRUE(reader->read("w", std::as_writable_bytes(std::span(w))).ok());
  EXPECT_EQ(w[0], 1.0f);
  EXPECT_EQ(w[1], -2.0f);
  int64_t n;
  ASSERT_TRUE(reader->read("n", std::as_writable_bytes(std::span(&n, 1))).ok());
  EXPECT_EQ(n, 7);
}

TEST_F(Safetensors, ReadsEveryTypeAndAnEmptyTensor) {
  const std::string header =
      R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"I32","shape":[1],"data_offsets":[8,12]},)"
      R"("c":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},"d":{"dtype":"F16","shape":[1],"data_offsets":[14,16]},)"
      R"("e":{"dtype":"U8","shape":[1],"data_offsets":[16,17]},"f":{"dtype":"BOOL","shape":[1],"data_offsets":[17,18]},)"
      R"("g":{"dtype":"F32","shape":[0,5],"data_offsets":[18,18]}})";
  Result<SafetensorsReader> reader = open(file_of(header, zeros(17) + "\1"));
  ASSERT_EQ(reader.status().message(), "");
  std::string types;
  for (const auto& [name, entry] : reader->entries()) types += entry.str() + " ";
  EXPECT_EQ(types, "f64[1] i32[1] bf16[1] f16[1] u8[1] bool[1] f32[0,5] ");
}

TEST_F(Safetensors, TypesThatTenonDoesNotHaveAreNamedWhenTheyAreRead) {
  Result<SafetensorsReader> reader =
      open(file_of(R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", zeros(2)));
  ASSERT_EQ(reader.status().message(), "");
  std::byte bytes[2];
  EXPECT_EQ(reader->read("a", bytes).message(),
            (directory_ / "a.safetensors: tensor 'a' is F8_E4M3[2], which is not a type of Tenon"));
}

TEST_F(Safetensors, ABoolIsZeroOrOne) {
  Result<SafetensorsReader> reader = open(file_of(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\2"));
  ASSERT_EQ(reader.status().message(), "");
  std::byte b;
  EXPECT_EQ(reader->read("a", std::span(&b, 1)).message(),
            (directory_ / "a.safetensors: tensor 'a' holds a bool that is neither 0 nor 1"));
}

TEST_F(Safetensors, RefusesSizesThatTheFileDoesNotHave) {
  EXPECT_EQ(without_start(open("1234").status().message()), "it has 4 bytes, expected 8 or more");
  EXPECT_EQ(without_start(open(std::string("\3\0\0\0\0\0\0\0{}", 10)).status().message()),
            "its header has 3 bytes, and the file 10");
  EXPECT_EQ(without_start(open(std::string(8, '\xff') + "{}").status().message()),
            "its header has 18446744073709551615 bytes, and the file 10");
}

TEST_F(Safetensors, RefusesAHeaderThatIsNotTheFormats) {
  EXPECT_EQ(refusal(" {}", ""), "its header is no JSON object");
  EXPECT_EQ(refusal("[]", ""), "its header is no JSON object");
  EXPECT_EQ(refusal("{", ""), "the header is no valid JSON at its byte 2: it ends in the middle");
  EXPECT_EQ(refusal("{}{}", ""), "the header is no valid JSON at its byte 3");
  EXPECT_EQ(refusal(R"({"a":1})", ""), "'a' is a number");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[1]}})", ""),
            "'a' has dtype, shape, expected data_offsets, dtype, shape");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"b":"c"}})", zeros(4)),
            "'b' of 'a' is a text");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", zeros(4)),
            "'a' has dtype 'F33', which the format does not have");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", zeros(4)),
            "'shape' of 'a' is a negative number");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", zeros(4)),
            "'shape' of 'a' is a number with a fraction");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":1}})", ""), "'a' of '__metadata__' is a number");
}

TEST_F(Safetensors, RefusesNamesThatStandTwice) {
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(refusal("{" + a + "," + a + "}", zeros(1)), "two tensors are named 'a'");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", zeros(1)),
            "'dtype' of 'a' stands there twice");
  EXPECT_EQ(refusal(R"({"__metadata__":{},"__metadata__":{}})", ""), "two tensors are named '__metadata__'");
}

TEST_F(Safetensors, RefusesWhatIsNestedDeeper) {
  EXPECT_EQ(refusal(R"({"a":{"dtype":{"a":1}}})", ""), "'dtype' of 'a' is an object");
  EXPECT_EQ(refusal(R"({"a":{"shape":[[1]]}})", ""), "'shape' of 'a' is a list");
  EXPECT_EQ(refusal("{\"a\":" + std::string(100000, '['), ""), "'a' is a list");
}

TEST_F(Safetensors, RefusesHolesAndOverlaps) {
  const auto two = [&](const std::string& first, const std::string& second) {
    return "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + first +
           "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + second + "}}";
  };
  EXPECT_EQ(refusal(two("[0,2]", "[3,5]"), zeros(5)),
            "'b' begins at byte 3 of the buffer, expected 2: there is a hole");
  EXPECT_EQ(refusal(two("[0,2]", "[1,3]"), zeros(3)),
            "'b' begins at byte 1 of the buffer, expected 2: there is an overlap");
  EXPECT_EQ(refusal(two("[0,2]", "[0,2]"), zeros(2)),
            "'b' begins at byte 0 of the buffer, expected 2: there is an overlap");
  EXPECT_EQ(refusal(two("[1,3]", "[3,5]"), zeros(5)),
            "'a' begins at byte 1 of the buffer, expected 0: there is a hole");
  EXPECT_EQ(refusal(two("[0,2]", "[2,4]"), zeros(3)), "'b' ends at byte 4 of the buffer, which has 3");
  EXPECT_EQ(refusal(two("[0,2]", "[2,4]"), zeros(5)), "its buffer has 5 bytes, its tensors 4");
}

TEST_F(Safetensors, RefusesShapesThatDoNotFit) {
  const auto f32 = [&](const std::string& shape, const std::string& offsets) {
    return "{\"a\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
  };
  EXPECT_EQ(refusal(f32("[2]", "[0,4]"), zeros(4)), "'a' is F32[2] but has 4 bytes");
  EXPECT_EQ(refusal(f32("[1]", "[4,0]"), zeros(4)), "'a' has data_offsets [4, 0], expected a begin and an end");
  EXPECT_EQ(refusal(f32("[1]", "[0]"), zeros(4)), "'a' has data_offsets [0], expected a begin and an end");
  // 2^62 elements of 4 bytes are 2^64 bytes, which 64 bits cannot tell from none.
  EXPECT_EQ(refusal(f32("[2147483648,2147483648]", "[0,0]"), ""), "'a' is F32[2147483648,2147483648] but has 0 bytes");
  EXPECT_EQ(refusal(f32("[0,4611686018427387904]", "[0,0]"), ""), "'a' is F32[0,4611686018427387904] but has 0 bytes");
  EXPECT_EQ(refusal(f32("[18446744073709551615]", "[0,4]"), zeros(4)),
            "'shape' of 'a' is a number of more than 63 bits");
  EXPECT_EQ(refusal(f32("[1,1,1,1,1,1,1,1,1]", "[0,4]"), zeros(4)), "'shape' of 'a' has more than 8 numbers");
}

TEST_F(Safetensors, WritesWhatTheFormatAsksForAndReadsItBack) {
  const auto give = [](std::vector<uint8_t> bytes) {
    return
        [bytes](std::span<std::byte> piece) { return std::memcpy(piece.data(), bytes.data(), piece.size()), Status(); };
  };
  const std::string path = directory_ / "b.safetensors";
  const Status written = write_safetensors(path, {{"small", {DType::kBF16, {1}}, give({0x80, 0x3f})},
                                                  {"large", {DType::kF64, {}}, give({1, 2, 3, 4, 5, 6, 7, 8})}});
  ASSERT_EQ(written.message(), "");
  const std::string header =
      R"({"large":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"small":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(directory_.read("b.safetensors"), file_of(padded, "\1\2\3\4\5\6\7\x8\x80\x3f"));
  Result<SafetensorsReader> reader = SafetensorsReader::open(path);
  ASSERT_EQ(reader.status().message(), "");
  EXPECT_EQ(reader->entries().at("small").offset, 8);
}

TEST_F(Safetensors, EveryTypeComesBackBitByBit) {
  const std::string path = directory_ / "b.safetensors";
  std::vector<TensorSource> tensors;
  std::map<std::string, std::vector<std::byte>> expected;
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    const std::string name = "of " + std::string(dtype_name(dtype));
    const Type type{dtype, {3}};
    std::vector<std::byte>& bytes = expected[name];
    for (int64_t i = 0; i < type.bytes(); ++i)
      bytes.push_back(static_cast<std::byte>(dtype == DType::kBool ? i % 2 : 37 * i + 5));
    tensors.push_back({name, type, [&bytes](std::span<std::byte> piece) {
                         return std::memcpy(piece.data(), bytes.data(), piece.size()), Status();
                       }});
  }
  ASSERT_EQ(write_safetensors(path, tensors, {{"a \"key\"", "line\n"}}).message(), "");
  Result<SafetensorsReader> reader = SafetensorsReader::open(path);
  ASSERT_EQ(reader.status().message(), "");
  EXPECT_EQ(reader->metadata().at("a \"key\""), "line\n");
  for (const auto& [name, bytes] : expected) {
    std::vector<std::byte> found(bytes.size());
    ASSERT_EQ(reader->read(name, found).message(), "");
    EXPECT_TRUE(found == bytes) << name;
  }
}

TEST_F(Safetensors, WhatIsWrittenIsThereWholeOrNotAtAll) {
  const std::string path = directory_.write("b.safetensors", "what was there");
  const FillBytes fails = [](std::span<std::byte>) { return Status(Code::kDeviceLost, "gone"); };
  EXPECT_EQ(write_safetensors(path, {{"a", {DType::kF32, {2}}, fails}}).message(), "gone");
  EXPECT_EQ(directory_.read("b.safetensors"), "what was there");
  EXPECT_EQ(directory_.entries(), 1u);
}

TEST_F(Safetensors, RefusesToWriteANameTwice) {
  const FillBytes none = [](std::span<std::byte>) { return Status(); };
  const std::string path = directory_ / "b.safetensors";
  EXPECT_EQ(write_safetensors(path, {{"a", {DType::kF32, {}}, none}, {"a", {DType::kF32, {}}, none}}).message(),
            path + ": a second tensor is named 'a'");
  EXPECT_FALSE(directory_.has("b.safetensors"));
}

}  // namespace
}  // namespace tenon
