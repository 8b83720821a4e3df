// Bodies of requests for texts, {"instances": ["..", ..]} or {"inputs": [..]} with perhaps "stream": true, and their answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon::server {

struct ParsedText {
  std::vector<std::string> lines;
  bool columns = false;  // "inputs"
  bool stream = false;
};

// kInvalid says what is wrong. The body may be changed.
Result<ParsedText> parse_text_request(std::string* body, size_t max_lines);
// {"predictions": [..]}, or {"outputs": [..]} for columns.
std::string text_answer(const std::vector<std::string>& texts, bool columns);

// One event of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html): {"text": what is new}; its end: {"done":
// true}; or {"error": why}.
std::string text_event(std::string_view text);
std::string done_event();
std::string error_event(std::string_view message);

}  // namespace tenon::server
