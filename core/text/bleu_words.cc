#include "text/bleu_words.h"

#include "text/unicode.h"

namespace tenon {
namespace {

using Text = std::u32string;
using Test = bool (*)(char32_t);

// Where `first` and then `second` stand: blanks before, between or behind them. Matches do not overlap.
struct Spaces {
  bool before, between, behind;
};
Text spaced(const Text& text, Test first, Test second, Spaces spaces) {
  Text out;
  for (size_t at = 0; at < text.size();) {
    if (at + 1 >= text.size() || !first(text[at]) || !second(text[at + 1])) {
      out += text[at++];
      continue;
    }
    if (spaces.before) out += U' ';
    out += text[at];
    if (spaces.between) out += U' ';
    out += text[at + 1];
    if (spaces.behind) out += U' ';
    at += 2;
  }
  return out;
}

Text surrounded(const Text& text, Test test) {
  Text out;
  for (const char32_t c : text) test(c) ? out += Text{U' ', c, U' '} : out += c;
  return out;
}

bool is_no_digit(char32_t c) { return !unicode::is_digit(c); }
// TensorFlow's list of punctuation lacks the backslash, which stands in front of a bracket there.
bool is_mteval_punctuation(char32_t c) { return c != U'\\' && unicode::is_punctuation(c); }

Text mteval_14(const Text& text) {
  const Text left = spaced(text, is_no_digit, is_mteval_punctuation, {false, true, true});
  const Text both = spaced(left, is_mteval_punctuation, is_no_digit, {true, true, false});
  return surrounded(both, unicode::is_symbol);
}

bool is_ascii_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool no_ascii_digit(char32_t c) { return !is_ascii_digit(c); }
bool is_point(char32_t c) { return c == U'.' || c == U','; }
bool is_dash(char32_t c) { return c == U'-'; }
// ASCII's punctuation but for ' , - . and the blank among it.
bool is_mark(char32_t c) {
  return (c >= U'{' && c <= U'~') || (c >= U'[' && c <= U'`') || (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') ||
         (c >= U':' && c <= U'@') || c == U'/';
}

void replace_all(Text& text, const Text& from, const Text& to) {
  for (size_t at = text.find(from); at != Text::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

Text mteval_13a(Text text) {
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  const Text marked = surrounded(Text{U" "} + text + U" ", is_mark);
  const Text left = spaced(marked, no_ascii_digit, is_point, {false, true, true});
  const Text both = spaced(left, is_point, no_ascii_digit, {true, true, false});
  return spaced(both, is_ascii_digit, is_dash, {false, true, true});
}

}  // namespace

std::vector<std::string> bleu_words(std::u32string_view text, BleuTokenizer tokenizer) {
  return unicode::words_of(tokenizer == BleuTokenizer::k13a ? mteval_13a(Text(text)) : mteval_14(Text(text)));
}

}  // namespace tenon
