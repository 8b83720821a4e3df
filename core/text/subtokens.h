// Text to tokens, and tokens to what a vocabulary can write: the part of subtokens that needs no vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::subtokens {

inline constexpr const char* kReserved[] = {"<pad>", "<EOS>"};
inline constexpr std::u32string_view kEscapeCharacters = U"\\_u;0123456789";

// Which characters a vocabulary can write: never a line end, which its file cannot hold.
class Alphabet {
 public:
  Alphabet();  // those of escapes and of reserved subtokens
  void add(std::u32string_view text);
  bool has(char32_t c) const { return c < in_.size() && in_[c]; }
  std::u32string all() const;  // in their order

 private:
  std::vector<bool> in_;
};

// Calls fn(token) for each run of letters and numbers, and for each run of what is neither. A single blank is left out unless it
// begins or ends the text.
template <class Fn>
void for_each_token(std::u32string_view text, const Fn& fn);

// Appends the token, what `alphabet` lacks as \NUMBER;, and an underline at the end.
void escape(std::u32string_view token, const Alphabet& alphabet, std::u32string& out);
void escape_character(char32_t c, const Alphabet& alphabet, std::u32string& out);
// The inverse, of a token without its underline.
std::u32string unescape(std::u32string_view token);

}  // namespace tenon::subtokens

#include "text/unicode.h"

namespace tenon::subtokens {

template <class Fn>
void for_each_token(std::u32string_view text, const Fn& fn) {
  if (text.empty()) return;
  size_t begin = 0;
  bool was = unicode::is_alphanumeric(text[0]);
  for (size_t at = 1; at < text.size(); ++at) {
    const bool is = unicode::is_alphanumeric(text[at]);
    if (is == was) continue;
    const std::u32string_view token = text.substr(begin, at - begin);
    if (token != U" " || begin == 0) fn(token);
    begin = at;
    was = is;
  }
  fn(text.substr(begin));
}

}  // namespace tenon::subtokens
