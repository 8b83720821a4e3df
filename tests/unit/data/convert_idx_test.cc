#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/process/thread_pool.h"
#include "tenon/convert.h"
#include "tenon/example.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

std::string u32_big(size_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

// Image i is four pixels i, i+1, i+2, i+3.
std::string images(size_t n) {
  std::string bytes = u32_big(0x803) + u32_big(n) + u32_big(2) + u32_big(2);
  for (size_t i = 0; i < n * 4; ++i) bytes += static_cast<char>(i / 4 + i % 4);
  return bytes;
}

std::string labels(const std::string& values) { return u32_big(0x801) + u32_big(values.size()) + values; }

struct Digits {
  TemporaryDirectory directory;
  ConvertIdxOptions options;

  Digits() {
    directory.write("train-images-idx3-ubyte", images(6));
    directory.write("train-labels-idx1-ubyte", labels({0, 1, 2, 0, 1, 2}));
    directory.write("t10k-images-idx3-ubyte", images(2));
    directory.write("t10k-labels-idx1-ubyte", labels({2, 0}));
    options.input = directory.path();
    options.output = directory / "records";
  }
  Result<ConvertSummary> convert() {
    ThreadPool pool(2);
    return convert_idx(options, pool);
  }
  std::string error() { return convert().status().message(); }
};

TEST(ConvertIdx, WritesRawPixelsAndLabelsFromOne) {
  Digits digits;
  const Result<ConvertSummary> summary = digits.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->splits[0].records, 6);
  EXPECT_EQ(summary->labels, (std::vector<std::string>{"0", "1", "2"}));
  Result<RecordReader> reader = RecordReader::open(digits.options.output + "/train-00000-of-00001");
  std::string_view record;
  Example example;
  std::set<int> seen;
  while (reader->next(&record).take()) {
    check(example.parse(record));
    const std::string pixels(*example.bytes("image/encoded"));
    ASSERT_EQ(pixels.size(), 4u);
    const int i = pixels[0];
    EXPECT_EQ(pixels,
              std::string({pixels[0], static_cast<char>(i + 1), static_cast<char>(i + 2), static_cast<char>(i + 3)}));
    EXPECT_EQ(*example.int64("image/class/label"), i % 3 + 1);
    EXPECT_EQ(*example.bytes("image/class/synset"), std::to_string(i % 3));
    EXPECT_EQ(*example.bytes("image/format"), "RAW");
    EXPECT_EQ(*example.int64("image/height"), 2);
    EXPECT_EQ(*example.int64("image/width"), 2);
    EXPECT_EQ(*example.int64("image/channels"), 1);
    seen.insert(i);
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(
      digits.directory.read("records/info.json"),
      "{\"classes\": 3, \"height\": 2, \"width\": 2, \"channels\": 1, \"train\": {\"records\": 6, \"shards\": 1}, "
      "\"validation\": {\"records\": 2, \"shards\": 1}}\n");
}

TEST(ConvertIdx, TakesNamesFromALabelsFile) {
  Digits digits;
  digits.directory.write("labels.txt", "ankle boot\nbag\ncoat\n");
  const Result<ConvertSummary> summary = digits.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(digits.directory.read("records/labels.txt"), "ankle boot\nbag\ncoat\n");
}

TEST(ConvertIdx, BadInputsAreNamedAndLeaveNothing) {
  const auto expect = [](const std::string& file, const std::string& contents, const std::string& message) {
    Digits digits;
    digits.directory.write(file, contents);
    EXPECT_EQ(digits.error(),
              message.substr(0, message.find('@')) + digits.directory.path() + message.substr(message.find('@') + 1));
    EXPECT_FALSE(digits.directory.has("records"));
  };
  expect("train-labels-idx1-ubyte", labels({0, 1}), "'@/train-labels-idx1-ubyte': expected 6 labels, found 2");
  expect("train-labels-idx1-ubyte", labels({0, 0, 0, 0, 0, 0}),
         "'@/train-labels-idx1-ubyte': expected at least 2 classes, found 1");
  expect("t10k-labels-idx1-ubyte", labels({0, 9}), "'@/t10k-labels-idx1-ubyte' label 1: expected 0 to 2, found 9");
  expect("train-images-idx3-ubyte", labels({0, 1}),
         "'@/train-images-idx3-ubyte': expected images of n x height x width, found 2");
  expect("train-images-idx3-ubyte", images(6).substr(0, 20),
         "'@/train-images-idx3-ubyte': expected 24 elements for dimensions 6x2x2, found 4");
  Digits digits;
  std::filesystem::remove(digits.directory / "t10k-images-idx3-ubyte");
  EXPECT_EQ(digits.error(), "input '" + digits.options.input +
                                "': expected t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz, found neither");
}

}  // namespace
}  // namespace tenon
