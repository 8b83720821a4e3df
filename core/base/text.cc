#include "tenon/text.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"

namespace tenon {
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
