// JSON of small files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/strings.h"
#include "tenon/status.h"

namespace tenon {

// What is said of a text of `size` bytes whose parser stopped at byte `position`, from 1: behind the last one where the text is cut off.
inline std::string json_mistake(size_t position, size_t size) {
  return cat("is no valid JSON at its byte ", position,
             position <= size ? ""
             : size == 0      ? ": it is empty"
                              : ": it ends in the middle");
}

// Errors name the file.
inline Result<nlohmann::json> parse_json_text(const std::string& path, const std::string& text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    return invalid(path, ": ", json_mistake(e.byte, text.size()));
  } catch (const nlohmann::json::out_of_range&) {
    return invalid(path, ": is no valid JSON: it has a number of more than 1.8e308");
  }
}

}  // namespace tenon
