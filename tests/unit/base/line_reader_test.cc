#include "base/file/line_reader.h"

#include <gtest/gtest.h>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  TemporaryDirectory directory;
  LineReader reader = LineReader::open(directory.write("text", text)).take();
  std::vector<std::string> out;
  for (std::string line; *reader.next(line);) out.push_back(line);
  EXPECT_EQ(reader.number(), static_cast<int64_t>(out.size()));
  return out;
}

using Lines = std::vector<std::string>;

TEST(LineReader, GivesLinesWithoutTheirEnds) {
  EXPECT_EQ(lines_of(""), Lines());
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of(std::string("a\0b\r\n", 5)), Lines{std::string("a\0b\r", 4)});
}

TEST(LineReader, PassesOverAByteOrderMark) {
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "a\n\xef\xbb\xbf"),
            (Lines{"a", "\xef\xbb\xbf"}));
  EXPECT_EQ(lines_of("\xef\xbb\xbf"), Lines());
}

TEST(LineReader, LinesMayCrossItsBuffer) {
  std::string text;
  Lines expected;
  for (size_t size : {262143, 262144, 1, 262145, 524287, 0}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(text), expected);
}

}  // namespace
}  // namespace tenon
