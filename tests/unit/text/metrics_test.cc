// Scores of text beside sacreBLEU's, TensorFlow's, rouge-score's, and SQuAD's by hand.
#include "tenon/text_metrics.h"

#include <gtest/gtest.h>

#include "text/bleu_words.h"
#include "text/unicode.h"
#include "unit/text/drawn_text.h"

namespace tenon {
namespace {

struct Pairs {
  std::vector<std::string> references, hypotheses;
};
Pairs drawn_pairs() {
  DrawnText text(3);
  Pairs out{text.lines(1000), {}};
  for (const std::string& line : out.references) out.hypotheses.push_back(text.changed(line));
  return out;
}

std::string words_text(const std::vector<std::string>& lines, BleuTokenizer tokenizer) {
  std::string out;
  for (const std::string& line : lines) {
    std::u32string text;
    EXPECT_TRUE(unicode::decode(line, text));
    bool first = true;
    for (const std::string& word : bleu_words(text, tokenizer)) {
      out += (first ? "" : " ") + word;
      first = false;
    }
    out += "\n";
  }
  return out;
}

TEST(Bleu, CutsWordsAsTheOriginals) {
  const Pairs pairs = drawn_pairs();
  EXPECT_EQ(checksum(words_text(pairs.references, BleuTokenizer::kMteval14)), original("words of mteval14: checksum"));
  EXPECT_EQ(checksum(words_text(pairs.references, BleuTokenizer::k13a)), original("words of 13a: checksum"));
}

TEST(Bleu, OfAThousandPairsIsTheOriginals) {
  const Pairs p = drawn_pairs();
  const auto score = [&](BleuTokenizer tokenizer, bool lowercase) {
    return bleu(p.references, p.hypotheses, {tokenizer, lowercase})->score;
  };
  EXPECT_NEAR(score(BleuTokenizer::kMteval14, true), original("bleu_uncased"), 1e-4);  // TensorFlow's in float32
  EXPECT_NEAR(score(BleuTokenizer::kMteval14, false), original("bleu_cased"), 1e-4);
  EXPECT_NEAR(score(BleuTokenizer::k13a, true), original("sacrebleu uncased"), 1e-8);
  EXPECT_NEAR(score(BleuTokenizer::k13a, false), original("sacrebleu cased"), 1e-8);
}

// sacrebleu 2.4.3: corpus_bleu(hypotheses, [references])
TEST(Bleu, OfFewWordsIsSmoothed) {
  const auto score = [](const std::string& hypothesis, const std::string& reference) {
    return bleu(std::vector{reference}, std::vector{hypothesis}, {.tokenizer = BleuTokenizer::k13a})->score;
  };
  EXPECT_NEAR(score("the cat sat on the mat", "the cat sat on the mat"), 100, 1e-9);
  EXPECT_NEAR(score("the cat is on a mat", "the cat sat on the mat"), 19.304869754804482, 1e-9);
  EXPECT_NEAR(score("the cat", "the cat sat on the mat"), 0, 1e-9);
  EXPECT_NEAR(score("a b c d", "e f g h"), 0, 1e-9);
  EXPECT_NEAR(score("", "the cat"), 0, 1e-9);
}

TEST(Bleu, SignatureIsSacrebleus) {
  EXPECT_EQ(bleu_signature({.tokenizer = BleuTokenizer::k13a}), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  EXPECT_EQ(bleu_signature({.tokenizer = BleuTokenizer::k13a, .lowercase = true}),
            "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp");
}

TEST(RougeL, OfAThousandPairsIsTheOriginals) {
  const Pairs p = drawn_pairs();
  const Rouge rouge = rouge_l(p.references, p.hypotheses).take();
  EXPECT_NEAR(rouge.precision, original("rouge_l precision"), 1e-8);
  EXPECT_NEAR(rouge.recall, original("rouge_l recall"), 1e-8);
  EXPECT_NEAR(rouge.f1, original("rouge_l fmeasure"), 1e-8);
}

// Lin 2004, section 3.1: "police killed the gunman" beside "police kill the gunman" and "the gunman kill police".
TEST(RougeL, OfThePapersSentences) {
  const std::string reference = "police killed the gunman";
  EXPECT_DOUBLE_EQ(rouge_l(std::vector{reference}, std::vector<std::string>{"police kill the gunman"})->f1, 3.0 / 4);
  EXPECT_DOUBLE_EQ(rouge_l(std::vector{reference}, std::vector<std::string>{"the gunman kill police"})->f1, 2.0 / 4);
  EXPECT_EQ(rouge_l(std::vector{reference}, std::vector<std::string>{""})->f1, 0);
}

AnswerScore score_of(const std::string& answer, const std::vector<std::string>& references) {
  return answer_score({&references, 1}, {&answer, 1}).take();
}

// By hand, from SQuAD's description of its evaluation.
TEST(AnswerScore, PassesOverCasePunctuationAndArticles) {
  EXPECT_EQ(score_of("The Eiffel  Tower!", {"eiffel tower"}).exact_match, 100);
  EXPECT_EQ(score_of("an apple a day", {"apple day"}).exact_match, 100);
  EXPECT_EQ(score_of("theatre", {"atre"}).exact_match, 0);
  EXPECT_EQ(score_of("U.S.", {"us"}).exact_match, 100);
  EXPECT_EQ(score_of("a\u2013b", {"\u2013b"}).exact_match, 100);  // the dash is no ASCII, and ends the word
}

TEST(AnswerScore, F1CountsSharedWordsAndTakesTheBestReference) {
  // 3 of 3 words of the answer, 3 of 4 of the reference
  EXPECT_NEAR(score_of("in Paris France", {"Paris, France, in Europe's"}).f1,
              100 * 2 * (3.0 / 3) * (3.0 / 4) / (3.0 / 3 + 3.0 / 4), 1e-9);
  EXPECT_NEAR(score_of("red red red", {"red blue"}).f1, 100 * 2 * (1.0 / 3) * (1.0 / 2) / (1.0 / 3 + 1.0 / 2), 1e-9);
  EXPECT_EQ(score_of("blue", {"red", "blue", "green"}).f1, 100);
  EXPECT_EQ(score_of("", {""}).f1, 100);
  EXPECT_EQ(score_of("", {"red"}).f1, 0);
}

TEST(Scores, NeedAsManyLinesAndGoodText) {
  const std::vector<std::string> none, one = {"a"}, two = {"a", "b"}, bad = {"a", "\xff"};
  EXPECT_EQ(bleu(two, one).status().message(), "there are 2 references and 1 hypotheses, expected one of each a line");
  EXPECT_EQ(rouge_l(none, none).status().message(), "there is no line to score");
  EXPECT_EQ(bleu(two, bad).status().message(), "hypothesis 2: text is no UTF-8");
  EXPECT_EQ(rouge_l(bad, two).status().message(), "reference 2: text is no UTF-8");
  EXPECT_EQ(answer_score(std::vector<std::vector<std::string>>{{"a"}, {"b"}}, bad).status().message(),
            "answer 2: text is no UTF-8");
}

}  // namespace
}  // namespace tenon
