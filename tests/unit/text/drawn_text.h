// The text that tests/fixtures/make_text.py draws, and what the originals make of it (tests/fixtures/text.csv).
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "unit/layer/golden.h"

namespace tenon {

class DrawnText {
 public:
  explicit DrawnText(uint64_t seed) : state_(seed) {
    for (int i = 0; i < 3000; ++i) words_.push_back(word());
  }

  std::vector<std::string> lines(int n) {
    std::vector<std::string> out;
    while (n-- > 0) out.push_back(line());
    return out;
  }

  // Some words less, some others, some in capitals.
  std::string changed(const std::string& line) {
    std::string out;
    bool first = true;
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find(' ', at), line.size());
      std::string word = line.substr(at, end - at);
      at = end + 1;
      const uint64_t what = below(8);
      if (what == 1) word = words_[below(3000)];
      if (what == 2)
        for (char& c : word) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
      if (what == 0) continue;
      out += (first ? "" : " ") + word;
      first = false;
    }
    return out;
  }

 private:
  uint64_t below(uint64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % n;
  }

  std::string word() {
    static const std::vector<std::string> pieces = {
        "an", "be", "ch",  "der",        "e",  "fü", "gen", "ho",    "ing",   "ß",  "kl", "lä",      "mi",
        "n",  "Öl", "pro", "qu",         "re", "st", "ung", "И",     "жа",    "中", "文", "e\u0301", "ﬁ",
        "7",  "42", "½",   "\U0001d518", "_",  "\\", "\\u", "\\92;", "<pad>", "'",  "İ",  "ς"};
    std::string out;
    for (uint64_t n = 1 + below(4); n > 0; --n) out += pieces[below(below(pieces.size()) + 1)];
    return out;
  }

  std::string between() {
    static const std::vector<std::string> rare = {", ", " - ", "\u00a0", "/", " (", ") ", "; ", "&amp;", "  ", "."};
    const uint64_t i = below(30 + rare.size());
    return i < 30 ? " " : rare[i - 30];
  }

  std::string line() {
    static const std::vector<std::string> ends = {".", "?", "!", "…", ".\"", "", " ", "€"};
    std::string out;
    const uint64_t n = 1 + below(18);
    for (uint64_t i = 0; i < n; ++i) {
      if (i) out += between();
      out += words_[below(below(3000) + 1)];
    }
    return out + ends[below(ends.size())];
  }

  uint64_t state_;
  std::vector<std::string> words_;
};

inline uint32_t checksum(const std::string& text) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const unsigned char*>(text.data()), static_cast<unsigned>(text.size())));
}

inline double original(const std::string& name) {
  for (const golden::Row& row : golden::rows("../fixtures/text.csv"))
    if (row.at("case") == name) return std::stod(row.at("value"));
  ADD_FAILURE() << "text.csv has no '" << name << "'";
  return 0;
}

}  // namespace tenon
