// The ABI inside core/backend: nobody outside this folder includes it.
#pragma once

#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/status.h"

namespace tenon {

// "BACKEND: message". Unknown codes count as kInternal; the text is made printable.
Status from_abi(const tenon_status& status, std::string_view backend, std::string_view entry);

// Control characters replaced, length bounded: text of a plugin is not trusted.
std::string printable(std::string_view text);

}  // namespace tenon
