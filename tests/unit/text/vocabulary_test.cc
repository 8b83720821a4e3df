// Vocabularies and tokens beside those of TensorFlow's Transformer, and what a vocabulary's file must be.
#include <gtest/gtest.h>

#include "tenon/subtokenizer.h"
#include "unit/data/temporary_directory.h"
#include "unit/text/drawn_text.h"

namespace tenon {
namespace {

TokenCounts counts_of_drawn(int lines) {
  TemporaryDirectory directory;
  std::string text;
  for (const std::string& line : DrawnText(1).lines(lines)) text += line + "\n";
  TokenCounts counts;
  const Status added = counts.add_sample(directory.write("text", text));
  EXPECT_TRUE(added.ok()) << added.message();
  return counts;
}

void expect_original(const std::string& name, const TokenCounts& counts, int64_t min_count) {
  const Result<Subtokenizer> made =
      build_subtokens(counts, {.target_size = 2000, .threshold = 20, .min_count = min_count});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->size(), original("vocabulary " + name + ": size"));
  EXPECT_EQ(checksum(made->text()), original("vocabulary " + name + ": checksum"));
}

TEST(Vocabulary, IsTheOriginalsToTheByte) {
  const TokenCounts counts = counts_of_drawn(20000);  // 1.3 MB: each line counts
  expect_original("of 2000 whole", counts, 0);
  expect_original("of count 6 whole", counts, 6);
}

TEST(Vocabulary, IsTheOriginalsToTheByteWhereLinesArePassedOver) {
  const TokenCounts counts = counts_of_drawn(80000);  // 5.4 MB
  expect_original("of 2000 sampled", counts, 0);
  expect_original("of count 6 sampled", counts, 6);
}

TEST(Vocabulary, WritesTextAsTheOriginalDoes) {
  const Subtokenizer words = build_subtokens(counts_of_drawn(80000), {.min_count = 6}).take();
  double number = 0;
  std::string ids_text, decoded;
  for (const std::string& line : DrawnText(2).lines(1000)) {
    std::vector<int32_t> ids;
    ASSERT_TRUE(words.encode(line, ids).ok());
    number += static_cast<double>(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) ids_text += (i ? " " : "") + std::to_string(ids[i]);
    ids_text += "\n";
    decoded += words.decode(ids) + "\n";
  }
  EXPECT_EQ(number, original("ids: number"));
  EXPECT_EQ(checksum(ids_text), original("ids: checksum"));
  EXPECT_EQ(checksum(decoded), original("decoded: checksum"));
}

std::string load_error(const std::string& text) {
  TemporaryDirectory directory;
  const std::string path = directory.write("vocab", text);
  std::string message = Subtokenizer::load(path).status().message();
  if (const size_t at = message.find(path); at != std::string::npos) message.replace(at, path.size(), "vocab");
  return message;
}

// One subtoken a line for each character that escapes and reserved tokens need.
std::string least() {
  std::string out;
  for (const char c : std::string("\\_u;0123456789<pad>EOS")) out += std::string("'") + c + "'\n";
  return out;
}

TEST(Vocabulary, FileIsReadWithAnyLineEndsAndWithoutReservedTokens) {
  TemporaryDirectory directory;
  std::string crlf;
  for (const char c : least()) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  const Result<Subtokenizer> words = Subtokenizer::load(directory.write("vocab", crlf));
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_EQ(words->subtoken(0), "<pad>");
  EXPECT_EQ(words->subtoken(1), "<EOS>");
  EXPECT_EQ(words->subtoken(2), "\\");
  EXPECT_EQ(words->text(), "'<pad>'\n'<EOS>'\n" + least());
  ASSERT_TRUE(words->save(directory / "again").ok());
  EXPECT_EQ(Subtokenizer::load(directory / "again")->fingerprint(), words->fingerprint());
}

TEST(Vocabulary, BadFilesAreRefusedWithTheirLine) {
  EXPECT_EQ(load_error("'a'\nb\n"), "vocab:2: expected a subtoken between single quotes, found 'b'");
  EXPECT_EQ(load_error("'a'\n''\n"), "vocab:2: expected a subtoken between single quotes, found ''''");
  EXPECT_EQ(load_error(least() + "'x'\n'x'\n"), "vocab: subtoken 'x' is there twice");
  EXPECT_EQ(load_error(least() + "'x\xff'\n"), "vocab: subtoken 'x\xff' is no UTF-8");
  EXPECT_EQ(load_error(least() + "'xy'\n'x'\n"),
            "vocab: character 'y' is no subtoken by itself, expected that of every character");
  EXPECT_EQ(load_error(""), "vocab: character '0' is no subtoken by itself, expected that of every character");
  EXPECT_FALSE(Subtokenizer::from_subtokens({"a\nb"}).ok());
}

TEST(Vocabulary, CountsRefuseWhatIsNoUtf8AndNameTheLine) {
  TemporaryDirectory directory;
  TokenCounts counts;
  EXPECT_EQ(*counts.add(" \u00a0zwölf \n"), 5);
  EXPECT_FALSE(counts.add("\xc3").ok());
  const std::string path = directory.write("text", "one\ntwo \xed\xa0\x80\n");
  EXPECT_EQ(counts.add_sample(path).message(), path + ":2: text is no UTF-8");
}

TEST(Vocabulary, NothingToCountGivesTheAlphabetAlone) {
  const Result<Subtokenizer> made = build_subtokens(TokenCounts(), {.min_count = 2});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->size(), 24);  // two reserved, 14 of escapes, 8 more of the reserved
}

TEST(Vocabulary, BuildingCanBeInterrupted) {
  const Result<Subtokenizer> made = build_subtokens(TokenCounts(), {.interrupted = [] { return true; }});
  EXPECT_EQ(made.status().code(), Code::kInterrupted);
}

}  // namespace
}  // namespace tenon
