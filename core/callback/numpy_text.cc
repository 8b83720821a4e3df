// Arrays as NumPy prints them with suppress=True, as TensorFlow's hooks do: eight digits behind the point, 75 columns, the three
// ends of what has more than 1000 elements.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/python_text.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr int64_t kMostWhole = 1000, kEnds = 3;
constexpr size_t kLine = 75;
constexpr int kDigits = 8;
constexpr double kLeastOfExponents = 1e8;

struct Word {
  std::string whole, rest;  // before the point; the point and what is behind it
  std::string text() const { return whole + rest; }
};

// The shortest digits that give the number again, rounded to eight behind the point; without zeros at the end.
template <class T>
std::string digits_of(T value, std::chars_format format) {
  char text[512];
  std::string out(text, std::to_chars(text, text + sizeof text, value, format).ptr);
  const size_t exponent = std::min(out.find('e'), out.size()), point = std::min(out.find('.'), exponent);
  if (exponent - point <= kDigits + 1) return out;
  const bool fixed = format == std::chars_format::fixed;
  std::snprintf(text, sizeof text, fixed ? "%.*f" : "%.*e", kDigits, static_cast<double>(value));
  out = text;
  const size_t end = std::min(out.find('e'), out.size()), last = out.find_last_not_of('0', end - 1);
  return out.substr(0, last + 1) + out.substr(end);
}

template <class T>
Word word_of(T value, std::chars_format format) {
  std::string text = digits_of(value, format);
  const size_t exponent = std::min(text.find('e'), text.size());
  if (text.find('.') == std::string::npos) text.insert(exponent, ".");
  const size_t point = text.find('.');
  return {text.substr(0, point), text.substr(point)};
}

// The numbers of one array, each as wide as the others.
template <class T>
std::vector<std::string> float_words(const std::vector<T>& values) {
  T most = 0;
  for (const T v : values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  const bool exponents = most >= static_cast<T>(kLeastOfExponents);
  std::vector<Word> words;
  size_t before = 0, behind = 0;
  bool others = false;
  for (const T v : values) {
    words.push_back(std::isfinite(v) ? word_of(v, exponents ? std::chars_format::scientific : std::chars_format::fixed)
                                     : Word{std::isnan(v) ? "nan"
                                            : v < 0       ? "-inf"
                                                          : "inf",
                                            ""});
    others |= !std::isfinite(v);
    if (!std::isfinite(v)) continue;
    before = std::max(before, words.back().whole.size());
    behind = std::max(behind, words.back().rest.size());
  }
  if (behind == 0) behind = 1;
  size_t wide = before + behind;
  if (others)
    for (const Word& w : words) wide = std::max(wide, w.rest.empty() ? w.whole.size() : 0);
  std::vector<std::string> out;
  for (const Word& w : words) {
    std::string text = w.rest;
    const size_t exponent = std::min(text.find('e'), text.size());
    if (!text.empty()) text.insert(exponent, behind - text.size(), exponents ? '0' : ' ');
    text = w.whole + text;
    out.push_back(std::string(wide - std::min(wide, text.size()), ' ') + text);
  }
  return out;
}

std::vector<std::string> whole_words(const std::vector<int64_t>& values) {
  std::vector<std::string> out;
  size_t wide = 0;
  for (const int64_t v : values) wide = std::max(wide, out.emplace_back(std::to_string(v)).size());
  for (std::string& word : out) word.insert(0, wide - word.size(), ' ');
  return out;
}

std::vector<std::string> words_of(const Array& array, const std::vector<int64_t>& shown) {
  const auto taken = [&](const auto& all) {
    std::decay_t<decltype(all)> out;
    for (const int64_t i : shown) out.push_back(all[static_cast<size_t>(i)]);
    return out;
  };
  if (array.dtype() == DType::kF64) return float_words(taken(array.to<double>()));
  if (is_float(array.dtype())) return float_words(taken(array.to<float>()));
  std::vector<std::string> out = whole_words(taken(array.to<int64_t>()));
  if (array.dtype() != DType::kBool) return out;
  for (std::string& word : out) word = word == "1" ? " True" : "False";
  return out;
}

// The array's brackets and lines around `words`, which are those of the shown elements in turn.
class Printed {
 public:
  Printed(const Shape& shape, bool all) : shape_(shape), all_(all) {}
  // Which elements there are room for, or how they look. `word` gives the text of an element.
  template <class WordOf>
  std::string text(const WordOf& word) const {
    return part(0, 0, 1, kLine, word);
  }

 private:
  template <class WordOf>
  std::string part(int axis, int64_t first, size_t indent, size_t room, const WordOf& word) const {
    if (axis == shape_.rank()) return word(first);
    const int64_t n = shape_[axis];
    int64_t each = 1;
    for (int d = axis + 1; d < shape_.rank(); ++d) each *= shape_[d];
    const bool last_axis = axis + 1 == shape_.rank();
    std::string out, line(indent, ' ');
    for (int64_t i = 0; i < n; ++i) {
      const bool left_out = !all_ && n > 2 * kEnds && i == kEnds;
      const std::string next = left_out ? "..." : part(axis + 1, first + i * each, indent + 1, room - 1, word);
      if (left_out) i = n - kEnds - 1;
      const bool last = i + 1 == n;
      if (last_axis) {
        if (line.size() > indent && line.size() + next.size() > room - 1) {
          out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
          line.assign(indent, ' ');
        }
        line += next + (last ? "" : " ");
      } else {
        out += std::string(indent, ' ') + next +
               (last ? "" : std::string(static_cast<size_t>(shape_.rank() - axis - 1), '\n'));
      }
    }
    if (last_axis) out += line;
    return "[" + out.substr(std::min(indent, out.size())) + "]";
  }

  const Shape& shape_;
  bool all_;
};

}  // namespace

std::string numpy_text(const Array& array) {
  if (array.elements() == 0) return "[]";
  const Printed printed(array.shape(), array.elements() <= kMostWhole);
  std::vector<int64_t> shown;
  printed.text([&](int64_t element) { return shown.push_back(element), std::string(); });
  const std::vector<std::string> words = words_of(array, shown);
  size_t next = 0;
  return printed.text([&](int64_t) { return words[next++]; });
}

}  // namespace tenon
