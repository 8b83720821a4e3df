// Conversion of tables through the library: what a column is, what the records hold, what is left out, and mistakes.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/process/thread_pool.h"
#include "tenon/convert.h"
#include "tenon/example.h"
#include "tenon/text_file.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

struct TableRow {
  std::vector<float> numbers;
  std::vector<int64_t> categories;
  int64_t label;
  bool operator==(const TableRow&) const = default;
};

class Tables : public testing::Test {
 protected:
  Tables() {
    options_.output = directory_ / "out";
    options_.label = "kind";
  }
  void given(const std::string& train, const std::string& validation = "") {
    options_.input = directory_.write("train.csv", train);
    if (!validation.empty()) options_.validation = directory_.write("validation.csv", validation);
  }
  ConvertSummary convert() { return convert_table(options_, pool_).take(); }
  std::string mistake() {
    std::string message = convert_table(options_, pool_).status().message();
    if (message.starts_with(directory_.path() + "/")) message.erase(0, directory_.path().size() + 1);
    return message;
  }
  static std::vector<TableRow> rows(const ConvertSummary::Split& split) {
    std::vector<TableRow> out;
    for (const std::string& path : split.files) {
      RecordReader reader = RecordReader::open(path).take();
      std::string_view record;
      while (*reader.next(&record)) {
        Example example;
        check(example.parse(record));
        TableRow& row = out.emplace_back();
        if (const Feature* numbers = example.find("numbers"))
          row.numbers.resize(numbers->size()), numbers->copy(row.numbers.data());
        if (const Feature* categories = example.find("categories"))
          row.categories.resize(categories->size()), categories->copy(row.categories.data());
        row.label = example.int64("label").take();
      }
    }
    return out;
  }

  TemporaryDirectory directory_;
  ConvertTableOptions options_;
  ThreadPool pool_{2};
};

const char* const kTrain =
    "size,colour,kind,weight\n"
    "1,red,b,10\n"
    "3,blue,a,10\n"
    ",?,a,10\n"
    "2,\"red, dark\",b,10\n";

// Means and deviations are those of what is there; missing numbers are 0, and a column of one number is 0 everywhere.
TEST_F(Tables, AreNumbersAndPlacesOfCategories) {
  given(kTrain, "kind,weight,colour,size\na,12,green,2\nb,10,blue,NA\nc,1,red,1\n,1,red,1\n");
  const ConvertSummary summary = convert();
  EXPECT_EQ(summary.labels, (std::vector<std::string>{"a", "b"}));
  std::vector<TableRow> train = rows(summary.splits[0]);
  const float off = 1.2247449f;  // sqrt(3 / 2): 1, 2 and 3 have the deviation sqrt(2 / 3)
  const std::vector<TableRow> expected{{{-off, 0}, {2}, 1}, {{off, 0}, {1}, 0}, {{0, 0}, {0}, 0}, {{0, 0}, {3}, 1}};
  for (const TableRow& row : expected) {
    const bool found = std::any_of(train.begin(), train.end(), [&](const TableRow& r) {
      return r.categories == row.categories && r.label == row.label &&
             std::abs(r.numbers[0] - row.numbers[0]) < 1e-6f && r.numbers[1] == row.numbers[1];
    });
    EXPECT_TRUE(found) << row.categories[0];
  }
  EXPECT_EQ(train.size(), expected.size());
  // "green" is unknown; columns are found by their names.
  EXPECT_EQ(rows(summary.splits[1]), (std::vector<TableRow>{{{0, 2}, {0}, 0}, {{0, 0}, {1}, 1}}));
  EXPECT_EQ(summary.splits[1].of("unknown_labels").count, 1);
  EXPECT_EQ(summary.splits[1].of("no_label").count, 1);
  EXPECT_EQ(summary.splits[1].of("unknown_labels").first, options_.validation + ":4: column 'kind': 'c'");
  const std::string info = read_text_file(options_.output + "/info.json").take();
  EXPECT_NE(info.find(R"("num_numbers": 2, "num_categories": 1, "num_places": 4)"), std::string::npos) << info;
  EXPECT_NE(info.find(R"({"name":"colour","kind":"category","values":["blue","red","red, dark"]})"), std::string::npos);
}

TEST_F(Tables, TakeKindsThatAreAskedFor) {
  given("zip,size,name,kind\n1,1,x,a\n2,2,y,b\n1,3,z,a\n2,4,w,b\n");
  options_.categories = {"zip"};
  options_.ignore = {"name"};
  const ConvertSummary summary = convert();
  EXPECT_EQ(summary.splits[0].records, 3);
  EXPECT_EQ(summary.splits[1].records, 1);
  for (const TableRow& row : rows(summary.splits[0])) EXPECT_EQ(row.label, row.categories[0] - 1);
}

// A word among many numbers makes a column one of categories, which may not be what was meant.
TEST_F(Tables, TellOfAColumnWhoseTypeAFewCellsChange) {
  std::string table = "age,kind\n", few = table;
  for (int i = 0; i < 30; ++i) table += (i == 20 ? "old" : std::to_string(i)) + (i % 2 ? ",a\n" : ",b\n");
  for (int i = 0; i < 10; ++i) few += (i % 5 == 0 ? "old" : std::to_string(i)) + (i % 2 ? ",a\n" : ",b\n");
  given(table, "age,kind\n3,a\n");
  EXPECT_EQ(convert().notices,
            std::vector<std::string>{options_.input + ":22: column 'age' is of categories because of 'old': 29 of 30 "
                                                      "cells are numbers (--numbers age makes that an error)"});
  options_.overwrite = true;
  options_.categories = {"age"};
  EXPECT_TRUE(convert().notices.empty()) << "it was asked for";
  options_.categories = {};
  options_.numbers = {"age"};
  EXPECT_EQ(mistake(), "train.csv:22: column 'age': expected a number, found 'old'");
  options_.numbers = {};
  given(few, "age,kind\n3,a\n");
  EXPECT_TRUE(convert().notices.empty()) << "one of five may well be meant";
}

TEST_F(Tables, AreMadeLikeOthersForTheirModel) {
  given(kTrain, kTrain);
  const ConvertSummary first = convert();
  const std::string like = options_.output;
  options_ = {};
  options_.output = directory_ / "again";
  options_.like = like;
  options_.input = directory_ / "train.csv";
  const ConvertSummary again = convert();
  ASSERT_EQ(again.splits.size(), 1u);
  EXPECT_EQ(again.splits[0].name, "validation");
  EXPECT_EQ(rows(again.splits[0]), rows(first.splits[1]));
  const auto mark = [](const std::string& directory) {
    const std::string info = read_text_file(directory + "/info.json").take();
    return info.substr(info.find("\"mark\""), 24);
  };
  EXPECT_EQ(mark(like), mark(options_.output));
}

TEST_F(Tables, SayFileLineAndColumnOfAMistake) {
  const auto mistake_of = [&](const std::string& train) { return given(train), mistake(); };
  options_.numbers = {"size"};
  const std::string more = "1,a\n2,b\n3,a\n4,b\n";
  EXPECT_EQ(mistake_of("size,kind\n1,a\nbig,b\n" + more), "train.csv:3: column 'size': expected a number, found 'big'");
  EXPECT_EQ(mistake_of("size,kind\n1,a\ninf,b\n" + more), "train.csv:3: column 'size': expected a number, found 'inf'");
  EXPECT_EQ(mistake_of("height,kind\n1,a\n2,b\n"), "train.csv: no column 'size'; it has height, kind");
  options_.numbers = {};
  EXPECT_EQ(mistake_of("size,kind\n1,a\n1,2,b\n"), "train.csv:3: expected 2 fields as the header has, found 3");
  EXPECT_EQ(mistake_of("size,size,kind\n1,2,a\n"), "train.csv:1: column 'size' is there twice");
  EXPECT_EQ(mistake_of("size,,kind\n1,2,a\n"), "train.csv:1: column 2 has no name");
  EXPECT_EQ(mistake_of("size,kind\n"), "train.csv: expected a header and rows, found no row");
  EXPECT_EQ(mistake_of("size,type\n1,a\n2,b\n"), "train.csv: no column 'kind'; it has size, type");
  EXPECT_EQ(mistake_of("size,kind\n?,a\n,b\n,a\n"), "train.csv: column 'size' has nothing but missing values");
  EXPECT_EQ(mistake_of("size,kind\n1,a\n2,a\n3,a\n"), "train.csv: column 'kind' has one class, expected at least 2");
  // A line of labels.txt is a class: neither with a line's end in it, nor with blanks that its readers take off.
  for (const std::string label : {"l\nabel", " a", "a\t", "r\rs"})
    EXPECT_NE(mistake_of("size,kind\n1,b\n2,\"" + label + "\"\n3,b\n4,\"" + label + "\"\n")
                  .find(": a class is a line of labels.txt"),
              std::string::npos);
  EXPECT_EQ(mistake_of("size,kind\n1,a\n1e200,b\n1e200,a\n1e200,b\n").substr(0, 31), "train.csv:3: column 'size': exp");
  EXPECT_EQ(mistake_of("colour,kind\n\xff,a\nred,b\n\xff,b\n\xff,a\n").substr(0, 12), "train.csv:2:");
  std::string many = "name,kind\n";
  for (int i = 0; i < 2000; ++i) many += "n" + std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  EXPECT_NE(mistake_of(many).find("column 'name': expected at most 1000 different texts, found more"),
            std::string::npos);
  options_.validation = directory_.write("validation.csv", "size,kind\n1,a\nbig,b\n");
  const std::string elsewhere = mistake_of("size,kind\n1,a\n2,b\n");
  options_.validation = directory_.write("validation.csv", "size,kind\n1,a\n3e38,b\n");
  EXPECT_EQ(
      mistake_of("size,kind\n0,a\n1,b\n"),
      "validation.csv:3: column 'size': '3e38', minus the mean 0.5, by the deviation 0.5, is no number of f32");
  EXPECT_EQ(elsewhere, "validation.csv:3: column 'size': expected a number, found 'big'");
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(Tables, LeavesOutBadRowsWhereAskedTo) {
  const std::string good = "size,kind\n1,a\n2,b\n3,a\n4,b\n";
  given(good, good);
  options_.numbers = {"size"};
  const ConvertSummary expected = convert();
  given("size,kind\n1,a\nbig,a\n2,b\n3\n3,a\n4,b\n", "size,kind\n1,a\n2,b\n3,a\n4,b\n5,b,6\n");
  options_.output = directory_ / "rest";
  EXPECT_EQ(mistake(), "train.csv:5: expected 2 fields as the header has, found 1");
  options_.skip_bad_rows = true;
  const ConvertSummary rest = convert();
  for (const size_t s : {0, 1}) EXPECT_EQ(rows(rest.splits[s]), rows(expected.splits[s]));
  EXPECT_EQ(rest.splits[0].of("bad_rows").count, 2);
  EXPECT_EQ(rest.splits[1].of("bad_rows").count, 1);
  EXPECT_EQ(rest.splits[1].of("bad_rows").first,
            directory_ / "validation.csv" + ":6: expected 2 fields as the header has, found 3");
}

// The same rows as a file without them gives, whatever made them bad, and whether or not it was said that the column is of numbers.
TEST_F(Tables, LeavesOutNumbersBeyondF32AndLabelsThatNameNoClass) {
  const std::string good = "size,kind\n1,a\n2,b\n3,a\n4,b\n";
  given(good, good);
  const ConvertSummary expected = convert();
  options_.skip_bad_rows = true;
  const std::string bad = "size,kind\n1,a\n1e200,b\n2,b\n3,a\n7,\"c\nd\"\n-4e38,a\n8,\xff\n4,b\n";
  for (const std::vector<std::string>& numbers : {std::vector<std::string>(), {"size"}}) {
    given(bad, "size,kind\n1,a\n2,b\n1e200,a\n3,a\nbig,b\n4,b\n");
    options_.numbers = numbers;
    options_.output = directory_ / (numbers.empty() ? "learnt" : "said");
    const ConvertSummary rest = convert();
    EXPECT_EQ(rest.labels, expected.labels);
    for (const size_t s : {0, 1}) EXPECT_EQ(rows(rest.splits[s]), rows(expected.splits[s]));
    EXPECT_EQ(rest.splits[0].of("bad_rows").count, 4);
    EXPECT_EQ(rest.splits[1].of("bad_rows").count, 2);
  }
}

// The one text of a column goes with a row that is bad elsewhere: the column is one of numbers, and judged so.
TEST_F(Tables, LeavesOutNumbersBeyondF32InAColumnWhoseTextWasInABadRow) {
  options_.skip_bad_rows = true;
  given("size,age,kind\n1,1e200,b\n1e200,old,a\n1,1,a\n2,2,b\n", "size,age,kind\n1,1,a\n");
  const ConvertSummary rest = convert();
  EXPECT_EQ(rest.splits[0].records, 2);
  EXPECT_EQ(rest.splits[0].of("bad_rows").count, 2);
}

TEST_F(Tables, LeavesOutTextsInColumnsOfNumbersOfAModel) {
  given("size,kind\n1,a\n2,b\n3,a\n4,b\n", "size,kind\n1,a\n");
  convert();
  options_ = {};
  options_.output = directory_ / "new", options_.like = directory_ / "out", options_.skip_bad_rows = true;
  given("size,kind\n1,a\nNA,b\nbig,a\n");
  const ConvertSummary rest = convert();
  EXPECT_EQ(rest.splits[0].records, 2);
  EXPECT_EQ(rest.splits[0].of("bad_rows").first,
            directory_ / "train.csv" + ":4: column 'size': expected a number, found 'big'");
}

}  // namespace
}  // namespace tenon
