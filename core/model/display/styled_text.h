// Text with colours that is wrapped in columns, as the rich library of Python does it, which Keras prints tables by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// What an escape sequence says: "1" bold, "38;5;34" a colour; "" nothing.
using Style = std::string;

struct Glyph {
  std::string bytes;  // one character
  Style style;
};

class StyledText {
 public:
  StyledText() = default;
  explicit StyledText(std::string_view text, const Style& style = {}) { add(text, style); }
  StyledText& add(std::string_view text, const Style& style = {});
  StyledText& add(const StyledText& text);
  StyledText in(const Style& style) const;  // all of it

  size_t size() const { return glyphs_.size(); }
  StyledText part(size_t begin, size_t end) const;
  // Without blanks at the end, but at least so long.
  StyledText without_blanks(size_t least) const;
  // Lines of at most `width`, broken between words; a word that is longer ends in "…".
  std::vector<StyledText> wrapped(size_t width) const;
  // As wide as `width`: 'l'eft, 'r'ight or 'c'entered.
  StyledText aligned(size_t width, char where) const;
  std::string str(bool colours) const;

 private:
  std::vector<size_t> breaks(size_t width) const;
  std::vector<Glyph> glyphs_;
};

}  // namespace tenon
