// Conversion of parallel text through the library: spills, records, what is held out, interruption.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/process/thread_pool.h"
#include "data/convert/record_spill.h"
#include "tenon/convert.h"
#include "tenon/example.h"
#include "tenon/subtokenizer.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

TEST(RecordSpill, GivesEachShardItsRecordsInOrder) {
  TemporaryDirectory directory;
  RecordSpill spill = RecordSpill::create(directory.path(), 3).take();
  std::vector<std::vector<std::string>> expected(3);
  for (size_t i = 0; i < 5000; ++i) {
    const std::string record(i * 7 % 101, static_cast<char>('a' + i % 26));  // some are empty
    expected[i % 2].push_back(record);
    ASSERT_TRUE(spill.add(i % 2, record).ok());
  }
  std::string text;
  for (const size_t shard : {1, 2, 0}) {
    const std::vector<std::string_view> found = spill.read(shard, text).take();
    EXPECT_EQ(std::vector<std::string>(found.begin(), found.end()), expected[shard]);
  }
  EXPECT_EQ(directory.entries(), 0u);  // it has no name
  EXPECT_FALSE(RecordSpill::create(directory / "none", 1).ok());
}

class Translation : public testing::Test {
 protected:
  Translation() {
    std::string source, target;
    for (int i = 0; i < 2000; ++i) {
      source += "sentence number " + std::to_string(i % 1000) + "\n";  // each twice
      target += "Satz Nummer " + std::to_string(i) + "\n";
    }
    options_.source = {directory_.write("en", source)};
    options_.target = {directory_.write("de", target)};
    options_.output = directory_ / "out";
    options_.vocab_size = 100;
    options_.train_shards = 7;
  }

  Result<ConvertSummary> convert() { return convert_translation(options_, pool_); }

  // All records of a split as "source|target".
  std::vector<std::string> records(const ConvertSummary::Split& split) {
    const Subtokenizer words = Subtokenizer::load(options_.output + "/vocab.ende.100").take();
    std::vector<std::string> out;
    for (const std::string& path : split.files) {
      RecordReader reader = RecordReader::open(path).take();
      std::string_view record;
      while (*reader.next(&record)) out.push_back(side(record, "inputs", words) + "|" + side(record, "targets", words));
    }
    return out;
  }
  static std::string side(std::string_view record, const char* name, const Subtokenizer& words) {
    Example example;
    EXPECT_TRUE(example.parse(record).ok());
    std::vector<int64_t> ids(example.find(name)->size());
    example.find(name)->copy(ids.data());
    EXPECT_EQ(ids.back(), Subtokenizer::kEos);
    return words.decode(std::vector<int32_t>(ids.begin(), ids.end() - 1));
  }

  TemporaryDirectory directory_;
  ConvertTranslationOptions options_;
  ThreadPool pool_{2};
};

TEST_F(Translation, EachPairIsInOneRecordAndNoSourceInBothSplits) {
  const Result<ConvertSummary> summary = convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  std::map<std::string, std::set<std::string>> splits_of;
  std::set<std::string> pairs;
  for (const ConvertSummary::Split& split : summary->splits)
    for (const std::string& pair : records(split)) {
      pairs.insert(pair);
      splits_of[pair.substr(0, pair.find('|'))].insert(split.name);
    }
  EXPECT_EQ(pairs.size(), 2000u);
  EXPECT_TRUE(pairs.count("sentence number 999|Satz Nummer 1999"));
  EXPECT_EQ(splits_of.size(), 1000u);
  for (const auto& [source, splits] : splits_of) EXPECT_EQ(splits.size(), 1u) << source;
  EXPECT_EQ(summary->splits[0].files.size(), 7u);
  EXPECT_EQ(summary->splits[1].name, "dev");
  EXPECT_GT(summary->splits[1].records, 4);  // 20 are expected
  EXPECT_LT(summary->splits[1].records, 40);
}

TEST_F(Translation, TakesFewerFilesWhereThereAreFewerRecords) {
  options_.source = {directory_.write("en3", "a\nb\nc\n")};
  options_.target = {directory_.write("de3", "x\ny\nz\n")};
  options_.dev_source = options_.source, options_.dev_target = options_.target;
  const Result<ConvertSummary> summary = convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->splits[0].files.size(), 3u);
  EXPECT_EQ(records(summary->splits[1]), (std::vector<std::string>{"a|x", "b|y", "c|z"}));  // in order
}

TEST_F(Translation, LeavesOutAndCounts) {
  options_.source = {directory_.write("en4", "a b c d e f g h i j k\na\n \nbad\n\xff\n")};
  options_.target = {directory_.write("de4", "a b c d e f g h i j k\na b c d e f\nx\n\n x\n")};
  options_.dev_source = {directory_.write("en5", "a\n")}, options_.dev_target = {directory_.write("de5", "b\n")};
  options_.max_length = 12, options_.max_ratio = 3;
  ConvertSummary::Split train = convert()->splits[0];
  EXPECT_EQ(train.records, 1);
  EXPECT_EQ(train.of("unequal").count, 1);
  EXPECT_EQ(train.of("unequal").first, options_.source[0] + ":2");
  EXPECT_EQ(train.of("empty").count, 2);
  EXPECT_EQ(train.of("not_utf8").first, options_.source[0] + ":5");
}

TEST_F(Translation, LongDocumentsAreCutLongSummariesLeftOut) {
  options_.source.clear(), options_.target.clear();
  options_.pairs = {directory_.write("s.jsonl",
                                     "{\"document\": \"a b c d e f g h i j k\", \"summary\": \"a b\"}\n"
                                     "{\"summary\": \"a b c\", \"document\": \"a b c d\"}\n"
                                     "{\"document\": \"a b c d e f g\", \"summary\": \"c\"}\n")};
  options_.dev_pairs = {directory_.write("d.tsv", "a b c\tb\n")};
  options_.max_length = 8, options_.max_target_length = 3, options_.max_ratio = 0;
  options_.cut_source = true, options_.vocab_stem = "summaries";
  std::string letters;
  for (const char c : std::string("\\_u;0123456789<>padEOSbcefghijk")) letters += std::string("'") + c + "'\n";
  for (const char c : std::string("abcdefghijk")) letters += std::string("'") + c + "_'\n";  // a token each
  options_.vocab_file = directory_.write("letters", letters);
  const Result<ConvertSummary> summary = convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const ConvertSummary::Split& train = summary->splits[0];
  EXPECT_EQ(train.records, 2);
  EXPECT_EQ(train.shortened, 1);
  EXPECT_EQ(train.of("too_long").first, options_.pairs[0] + ":2");
  EXPECT_EQ(summary->vocab_file, "vocab.summaries.44");
  EXPECT_NE(directory_.read("out/info.json").find("\"max_length\": 8, \"max_target_length\": 3,"), std::string::npos);
}

TEST_F(Translation, WithoutAGoodPairIsAnError) {
  options_.source = {directory_.write("en6", "\n\n")};
  options_.target = {directory_.write("de6", "a\nb\n")};
  options_.dev_source = options_.source, options_.dev_target = options_.target;
  EXPECT_EQ(convert().status().message(),
            "train: expected at least one good pair, found none; the first is left out as empty at " +
                options_.source[0] + ":1");
  EXPECT_FALSE(directory_.has("out"));
}

TEST_F(Translation, InterruptedLeavesNothing) {
  for (int after : {0, 1, 2, 3, 5, 8}) {
    options_.interrupted = [&] { return after-- == 0; };
    EXPECT_EQ(convert().status().code(), Code::kInterrupted);
    EXPECT_FALSE(directory_.has("out"));
  }
}

TEST_F(Translation, OptionsThatMakeNoSenseAreRefused) {
  const auto error = [&](auto change) {
    const ConvertTranslationOptions before = options_;
    change(options_);
    const std::string message = convert().status().message();
    options_ = before;
    return message;
  };
  using O = ConvertTranslationOptions;
  EXPECT_EQ(error([](O& o) { o.source.clear(), o.target.clear(); }),
            "convert: there is no text, expected source and target files, or pairs");
  EXPECT_EQ(error([](O& o) { o.target.clear(); }),
            "there are 1 files of source sentences and 0 of target sentences, expected one for each");
  EXPECT_EQ(error([](O& o) { o.source_language = ""; }), "convert: language '', expected one like en or pt-BR");
  EXPECT_EQ(error([](O& o) { o.max_length = 1; }), "convert: max_length is 1, expected at least 2");
  EXPECT_EQ(error([](O& o) { o.max_target_length = 1; }), "convert: max_target_length is 1, expected 0 or at least 2");
  EXPECT_EQ(error([](O& o) { o.vocab_stem = "../x"; }), "convert: vocab_stem '../x', expected letters and digits");
  EXPECT_EQ(error([](O& o) { o.train_shards = 0; }), "convert: 0 shards, expected 1 to 99999");
  EXPECT_EQ(error([](O& o) { o.dev_fraction = 1; }), "convert: dev_fraction is 1, expected between 0 and 1");
}

}  // namespace
}  // namespace tenon
