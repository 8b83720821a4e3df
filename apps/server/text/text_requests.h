// Bodies of requests for texts, {"instances": ["..", ..]} or {"inputs": [..]} with perhaps "stream": true, and their answers.
#pragma once

#include <string>
#include <string_view>

#include "server/text/text_model.h"
#include "tenon/status.h"

namespace tenon::server {

struct ParsedText {
  Lines lines;
  bool columns = false;  // "inputs"
  bool stream = false;
};

// kInvalid says what is wrong. The body may be changed.
Result<ParsedText> parse_text_request(std::string* body, int64_t max_lines);
// {"predictions": [..]}, or {"outputs": [..]} for columns.
std::string text_answer(const Lines& texts, bool columns);

// One event of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html): {"text": what is new}; its end: {"done":
// true}; or {"error": why}.
std::string text_event(std::string_view text);
std::string done_event();
std::string error_event(std::string_view message);

}  // namespace tenon::server
