// Files of comma-separated values, whole.
#include "tenon/csv_file.h"

#include <gtest/gtest.h>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

class CsvFile : public testing::Test {
 protected:
  std::vector<CsvRow> rows(const std::string& text) { return read_csv_file(directory_.write("t.csv", text)).take(); }
  std::string error(const std::string& text) {
    std::string message = read_csv_file(directory_.write("t.csv", text)).status().message();
    if (message.starts_with(directory_.path() + "/")) message.erase(0, directory_.path().size() + 1);
    return message;
  }
  TemporaryDirectory directory_;
};

TEST_F(CsvFile, HasFieldsAsTheyStandThere) {
  const std::vector<CsvRow> found = rows("\xef\xbb\xbfrow, a b ,\"c,\"\"d\"\"\n\"\r\n\n1,,x\"y\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].fields, (std::vector<std::string>{"row", " a b ", "c,\"d\"\n"}));
  EXPECT_EQ(found[1].fields, (std::vector<std::string>{"1", "", "x\"y"}));
  EXPECT_EQ(found[0].line, 1);
  EXPECT_EQ(found[1].line, 4);
  EXPECT_TRUE(rows("").empty());
}

// A probability of each of many classes.
TEST_F(CsvFile, HasWideRows) {
  std::string text = "0";
  for (int i = 1; i < 30000; ++i) text += "," + std::to_string(i);
  EXPECT_EQ(rows(text)[0].fields.size(), 30000u);
}

TEST_F(CsvFile, MistakesAreNamed) {
  EXPECT_EQ(error("a\n\"b\n"), "t.csv:2: expected a closing quote, found the end of the file");
  EXPECT_EQ(error("a\n\"b\"c\n"),
            "t.csv:2: expected a comma or the end of the line after a closing quote, found 'c'");
  EXPECT_EQ(error(std::string(size_t{1} << 20, ',')),
            "t.csv:1: expected at most 1048576 fields in a row, found more");
  EXPECT_NE(read_csv_file(directory_.path()).status().message().find("expected a regular file, found a directory"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
