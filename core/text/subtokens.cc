#include "text/subtokens.h"

#include <algorithm>
#include <charconv>

namespace tenon::subtokens {
namespace {

constexpr char32_t kEndOfUnicode = 0x110000;
constexpr char32_t kUndefined = 0x3013;  // what a number that is no character becomes

void append_number(char32_t c, std::u32string& out) {
  char digits[12] = {};
  const char* end = std::to_chars(digits, digits + sizeof digits, static_cast<uint32_t>(c)).ptr;
  out += U'\\';
  for (const char* d = digits; d != end; ++d) out += static_cast<char32_t>(*d);
  out += U';';
}

bool is_ascii_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_surrogate(char32_t c) { return c >= 0xd800 && c < 0xe000; }

}  // namespace

Alphabet::Alphabet() {
  add(kEscapeCharacters);
  for (const std::string_view reserved : kReserved) add(std::u32string(reserved.begin(), reserved.end()));
}

void Alphabet::add(std::u32string_view text) {
  for (const char32_t c : text) {
    if (c == U'\n') continue;
    if (c >= in_.size()) in_.resize(c + 1);
    in_[c] = true;
  }
}

std::u32string Alphabet::all() const {
  std::u32string out;
  for (char32_t c = 0; c < in_.size(); ++c)
    if (in_[c]) out += c;
  return out;
}

void escape_character(char32_t c, const Alphabet& alphabet, std::u32string& out) {
  if (c == U'\\')
    out += U"\\\\";
  else if (c == U'_')
    out += U"\\u";
  else if (alphabet.has(c))
    out += c;
  else
    append_number(c, out);
}

void escape(std::u32string_view token, const Alphabet& alphabet, std::u32string& out) {
  for (const char32_t c : token) escape_character(c, alphabet, out);
  out += U'_';
}

std::u32string unescape(std::u32string_view token) {
  std::u32string out;
  for (size_t at = 0; at < token.size();) {
    const std::u32string_view rest = token.substr(at);
    if (rest.starts_with(U"\\u") || rest.starts_with(U"\\\\")) {
      out += rest[1] == U'u' ? U'_' : U'\\';
      at += 2;
      continue;
    }
    size_t end = 1;
    uint64_t number = 0;
    while (rest[0] == U'\\' && end < rest.size() && is_ascii_digit(rest[end]))
      number = std::min<uint64_t>(number * 10 + (rest[end++] - U'0'), kEndOfUnicode);
    if (end > 1 && end < rest.size() && rest[end] == U';') {
      const auto c = static_cast<char32_t>(number);
      out += c < kEndOfUnicode && !is_surrogate(c) ? c : kUndefined;
      at += end + 1;
      continue;
    }
    out += rest[0];
    ++at;
  }
  return out;
}

}  // namespace tenon::subtokens
