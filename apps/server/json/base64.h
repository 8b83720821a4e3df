// RFC 4648's base64, as TF Serving reads it: of the standard or the URL alphabet, with or without the padding.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::server {

// nullopt: there is another character, or the number of characters is impossible.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);  // of the standard alphabet, padded

}  // namespace tenon::server
