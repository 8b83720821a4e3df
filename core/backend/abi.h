// The ABI inside core/backend: nobody outside this folder includes it.
#pragma once

#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/status.h"

namespace tenon {

// "BACKEND: message". Unknown codes count as kInternal; the text is made printable.
Status from_abi(const tenon_status& status, std::string_view backend, std::string_view entry);

// Text of a plugin is not trusted: control characters and what is no UTF-8 become '?', length is
// bounded. Lines are kept.
std::string printable(std::string_view text);
// NULL counts as empty; no more than 4,096 bytes are looked at.
std::string printable(const char* text);

// The same in one line.
std::string one_line(std::string_view text);

}  // namespace tenon
