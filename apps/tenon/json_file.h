// Small JSON files that people write or change: what is wrong with one is an error of one line that names file, place, what was
// expected and what was found.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tenon::runner {

// Throws Error where it is none; `path` is for the message, and the line where the text begins.
nlohmann::json parse_json(const std::string& path, const std::string& text, int64_t line = 1);

// A value as a message shows it; lists and objects may be of any size and depth.
std::string shown(const nlohmann::json& json);
bool is_integer(const nlohmann::json& json);  // that fits int64_t
// Throws Error unless it is there.
const nlohmann::json& member(const std::string& path, const nlohmann::json& json, const char* key);

[[noreturn]] void refuse(const std::string& path, const std::string& why);
// "path: key is 3, expected a text"
[[noreturn]] void refuse(const std::string& path, const std::string& key, const nlohmann::json& found,
                         const std::string& expected);

}  // namespace tenon::runner
