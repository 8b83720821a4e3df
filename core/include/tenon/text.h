// Text that came from outside (names in files and of files, what a backend says), made fit for where it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class Lines : uint8_t { kEscaped, kKept };

// For a terminal: nothing in it moves the cursor, colours, rings or turns text around. Control characters (C0, DEL, C1,
// line separators, directions of bidirectional text) become \n, \t, \r, \x1b or \u202e, a byte that is no UTF-8 \xff. A
// backslash stays one, so that paths can be copied.
std::string terminal_text(std::string_view text, Lines lines = Lines::kEscaped);

// A JSON string with its quotes, always valid UTF-8: the same characters escaped as JSON does, U+FFFD for a byte that
// is no UTF-8.
std::string json_string(std::string_view text);

// Whether a well-formed UTF-8 sequence is one of those control characters.
bool is_control(std::string_view sequence);

}  // namespace tenon
