#include "base/text.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "tenon/text.h"

namespace tenon {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

std::string abbreviated(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > 0 && most - end < 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return cat(text.substr(0, end), ".. (", text.size(), " bytes)");
}

size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  const size_t n = text.empty()                  ? 0
                   : lead < 0x80                 ? 1
                   : lead >= 0xc2 && lead < 0xe0 ? 2
                   : lead >= 0xe0 && lead < 0xf0 ? 3
                   : lead >= 0xf0 && lead < 0xf5 ? 4
                                                 : 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);  // overlong forms, surrogates, beyond U+10FFFF
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
      (lead == 0xf4 && second > 0x8f))
    return 0;
  return n;
}

namespace {

// Decodes a well-formed sequence.
char32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead;
  char32_t out = lead & (0x7fu >> sequence.size());
  for (const char c : sequence.substr(1)) out = out << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return out;
}

std::string hexadecimal(const char* format, unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// As "\x1b", "\n" and "\u202e" are written.
std::string visible(std::string_view control) {
  const char32_t point = code_point(control);
  if (point == '\n') return "\\n";
  if (point == '\r') return "\\r";
  if (point == '\t') return "\\t";
  return hexadecimal(control.size() == 1 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(point));
}

// Calls character(sequence) for what is UTF-8 and other(byte) for what is not.
template <class Character, class Other>
void for_each_character(std::string_view text, Character character, Other other) {
  while (!text.empty()) {
    const size_t n = utf8_sequence(text);
    if (n > 0)
      character(text.substr(0, n));
    else
      other(static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<size_t>(n, 1));
  }
}

}  // namespace

bool is_control(std::string_view sequence) {
  const char32_t c = code_point(sequence);
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f || c == 0x2028 ||
         c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string terminal_text(std::string_view text, Lines lines) {
  std::string out;
  for_each_character(
      text,
      [&](std::string_view c) {
        const bool kept = !is_control(c) || (c == "\n" && lines == Lines::kKept);
        append(out, kept ? std::string(c) : visible(c));
      },
      [&](unsigned byte) { out += hexadecimal("\\x%02x", byte); });
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for_each_character(
      text,
      [&](std::string_view c) {
        if (c == "\"" || c == "\\")
          (out += '\\') += c;
        else if (c == "\n" || c == "\t" || c == "\r")
          out += visible(c);
        else
          out += is_control(c) ? hexadecimal("\\u%04x", static_cast<unsigned>(code_point(c))) : std::string(c);
      },
      [&](unsigned) { out += "\xef\xbf\xbd"; });
  return out + "\"";
}

}  // namespace tenon
