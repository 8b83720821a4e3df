// SQuAD's JSON, windows of its texts, and the search for the best span.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tenon/answers.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

class Squad : public testing::Test {
 protected:
  Status read(const std::string& json) {
    passages_.clear();
    return read_squad(directory_.write("f.json", json), [&](Passage& passage) {
      passages_.push_back(std::move(passage));
      return Status();
    });
  }
  // The message about a file that is refused, without the file's name.
  std::string error(const std::string& json) {
    const std::string message = read(json).message(), file = directory_ / "f.json: ";
    EXPECT_TRUE(message.starts_with(file)) << message;
    return message.substr(std::min(file.size(), message.size()));
  }
  // The message about a paragraph that has these members.
  std::string error_of(const std::string& members) {
    return error(R"({"data": [{"paragraphs": [{)" + members + "}]}]}");
  }

  TemporaryDirectory directory_;
  std::vector<Passage> passages_;
};

// Ü is 2 bytes, the smiling face 4, and each is one of the characters that answer_start counts.
TEST_F(Squad, CountsCharactersNotBytes) {
  const std::string json = R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [{
    "context": "\u00dcber \ud83d\ude00 M\u00fcnchen und K\u00f6ln",
    "qas": [{"id": "7", "question": "Wo?", "answers": [{"text": "M\u00fcnchen", "answer_start": 7},
                                                        {"text": "K\u00f6ln", "answer_start": 19}]}]}]}]})";
  ASSERT_TRUE(read(json).ok()) << read(json).message();
  ASSERT_EQ(passages_.size(), 1u);
  EXPECT_EQ(passages_[0].where, "data[0].paragraphs[0]");
  EXPECT_EQ(passages_[0].context, "Über 😀 München und Köln");
  const Question& question = passages_[0].questions.at(0);
  EXPECT_EQ(question.id + question.text, "7Wo?");
  EXPECT_FALSE(question.is_impossible);
  ASSERT_EQ(question.answers.size(), 2u);
  EXPECT_EQ(question.answers[0].begin, 11u);  // Ü 2, "ber " 4, the face 4, a blank
  EXPECT_EQ(passages_[0].context.substr(question.answers[1].begin), "Köln");
}

// Version 2.0 has the questions before the context.
TEST_F(Squad, TakesMembersInAnyOrderAndPassesOverOthers) {
  const std::string json = R"({"data": [{"paragraphs": []}, {"more": [[{"data": 1}], null, 1.5], "paragraphs": [
    {"qas": [{"plausible_answers": [{"text": 3}], "is_impossible": true, "answers": [], "question": "q", "id": "a"},
             {"answers": [{"answer_start": 2, "text": "c"}], "question": "r", "id": "b"}], "context": "abc"},
    {"qas": [], "context": ""}]}], "data2": {"paragraphs": 7}})";
  ASSERT_TRUE(read(json).ok()) << read(json).message();
  ASSERT_EQ(passages_.size(), 2u);
  EXPECT_TRUE(passages_[0].questions.at(0).is_impossible);
  EXPECT_EQ(passages_[0].questions.at(1).answers.at(0).begin, 2u);
  EXPECT_EQ(passages_[1].where, "data[1].paragraphs[1]");
}

TEST_F(Squad, SaysWhichMemberIsWrong) {
  EXPECT_EQ(error("[]"), "the file is a list, expected an object");
  EXPECT_EQ(error("7"), "the file is a whole number, expected an object");
  EXPECT_EQ(error("{}"), "the file has no 'data'");
  EXPECT_EQ(error(R"({"data": {}})"), "data is an object, expected a list");
  EXPECT_EQ(error(R"({"data": [{"paragraphs": [3]}]})"), "data[0].paragraphs[0] is a whole number, expected an object");
  EXPECT_EQ(error_of(R"("context": "c")"), "data[0].paragraphs[0] has no 'qas'");
  EXPECT_EQ(error_of(R"("context": null)"), "data[0].paragraphs[0].context is null, expected a text");
  EXPECT_EQ(error_of(R"("context": "a", "context": "b")"), "data[0].paragraphs[0].context stands there twice");
  const std::string in = "data[0].paragraphs[0].qas[0]";
  EXPECT_EQ(error_of(R"("qas": [{"id": 7}])"), in + ".id is a whole number, expected a text");
  EXPECT_EQ(error_of(R"("qas": [{"is_impossible": "no"}])"), in + ".is_impossible is a text, expected true or false");
  EXPECT_EQ(error_of(R"("qas": [{"id": "7", "answers": []}])"), in + " has no 'question'");
  EXPECT_EQ(error_of(R"("qas": [{"answers": [{"text": "a", "answer_start": 1.5}]}])"),
            in + ".answers[0].answer_start is a number with a fraction, expected a whole number");
  EXPECT_EQ(error_of(R"("qas": [{"answers": [{"text": "a"}]}])"), in + ".answers[0] has no 'answer_start'");
}

TEST_F(Squad, AnAnswerOutsideTheContextIsAnError) {
  const auto at = [&](const std::string& start) {
    return error_of(
        R"("context": "äb", "qas": [{"id": "1", "question": "q", "answers": [{"text": "b", "answer_start": )" + start +
        "}]}]");
  };
  const std::string where = "data[0].paragraphs[0].qas[0].answers[0].answer_start is ";
  EXPECT_EQ(at("2"), where + "2, expected a place in the 2 characters of the context");
  EXPECT_EQ(at("-1"), where + "-1, expected a place in the 2 characters of the context");
  EXPECT_EQ(at("18446744073709551615"),
            where + "9223372036854775807, expected a place in the 2 characters of the context");
}

TEST_F(Squad, WhatIsNoJsonIsAnError) {
  EXPECT_EQ(error(""), "no valid JSON in UTF-8 at its byte 1");
  EXPECT_EQ(error(R"({"data": [)"), "no valid JSON in UTF-8 at its byte 11: it ends in the middle");
  EXPECT_EQ(error("{\"data\": []} x"), "no valid JSON in UTF-8 at its byte 14");
  EXPECT_EQ(error("{\"a\": \"\xff\"}"), "no valid JSON in UTF-8 at its byte 8");
  EXPECT_EQ(error(R"({"a": "\ud800"})"), "no valid JSON in UTF-8 at its byte 14");
}

TEST_F(Squad, AParagraphIsBoundedTheFileIsNot) {
  const std::string text(kMaxPassageBytes, 'x'), bound = std::to_string(kMaxPassageBytes) + " bytes";
  EXPECT_EQ(error_of("\"qas\": [], \"context\": \"" + text + text),
            "a paragraph, or another value, of more than " + bound);
  EXPECT_EQ(error("{\"other\": \"" + text + text), "a paragraph, or another value, of more than " + bound);
  std::string many;
  for (int i = 0; i < 3; ++i)
    many += (i ? ", " : "") + std::string("{\"qas\": [], \"context\": \"") + text.substr(text.size() / 2) + "\"}";
  EXPECT_TRUE(read("{\"data\": [{\"paragraphs\": [" + many + "]}]}").ok());
  EXPECT_EQ(passages_.size(), 3u);
}

TEST_F(Squad, TheCallersErrorEndsIt) {
  const std::string path = directory_.write(
      "g.json", R"({"data": [{"paragraphs": [{"context": "", "qas": []}, {"context": "", "qas": []}]}]})");
  int calls = 0;
  const Status status = read_squad(path, [&](const Passage&) { return ++calls, Status(Code::kInterrupted, "enough"); });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(read_squad(directory_ / "none", [](const Passage&) { return Status(); }).ok());
}

// Letters one by one, the blank between words left out: "Ü" has no subtoken, so that it is written \220; .
Subtokenizer letters() {
  std::vector<std::string> subtokens;
  for (const char c : std::string("\\_u;0123456789<pad>EOSbcfghijk")) subtokens.emplace_back(1, c);
  subtokens.emplace_back("ab");
  subtokens.emplace_back("cd_");
  return Subtokenizer::from_subtokens(subtokens).take();
}

TEST(LocatedTokens, EachHasItsBytes) {
  const Subtokenizer words = letters();
  const LocatedTokens text = locate_tokens(words,
                                           "abcd \xc3\x9c"
                                           "b")
                                 .take();
  std::vector<int32_t> plain;
  ASSERT_TRUE(words
                  .encode("abcd \xc3\x9c"
                          "b",
                          plain)
                  .ok());
  EXPECT_EQ(text.ids, plain);
  std::string found;
  for (size_t i = 0; i < text.ids.size(); ++i)
    found += words.subtoken(text.ids[i]) + " " + std::to_string(text.parts[i].begin) + "-" +
             std::to_string(text.parts[i].end) + ", ";
  EXPECT_EQ(found, "ab 0-2, cd_ 2-4, \\ 5-7, 2 5-7, 2 5-7, 0 5-7, ; 5-7, b 7-8, _ 8-8, ");
}

TEST(LocatedTokens, HoldTheBytesThatAreAskedFor) {
  const LocatedTokens text = locate_tokens(letters(),
                                           "abcd \xc3\x9c"
                                           "b")
                                 .take();
  EXPECT_EQ(tokens_of(text, 0, 4), (TokenSpan{0, 1}));
  EXPECT_EQ(tokens_of(text, 1, 2), (TokenSpan{0, 0}));  // a part of "ab"
  EXPECT_EQ(tokens_of(text, 4, 7), (TokenSpan{2, 6}));  // with the blank before it
  EXPECT_EQ(tokens_of(text, 7, 8), (TokenSpan{7, 7}));
  EXPECT_EQ(tokens_of(text, 4, 5), std::nullopt);  // the blank alone
  EXPECT_EQ(tokens_of(text, 8, 8), std::nullopt);
}

TEST(AnswerWindows, OverlapAndCoverTheContext) {
  const std::vector<int32_t> question{11, 12}, context{20, 21, 22, 23, 24, 25, 26};
  const auto windows = answer_windows(question, context, {.max_length = 8, .doc_stride = 2});
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].inputs, (std::vector<int32_t>{11, 12, 1, 20, 21, 22, 23, 1}));
  EXPECT_EQ(windows[1].inputs, (std::vector<int32_t>{11, 12, 1, 22, 23, 24, 25, 1}));
  EXPECT_EQ(windows[2].inputs, (std::vector<int32_t>{11, 12, 1, 24, 25, 26, 1}));
  EXPECT_EQ(windows[1].place_of({3, 4}), (TokenSpan{4, 5}));
  EXPECT_EQ(windows[1].place_of({1, 3}), std::nullopt);
  EXPECT_EQ(windows[1].place_of({5, 6}), std::nullopt);
}

TEST(AnswerWindows, CutALongQuestionAndSkipNothing) {
  const std::vector<int32_t> question(100, 5), context(30, 6);
  const auto windows = answer_windows(question, context, {.max_length = 12, .doc_stride = 1000});
  ASSERT_EQ(windows.size(), 8u);  // of 12 - 6 - 2 tokens
  for (size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].context_at, 7u);
    EXPECT_EQ(windows[i].begin, 4 * i);
    EXPECT_LE(windows[i].inputs.size(), 12u);
  }
  EXPECT_EQ(windows.back().end, 30u);
  EXPECT_EQ(answer_windows({}, {}, {}).at(0).inputs, (std::vector<int32_t>{1, 1}));
}

TEST(BestSpans, AreThoseOfBruteForce) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const size_t tokens = 1 + random() % 12, from = random() % tokens, longest = 1 + random() % 5,
                 most = 1 + random() % 6;
    std::vector<float> start(tokens), end(tokens);
    for (size_t i = 0; i < tokens; ++i)
      start[i] = static_cast<float>(random() % 7), end[i] = static_cast<float>(random() % 7);
    std::vector<std::tuple<double, size_t, size_t>> all;
    for (size_t a = from; a < tokens; ++a)
      for (size_t b = a; b < tokens; ++b)
        if (b < a + longest) all.emplace_back(-static_cast<double>(start[a] + end[b]), a, b);
    std::sort(all.begin(), all.end());
    const auto found = best_spans(start, end, from, tokens, longest, most);
    ASSERT_EQ(found.size(), std::min(most, all.size()));
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(std::tuple(-found[i].score, found[i].span.first, found[i].span.last), all[i]);
  }
}

TEST(BestSpans, OfWhatIsNoNumberThereAreNone) {
  const std::vector<float> nan(4, NAN), one(4, 1);
  EXPECT_TRUE(best_spans(nan, one, 0, 4, 4, 3).empty());
  EXPECT_TRUE(best_spans(one, one, 4, 4, 4, 3).empty());
}

}  // namespace
}  // namespace tenon
