#include "base/python_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "base/strings.h"

namespace tenon {
namespace {

template <class T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const T size = std::fabs(value);
  const bool fixed = size == 0 || (size >= static_cast<T>(1e-4) && size < static_cast<T>(1e16));
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string out(digits, end.ptr);
  return fixed && out.find('.') == std::string::npos ? out + ".0" : out;
}

std::string escaped(unsigned char c) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", c);
  return text;
}

constexpr size_t kMostDigits = 2;  // of a width or a precision

// [0][WIDTH][.PRECISION][TYPE], where `types` has the types; printf's form of it, without a type.
std::optional<std::string> printf_form(std::string_view text, std::string_view types, char* type) {
  *type = types[0];
  if (!text.empty() && types.find(text.back()) != std::string_view::npos) *type = text.back(), text.remove_suffix(1);
  size_t digits = 0, points = 0;
  for (const char c : text) {
    digits = c == '.' ? 0 : digits + 1;
    points += c == '.';
    if ((c != '.' && (c < '0' || c > '9')) || digits > kMostDigits + 1 || points > 1) return std::nullopt;
  }
  return "%" + std::string(text);
}

template <class T>
std::string formatted(const std::string& form, T value) {
  char out[512];
  std::snprintf(out, sizeof out, form.c_str(), value);
  return out;
}

}  // namespace

std::string python_repr(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const size_t size = utf8_sequence(text);
    const char c = text[0];
    if (size > 1)
      out += text.substr(0, size);
    else if (c == quote || c == '\\')
      out += {'\\', c};
    else if (c == '\n' || c == '\t' || c == '\r')
      out += {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
    else
      out += size == 0 || c < ' ' || c == '\x7f' ? escaped(static_cast<unsigned char>(c)) : std::string(1, c);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out + quote;
}

std::string csv_field(std::string_view field, std::string_view separator) {
  if (field.find_first_of(cat("\"\r\n", separator)) == std::string_view::npos) return std::string(field);
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string python_text(double value) { return shortest(value); }
std::string python_text(float value) { return shortest(value); }

std::optional<std::string> python_format(int64_t value, std::string_view specification) {
  char type;
  const std::optional<std::string> form = printf_form(specification, "d", &type);
  if (!form || form->find('.') != std::string::npos) return python_format(static_cast<double>(value), specification);
  return formatted(*form + "lld", static_cast<long long>(value));
}

std::optional<std::string> python_format(double value, std::string_view specification) {
  if (specification.empty()) return python_text(value);
  char type;
  const std::optional<std::string> form = printf_form(specification, "gfeEGF", &type);
  if (!form) return std::nullopt;
  return formatted(*form + type, value);
}

}  // namespace tenon
