#include "tenon/text.h"

#include <gtest/gtest.h>

#include <random>

#include "base/strings.h"

namespace tenon {
namespace {

TEST(TerminalText, LeavesWhatCanBeSeen) {
  EXPECT_EQ(terminal_text("dense/kernel \\ 'é' 漢 😀"), "dense/kernel \\ 'é' 漢 😀");
  EXPECT_EQ(terminal_text(""), "");
}

TEST(TerminalText, ShowsWhatActsOnATerminal) {
  EXPECT_EQ(terminal_text("\033[2J\a\b\r\t\n\x7f"), "\\x1b[2J\\x07\\x08\\r\\t\\n\\x7f");
  EXPECT_EQ(terminal_text(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(terminal_text("\xc2\x9b"
                          "2J\xc2\x85"),
            "\\u009b2J\\u0085")
      << "C1: the same as ESC [, and a new line";
  EXPECT_EQ(terminal_text("\u202egnp.exe\u202c\u2066\u2028"), "\\u202egnp.exe\\u202c\\u2066\\u2028");
}

TEST(TerminalText, KeepsLinesWhereToldTo) { EXPECT_EQ(terminal_text("a\nb\033", Lines::kKept), "a\nb\\x1b"); }

TEST(TerminalText, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(terminal_text("\xff\x9b\xc0\xaf"), "\\xff\\x9b\\xc0\\xaf");
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a surrogate pair";
  EXPECT_EQ(terminal_text("\xe2\x82"), "\\xe2\\x82") << "cut short";
}

TEST(JsonString, EscapesWhatJsonAndTerminalsMind) {
  EXPECT_EQ(json_string("a \"b\" \\ \n\t\r\033\x7f"), "\"a \\\"b\\\" \\\\ \\n\\t\\r\\u001b\\u007f\"");
  EXPECT_EQ(json_string("\u202e\xc2\x9b é"), "\"\\u202e\\u009b é\"");
}

TEST(JsonString, HasTheReplacementCharacterForBytesThatAreNoUtf8) {
  EXPECT_EQ(json_string("a\xff\xc0z"), "\"a\ufffd\ufffdz\"");
}

bool is_clean(std::string_view text) {
  while (!text.empty()) {
    const size_t n = utf8_sequence(text);
    if (n == 0 || is_control(text.substr(0, n))) return false;
    text.remove_prefix(n);
  }
  return true;
}

// Bytes as they come, and bytes of which sequences are made.
std::string random_text(std::mt19937& random) {
  constexpr std::string_view kParts = "\xc2\x80\x9b\xe2\xaa\xa8\x81\xed\xf0\xf4\x90\033\"\\\n";
  std::string out;
  for (unsigned n = random() % 24; n > 0; --n)
    out += random() % 3 ? kParts[random() % kParts.size()] : static_cast<char>(random());
  return out;
}

TEST(Text, OfAnyBytesIsCleanUtf8) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::string text = random_text(random);
    ASSERT_TRUE(is_clean(terminal_text(text))) << i;
    ASSERT_TRUE(is_clean(json_string(text))) << i;
    ASSERT_EQ(terminal_text(terminal_text(text)), terminal_text(text)) << i;
  }
}

}  // namespace
}  // namespace tenon
