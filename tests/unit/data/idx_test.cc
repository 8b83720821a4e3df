#include "data/convert/idx.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

// By the description of the format on MNIST's page: two images of 2x3.
const std::string kImages(
    "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x03"
    "abcdefghijkl",
    28);
// The same through Python's gzip.
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\x60\xe0\x60\x66\x60\x60\x60\x82\x62\xe6\xc4\xa4\xe4\x94\xd4\xb4\xf4"
    "\x8c\xcc\xac\xec\x1c\x00\x39\xcc\x2b\xe0\x1c\x00\x00\x00",
    42);

std::string idx_error(const std::string& bytes, int64_t max_bytes = 1 << 20) {
  return parse_idx(bytes, "f", max_bytes).status().message();
}

TEST(Idx, ReadsDimensionsAndElements) {
  const Result<IdxArray> array = parse_idx(kImages, "f");
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->dims, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(std::string(array->data.begin(), array->data.end()), "abcdefghijkl");
}

TEST(Idx, ReadsGzipByItsContentsNotItsName) {
  TemporaryDirectory directory;
  const Result<IdxArray> array = read_idx(directory.write("images", kGzip));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->dims, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(std::string(array->data.begin(), array->data.end()), "abcdefghijkl");
}

TEST(Idx, EveryTruncationSaysExpectedAndFound) {
  for (size_t size = 0; size < kImages.size(); ++size) EXPECT_FALSE(idx_error(kImages.substr(0, size)).empty()) << size;
  for (size_t size = 0; size < kGzip.size(); ++size) EXPECT_FALSE(idx_error(kGzip.substr(0, size)).empty()) << size;
  EXPECT_EQ(idx_error(""), "'f': expected an IDX header of 4 bytes, found 0");
  EXPECT_EQ(idx_error(kImages.substr(0, 9)), "'f': expected 12 bytes of IDX dimensions, found 5");
  EXPECT_EQ(idx_error(kImages.substr(0, 20)), "'f': expected 12 elements for dimensions 2x2x3, found 4");
  EXPECT_EQ(idx_error(kImages + "x"), "'f': expected the end after 12 elements, found more");
}

TEST(Idx, RefusesOtherFilesAndAbsurdDimensions) {
  EXPECT_EQ(idx_error("hello, world"),
            "'f': expected IDX bytes of 1 to 4 dimensions (magic 2049 to 2052), found magic 1751477356");
  const std::string floats(
      "\x00\x00\x0d\x01\x00\x00\x00\x01"
      "aaaa",
      12);
  EXPECT_EQ(idx_error(floats), "'f': expected IDX bytes of 1 to 4 dimensions (magic 2049 to 2052), found magic 3329");
  const std::string huge = std::string("\x00\x00\x08\x04", 4) + std::string(16, '\xff');
  EXPECT_EQ(idx_error(huge),
            "'f': expected at most 1048576 elements, found dimensions 4294967295x4294967295x4294967295x4294967295");
  // Allowed by the caller's limit, but not there: nothing near it is allocated.
  const std::string large(
      "\x00\x00\x08\x01\xff\xff\xff\xff"
      "a",
      9);
  EXPECT_EQ(idx_error(large, int64_t{1} << 40), "'f': expected 4294967295 elements for dimensions 4294967295, found 1");
}

TEST(Idx, NoFlippedByteBreaksTheReader) {
  for (const std::string& file : {kImages, kGzip})
    for (size_t at = 0; at < file.size(); ++at)
      for (int value = 0; value < 256; ++value)
        (void)parse_idx(file.substr(0, at) + static_cast<char>(value) + file.substr(at + 1), "f", 1 << 20);
}

}  // namespace
}  // namespace tenon
