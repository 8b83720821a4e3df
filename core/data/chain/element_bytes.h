// An element as bytes, for files of this machine and its likes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/element.h"

namespace tenon {

// Appends. Little-endian: number of features, then of each the name, the dtype, the dims and the numbers.
void append_element(const Element& element, std::string& bytes);
// Takes one from the front. kInvalid where the bytes are none.
Result<Element> take_element(std::string_view& bytes);

// The same of a text and of plain numbers.
void append_text(std::string_view text, std::string& bytes);
Result<std::string_view> take_text(std::string_view& bytes);

}  // namespace tenon
