#include "base/strings.h"

#include <algorithm>
#include <numeric>
#include <vector>

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

std::string meant(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? "" : cat("; did you mean '", abbreviated(near), "'?");
}

std::string quoted_first(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(cat("'", abbreviated(name), "'"));
  return join_first(quoted, kMost);
}

}  // namespace tenon
