#include "model/display/styled_text.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {

StyledText& StyledText::add(std::string_view text, const Style& style) {
  while (!text.empty()) {
    const size_t bytes = std::max<size_t>(utf8_sequence(text), 1);
    glyphs_.push_back({std::string(text.substr(0, bytes)), style});
    text.remove_prefix(bytes);
  }
  return *this;
}

StyledText& StyledText::add(const StyledText& text) {
  glyphs_.insert(glyphs_.end(), text.glyphs_.begin(), text.glyphs_.end());
  return *this;
}

StyledText StyledText::in(const Style& style) const {
  StyledText out = *this;
  for (Glyph& glyph : out.glyphs_) glyph.style = style;
  return out;
}

StyledText StyledText::part(size_t begin, size_t end) const {
  StyledText out;
  out.glyphs_.assign(glyphs_.begin() + static_cast<int64_t>(begin), glyphs_.begin() + static_cast<int64_t>(end));
  return out;
}

StyledText StyledText::without_blanks(size_t least) const {
  size_t end = size();
  while (end > least && glyphs_[end - 1].bytes == " ") --end;
  return part(0, end);
}

// Where words begin that stand on a new line.
std::vector<size_t> StyledText::breaks(size_t width) const {
  std::vector<size_t> out;
  size_t on_line = 0;
  for (size_t begin = 0; begin < size();) {
    size_t end = begin, word = 0;
    while (end < size() && glyphs_[end].bytes == " ") ++end;
    while (end < size() && glyphs_[end].bytes != " ") ++end;
    word = end - begin;
    while (end < size() && glyphs_[end].bytes == " ") ++end;
    const bool fits = on_line + word <= width;
    if (!fits && begin > 0 && (word > width || on_line > 0)) out.push_back(begin);
    on_line = fits ? on_line + (end - begin) : end - begin;
    begin = end;
  }
  return out;
}

std::vector<StyledText> StyledText::wrapped(size_t width) const {
  std::vector<size_t> at = breaks(width);
  at.push_back(size());
  std::vector<StyledText> lines;
  size_t begin = 0;
  for (const size_t end : at) {
    StyledText line = part(begin, end).without_blanks(width);
    if (line.size() > width) {
      const Style style = line.glyphs_[width - 1].style;
      line = line.part(0, width - 1).add("…", style);
    }
    lines.push_back(std::move(line));
    begin = end;
  }
  return lines;
}

StyledText StyledText::aligned(size_t width, char where) const {
  const StyledText text = where == 'l' ? *this : without_blanks(0);
  const size_t room = width - std::min(width, text.size());
  const size_t left = where == 'l' ? 0 : where == 'r' ? room : room / 2;
  return StyledText(std::string(left, ' ')).add(text).add(std::string(room - left, ' '));
}

std::string StyledText::str(bool colours) const {
  std::string out;
  Style style;
  for (const Glyph& glyph : glyphs_) {
    if (colours && glyph.style != style) {
      if (!style.empty()) out += "\x1b[0m";
      if (!glyph.style.empty()) out += cat("\x1b[", glyph.style, "m");
      style = glyph.style;
    }
    out += glyph.bytes;
  }
  return style.empty() ? out : out + "\x1b[0m";
}

}  // namespace tenon
