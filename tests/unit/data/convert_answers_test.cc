// Conversion of questions through the library: what the records hold, what is left out, what is held out.
#include <gtest/gtest.h>

#include "base/process/thread_pool.h"
#include "tenon/convert.h"
#include "tenon/example.h"
#include "tenon/subtokenizer.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

std::string json_question(const std::string& id, const std::string& answers) {
  return R"({"id": ")" + id + R"(", "question": "where?", "answers": [)" + answers + "]}";
}
std::string json_answer(const std::string& text, int start) {
  return R"({"text": ")" + text + R"(", "answer_start": )" + std::to_string(start) + "}";
}
std::string json_file(const std::string& paragraphs) { return R"({"data": [{"paragraphs": [)" + paragraphs + "]}]}"; }
std::string json_paragraph(const std::string& context, const std::string& questions) {
  return R"({"context": ")" + context + R"(", "qas": [)" + questions + "]}";
}

class Answers : public testing::Test {
 protected:
  Answers() {
    options_.output = directory_ / "out";
    options_.vocab_size = 64;
    options_.train_shards = 1;
  }
  void train_on(const std::string& paragraphs) {
    options_.train = {directory_.write("train.json", json_file(paragraphs))};
    options_.dev = {
        directory_.write("dev.json", json_file(json_paragraph("in Rome", json_question("d", json_answer("Rome", 3)))))};
  }
  ConvertSummary convert() { return convert_answers(options_, pool_).take(); }
  // "question|window|answer" of each record; without an answer "-".
  std::vector<std::string> records(const ConvertSummary& summary) {
    const Subtokenizer words = Subtokenizer::load(options_.output + "/" + summary.vocab_file).take();
    std::vector<std::string> out;
    for (const std::string& path : summary.splits[0].files) {
      RecordReader reader = RecordReader::open(path).take();
      std::string_view record;
      while (*reader.next(&record)) out.push_back(text_of(record, words));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  static std::string text_of(std::string_view record, const Subtokenizer& words) {
    Example example;
    EXPECT_TRUE(example.parse(record).ok());
    std::vector<int64_t> wide(example.find("inputs")->size());
    example.find("inputs")->copy(wide.data());
    const std::vector<int32_t> ids(wide.begin(), wide.end());
    const auto start = static_cast<std::ptrdiff_t>(*example.int64("start")),
               end = static_cast<std::ptrdiff_t>(*example.int64("end"));
    const auto middle = std::find(ids.begin(), ids.end(), Subtokenizer::kEos);
    EXPECT_EQ(ids.back(), Subtokenizer::kEos);
    const auto part = [&](auto from, auto to) { return words.decode(std::vector<int32_t>(from, to)); };
    return part(ids.begin(), middle) + "|" + part(middle + 1, ids.end() - 1) + "|" +
           (end == 0 ? "-" : part(ids.begin() + start, ids.begin() + end + 1));
  }

  TemporaryDirectory directory_;
  ConvertAnswersOptions options_;
  ThreadPool pool_{2};
};

TEST_F(Answers, ARecordHasTheQuestionTheTextAndThePlace) {
  train_on(
      json_paragraph("Gr\u00fc\u00dfe \U0001f600 aus K\u00f6ln", json_question("1", json_answer("K\u00f6ln", 12))) +
      "," +
      json_paragraph("nothing here", R"({"id": "2", "question": "what?", "is_impossible": true, "answers": []})"));
  const ConvertSummary summary = convert();
  EXPECT_EQ(records(summary), (std::vector<std::string>{"what?|nothing here|-",
                                                        "where?|Gr\u00fc\u00dfe \U0001f600 aus K\u00f6ln|K\u00f6ln"}));
  EXPECT_EQ(summary.vocab_file, "vocab.answers.64");
  EXPECT_NE(directory_.read("out/info.json").find(R"("max_length": 384, "doc_stride": 128, "train": {"records": 2)"),
            std::string::npos);
}

TEST_F(Answers, WindowsWithoutTheAnswerSayNone) {
  std::string context;
  for (int i = 0; i < 60; ++i) context += "a ";
  options_.max_length = 48, options_.doc_stride = 8;
  train_on(json_paragraph(context + "b", json_question("1", json_answer("b", 120))));
  const std::vector<std::string> found = records(convert());
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const std::string& r) { return r.ends_with("|b"); }), 1);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const std::string& r) { return r.ends_with("|-"); }),
            static_cast<std::ptrdiff_t>(found.size()) - 1);
}

TEST_F(Answers, LeavesOutAndCounts) {
  options_.max_length = 24, options_.doc_stride = 1;
  const std::string longer = "xxxxx yyyyy zzzzz xxxxx yyyyy zzzzz xxxxx yyyyy zzzzz";
  options_.vocab_file = directory_.write("vocab.own.1", [] {
    std::string out = "'<pad>'\n'<EOS>'\n";
    for (const char c : std::string("\\_u;0123456789<>padEOSRmeinwhrxyz?")) out += std::string("'") + c + "'\n";
    return out;
  }());
  train_on(json_paragraph("in Rome", json_question("1", json_answer("Oslo", 3)) + "," +
                                         json_question("2", json_answer("Rome", 2) + "," + json_answer("Rome", 3))) +
           "," + json_paragraph("", json_question("3", "")) + "," +
           json_paragraph(longer, json_question("4", json_answer(longer, 0))));
  const ConvertSummary summary = convert();
  const ConvertSummary::Split& train = summary.splits[0];
  EXPECT_EQ(train.of("misplaced").count, 1);
  EXPECT_EQ(train.of("misplaced").first, options_.train[0] + ": data[0].paragraphs[0].qas[0]");
  EXPECT_EQ(train.of("empty").first, options_.train[0] + ": data[0].paragraphs[1].qas[0]");
  EXPECT_EQ(train.of("cut").first, options_.train[0] + ": data[0].paragraphs[2].qas[0]");
  EXPECT_EQ(summary.vocab_file, "vocab.own.1");
}

TEST_F(Answers, HoldsOutWholeTexts) {
  std::string paragraphs;
  for (int i = 0; i < 300; ++i) {
    const std::string city = "city" + std::to_string(i % 100);
    paragraphs += (i ? "," : "") + json_paragraph("in " + city, json_question(std::to_string(i), json_answer(city, 3)));
  }
  train_on(paragraphs);
  options_.dev.clear();
  options_.dev_fraction = 0.2;
  const ConvertSummary summary = convert();
  EXPECT_EQ(summary.splits[0].records + summary.splits[1].records, 300);
  EXPECT_EQ(summary.splits[1].records % 3, 0);
  EXPECT_GT(summary.splits[1].records, 15);
  EXPECT_LT(summary.splits[1].records, 120);
}

TEST_F(Answers, OptionsThatMakeNoSenseAreRefused) {
  train_on(json_paragraph("in Rome", json_question("1", json_answer("Rome", 3))));
  options_.max_length = 7;
  EXPECT_EQ(convert_answers(options_, pool_).status().message(), "convert: max_length is 7, expected at least 8");
  options_.max_length = 8, options_.doc_stride = 0;
  EXPECT_EQ(convert_answers(options_, pool_).status().message(), "convert: doc_stride is 0, expected at least 1");
  options_.train.clear();
  EXPECT_EQ(convert_answers(options_, pool_).status().message(),
            "convert: there are no questions, expected files to train on");
  EXPECT_FALSE(directory_.has("out"));
}

TEST_F(Answers, InterruptedOrDamagedLeavesNothing) {
  train_on(json_paragraph("in Rome", json_question("1", json_answer("Rome", 3))));
  for (int after : {0, 1, 2, 3}) {
    options_.interrupted = [&] { return after-- == 0; };
    EXPECT_EQ(convert_answers(options_, pool_).status().code(), Code::kInterrupted);
    EXPECT_FALSE(directory_.has("out"));
  }
  options_.interrupted = {};
  options_.dev = {directory_.write("cut.json", R"({"data": [{"par)")};
  EXPECT_EQ(convert_answers(options_, pool_).status().message(),
            options_.dev[0] + ": no valid JSON in UTF-8 at its byte 16: it ends in the middle");
  EXPECT_FALSE(directory_.has("out"));
}

}  // namespace
}  // namespace tenon
