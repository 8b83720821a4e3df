// Characters and what Unicode says of them; the expectations are Python's.
#include "text/unicode.h"

#include <gtest/gtest.h>

namespace tenon::unicode {
namespace {

TEST(Unicode, DecodesUtf8AndStopsAtWhatIsNone) {
  std::u32string out;
  EXPECT_TRUE(decode("a\u00e4\u20ac\U0001f600", out));
  EXPECT_EQ(out, U"a\u00e4\u20ac\U0001f600");
  out.clear();
  EXPECT_FALSE(decode("ab\xe2\x82", out));
  EXPECT_EQ(out, U"ab");
}

void expect(bool expected, bool (*is)(char32_t), const std::u32string& text) {
  for (const char32_t c : text) EXPECT_EQ(is(c), expected) << "U+" << std::hex << static_cast<uint32_t>(c);
}

TEST(Unicode, KnowsCategories) {
  expect(true, is_alphanumeric, U"aZ\u00e9\u00aa\u02b0\u4e2d7\u00b2\u00bd\u0664\u2167");
  expect(false, is_alphanumeric, U" _-\u0301\u20ac\u200d\u3000\ue000\uffff");
  expect(true, is_punctuation, U"_-([.!\u00ab\u2026\u3001");
  expect(false, is_punctuation, U"a$+^ ");
  expect(true, is_symbol, U"$+^|\u20ac\u00a9\U0001f600");
  expect(true, is_digit, U"0\u0664\uff11");
  expect(false, is_digit, U"\u00b2\u00bd\u2167");
  expect(true, is_space, U" \t\n\x0b\x1c\x1f\u0085\u00a0\u2003\u2028\u3000");
  expect(false, is_space, U"\u200b\ufeff\u180e\x08");
}

TEST(Unicode, StripsSpacesOfEitherForm) {
  EXPECT_EQ(stripped(U"\u00a0 a b\u2003\n"), U"a b");
  EXPECT_EQ(stripped(U"\u3000 "), U"");
  EXPECT_EQ(stripped(std::string_view("\u00a0 \u3000a b\u2003\n\u0085")), "a b");
  EXPECT_EQ(stripped(std::string_view("\u3000 ")), "");
  EXPECT_EQ(stripped(std::string_view("")), "");
  EXPECT_EQ(stripped(std::string_view("\u00e9")), "\u00e9");
  EXPECT_EQ(stripped(std::string_view(" \xa0 \x80 ")), "\xa0 \x80");  // no UTF-8
}

TEST(Unicode, LowersAsPythonDoes) {
  EXPECT_EQ(lower(U"STRASSE \u1e9e \u0130I \u00c9"), U"strasse \u00df i\u0307i \u00e9");
  EXPECT_EQ(lower(U"\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3."), U"\u03bf\u03b4\u03bf\u03c2 \u03c3\u03b1\u03c2.");
  EXPECT_EQ(lower(U"\u03a3"), U"\u03c3");
  EXPECT_EQ(lower(U"\U00010400"), U"\U00010428");
}

TEST(Unicode, WordsStandBetweenSpaces) {
  EXPECT_EQ(words_of(U" \u00a0one\u3000two\n"), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(words_of(U" \n").empty());
}

}  // namespace
}  // namespace tenon::unicode
