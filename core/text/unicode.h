// Characters: UTF-8 to code points and back, and what Unicode says of them (by utf8proc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::unicode {

// Appends the code points of `text` to `out`. Where a byte is no UTF-8: false, and `out` has what stands before it.
bool decode(std::string_view text, std::u32string& out);
void append(std::string& out, char32_t c);
std::string encode(std::u32string_view text);

// General categories L and N: a letter or a number.
bool is_alphanumeric(char32_t c);
bool is_punctuation(char32_t c);  // category P
bool is_symbol(char32_t c);       // category S
bool is_digit(char32_t c);        // category Nd
// As Python's str.isspace, which what was written in Python splits and strips by.
bool is_space(char32_t c);
// Without spaces around it. Of UTF-8, what is no UTF-8 is no space.
std::u32string_view stripped(std::u32string_view text);
std::string_view stripped(std::string_view text);
// What stands between spaces, as UTF-8.
std::vector<std::string> words_of(std::u32string_view text);

// By Unicode's default rules, as Python's str.lower: an I with a dot becomes two characters, and a sigma between a letter and what
// is none becomes a final one.
std::u32string lower(std::u32string_view text);

}  // namespace tenon::unicode
