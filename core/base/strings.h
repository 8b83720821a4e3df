// Small text helpers for messages.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/status.h"

namespace tenon {

inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, const char* text) { out += text; }
inline void append(std::string& out, const std::string& text) { out += text; }
inline void append(std::string& out, char c) { out += c; }
inline void append(std::string& out, bool b) { out += b ? "true" : "false"; }

template <class T>
requires std::is_arithmetic_v<T>
void append(std::string& out, T value) {
  char digits[40];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// Concatenates strings and numbers: cat("expected ", 3, " found ", x).
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

template <class... Parts>
Status invalid(const Parts&... parts) {
  return Status(Code::kInvalid, cat(parts...));
}

// Throws Error with code kInvalid.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(Status(Code::kInvalid, cat(parts...)));
}

// "a, b, c"
template <class Range>
std::string join(const Range& items, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    append(out, item);
  }
  return out;
}

// Behind a comma, where it is not the first.
inline void append_item(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}

// "a, b, c and 5 more": the first few alone, so that a message stays a line.
template <class Range>
std::string join_first(const Range& items, size_t most, std::string_view separator = ", ") {
  std::string out;
  size_t n = 0;
  for (const auto& item : items) {
    if (n++ >= most) continue;
    if (n > 1) out += separator;
    append(out, item);
  }
  return n > most ? cat(out, " and ", n - most, " more") : out;
}

// Bytes of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none: not overlong, no surrogate.
size_t utf8_sequence(std::string_view text);

// Without blanks and line ends around it.
std::string_view trimmed(std::string_view text);
std::string_view without_byte_order_mark(std::string_view text);

// `text` as a message may quote it, whatever its length: all of it, or its first `most` bytes, cut between characters, and
// how many there are: "first bytes.. (300000000 bytes)".
std::string abbreviated(std::string_view text, size_t most = 80);

// The candidate nearest to `word` by edit distance when it is close enough to be meant, else "".
template <class Range>
std::string_view nearest(std::string_view word, const Range& candidates);
size_t edit_distance(std::string_view a, std::string_view b);
// "; did you mean 'batch'?", or "".
std::string meant(std::string_view word, const std::vector<std::string>& candidates);
// "'a', 'b' and 5 more", each name abbreviated.
std::string quoted_first(const std::vector<std::string>& names);

template <class Range>
std::string_view nearest(std::string_view word, const Range& candidates) {
  std::string_view best;
  size_t best_distance = word.size() / 3 + 2;
  for (std::string_view candidate : candidates)
    if (size_t d = edit_distance(word, candidate); d < best_distance) best = candidate, best_distance = d;
  return best;
}

}  // namespace tenon
