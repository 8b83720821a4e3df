// Any text goes through a vocabulary and comes back.
#include <gtest/gtest.h>

#include "tenon/subtokenizer.h"
#include "text/subtokens.h"
#include "text/unicode.h"

namespace tenon {
namespace {

Subtokenizer vocabulary_of(const std::vector<std::string>& lines) {
  TokenCounts counts;
  for (const std::string& line : lines) EXPECT_TRUE(counts.add(line).ok());
  return build_subtokens(counts, {.min_count = 1}).take();
}

std::vector<int32_t> encoded(const Subtokenizer& words, const std::string& text) {
  std::vector<int32_t> ids;
  EXPECT_TRUE(words.encode(text, ids).ok()) << text;
  return ids;
}
std::string there_and_back(const Subtokenizer& words, const std::string& text) {
  return words.decode(encoded(words, text));
}

TEST(Subtokens, HostileTextComesBack) {
  const Subtokenizer words = vocabulary_of({"plain words"});  // most characters below are not among its own
  for (const std::string text : {"",
                                 "plain words",
                                 " begins with a blank",
                                 "ends with one ",
                                 " ",
                                 "a  b",
                                 "_",
                                 "\\",
                                 "\\u",
                                 "\\\\",
                                 "\\_u;",
                                 "\\92;",
                                 "a\\95;b",
                                 "<pad>",
                                 "<EOS>",
                                 "snake_case __init__",
                                 "line\nend",
                                 "tab\tand\rreturn",
                                 "caf\u00e9",
                                 "cafe\u0301",
                                 "\u0301 alone",
                                 "\u200d\u200f",
                                 "\U0001f600",
                                 "\U0001f468\u200d\U0001f469",
                                 "\U0010ffff",
                                 "\u4e2d\u6587 and \u0416",
                                 "x\u00b2",
                                 "1,000.5",
                                 "...",
                                 "a.b",
                                 "'quoted'"})
    EXPECT_EQ(there_and_back(words, text), text);
  const std::string nul("a\0b", 3);
  EXPECT_EQ(there_and_back(words, nul), nul);
}

TEST(Subtokens, WhatIsNoUtf8IsRefusedAndAppendsNothing) {
  const Subtokenizer words = vocabulary_of({"a"});
  for (const std::string text :
       {"\xff", "a\x80", "\xc3", "\xc0\xaf", "\xe4\xb8", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98"}) {
    std::vector<int32_t> ids = {7};
    EXPECT_EQ(words.encode(text, ids).code(), Code::kInvalid) << testing::PrintToString(text);
    EXPECT_EQ(ids, std::vector<int32_t>{7});
  }
}

TEST(Subtokens, TakesTheLongestSubtokenFromTheLeft) {
  std::vector<std::string> subtokens = {"ab", "abc", "cd_"};
  for (const char c : std::string("\\_u;0123456789<pad>EOSbc")) subtokens.emplace_back(1, c);
  const Subtokenizer words = Subtokenizer::from_subtokens(subtokens).take();
  std::vector<std::string> found;
  for (const int32_t id : encoded(words, "abcd")) found.push_back(words.subtoken(id));
  EXPECT_EQ(found, (std::vector<std::string>{"abc", "d", "_"}));
}

TEST(Subtokens, DecodingLeavesOutWhatTheVocabularyLacks) {
  const Subtokenizer words = vocabulary_of({"one two"});
  std::vector<int32_t> ids = encoded(words, "one two");
  ids.insert(ids.begin(), {-1, INT32_MIN, INT32_MAX, static_cast<int32_t>(words.size())});
  EXPECT_EQ(words.decode(ids), "one two");
}

TEST(Subtokens, TokensAreCutAtLettersAndNumbers) {
  std::vector<std::string> tokens;
  subtokens::for_each_token(U" a1 b,  c \u00bd\u0301 ",
                            [&](std::u32string_view t) { tokens.push_back(unicode::encode(t)); });
  EXPECT_EQ(tokens, (std::vector<std::string>{" ", "a1", "b", ",  ", "c", "\u00bd", "\u0301 "}));
}

// By hand, from how escapes are described.
TEST(Subtokens, EscapesWhatTheAlphabetLacks) {
  subtokens::Alphabet alphabet;
  alphabet.add(U"xyz\n");
  std::u32string out;
  subtokens::escape(U"x_\\q\n\U0001f600", alphabet, out);
  EXPECT_EQ(unicode::encode(out), "x\\u\\\\\\113;\\10;\\128512;_");
}

TEST(Subtokens, UnescapesNumbersOfCharactersAlone) {
  const std::pair<const char32_t*, const char32_t*> cases[] = {{U"\\u\\\\\\113;", U"_\\q"},
                                                               {U"\\1114112;", U"\u3013"},
                                                               {U"\\99999999999999999999999;", U"\u3013"},
                                                               {U"\\55296;", U"\u3013"},
                                                               {U"\\113", U"\\113"},
                                                               {U"\\;", U"\\;"},
                                                               {U"\\x", U"\\x"},
                                                               {U"\\", U"\\"},
                                                               {U"\\0;", U""}};
  for (const auto& [escaped, text] : cases) {
    std::u32string expected = text;
    if (expected.empty()) expected = std::u32string(1, U'\0');
    EXPECT_EQ(subtokens::unescape(escaped), expected) << unicode::encode(escaped);
  }
}

}  // namespace
}  // namespace tenon
