#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>

namespace tenon::unicode {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_between(utf8proc_category_t c, utf8proc_category_t first, utf8proc_category_t last) {
  return c >= first && c <= last;
}

bool is_cased(char32_t c) { return is_between(category(c), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT); }

}  // namespace

bool decode(std::string_view text, std::u32string& out) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    if (bytes[at] < 0x80) {
      out += static_cast<char32_t>(bytes[at++]);
      continue;
    }
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &c);
    if (size <= 0) return false;
    out += static_cast<char32_t>(c);
    at += static_cast<size_t>(size);
  }
  return true;
}

void append(std::string& out, char32_t c) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

std::string encode(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append(out, c);
  return out;
}

bool is_alphanumeric(char32_t c) {
  if (c < 0x80) return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9');
  const utf8proc_category_t k = category(c);
  return is_between(k, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO) ||
         is_between(k, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}
bool is_punctuation(char32_t c) { return is_between(category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
bool is_symbol(char32_t c) { return is_between(category(c), UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }
bool is_digit(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_space(char32_t c) {
  const bool control = (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f) || c == 0x85;
  return control || is_between(category(c), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

std::u32string_view stripped(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view stripped(std::string_view text) {
  const auto is_space_of = [](std::string_view bytes) {
    utf8proc_int32_t c = 0;
    const auto size = static_cast<utf8proc_ssize_t>(bytes.size());
    return utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()), size, &c) == size &&
           is_space(static_cast<char32_t>(c));
  };
  for (size_t size = 1; size <= std::min<size_t>(text.size(), 4);) {
    const bool space = is_space_of(text.substr(0, size));
    if (space) text.remove_prefix(size);
    size = space ? 1 : size + 1;
  }
  for (size_t size = 1; size <= std::min<size_t>(text.size(), 4);) {
    const bool space = is_space_of(text.substr(text.size() - size));
    if (space) text.remove_suffix(size);
    size = space ? 1 : size + 1;
  }
  return text;
}

std::vector<std::string> words_of(std::u32string_view text) {
  std::vector<std::string> out;
  bool in_word = false;
  for (const char32_t c : text) {
    const bool space = is_space(c);
    if (!space && !in_word) out.emplace_back();
    if (!space) append(out.back(), c);
    in_word = !space;
  }
  return out;
}

std::u32string lower(std::u32string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    const bool ends_word = at > 0 && is_cased(text[at - 1]) && (at + 1 == text.size() || !is_cased(text[at + 1]));
    if (c == 0x130)
      out += U"i\u0307";
    else if (c == 0x3a3 && ends_word)
      out += U'\u03c2';
    else
      out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
  return out;
}

}  // namespace tenon::unicode
