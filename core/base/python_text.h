// Numbers and texts as Python prints them, for texts and files that are Keras's and TensorFlow's to the character.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenon/array.h"

namespace tenon {

// The shortest digits that give the number again: "0.0", "1e-05", "1e+16", "nan", "inf".
std::string python_text(double value);
// An f32 as NumPy prints it: its own shortest digits.
std::string python_text(float value);

// An array as NumPy prints it for TensorFlow's hooks: "[-0.001]".
std::string numpy_text(const Array& array);

// A text as repr() prints it: "'a'", "'it\\'s'", "\"it's\"" for one with ' and without ".
std::string python_repr(std::string_view text);

// A field of a table as the csv module quotes it: where it has the separator, a quote or the end of a line.
std::string csv_field(std::string_view field, std::string_view separator = ",");

// By a format specification of whole numbers ("", "d", "02d") or others (".2f", "8.3e", "g"). None where it is none of these.
std::optional<std::string> python_format(int64_t value, std::string_view specification);
std::optional<std::string> python_format(double value, std::string_view specification);

}  // namespace tenon
