#include "server/text/text_requests.h"

#include <simdjson.h>

#include "server/text/text_batcher.h"
#include "tenon/text.h"

namespace tenon::server {
namespace {

namespace dom = simdjson::dom;
constexpr size_t kMaxDepth = 8;

Status invalid(const std::string& message) { return Status(Code::kInvalid, message); }

// A text, or an object that has nothing but it: {"inputs": ".."}.
bool text_of(dom::element value, std::string_view* text) {
  dom::object object;
  if (value.get(*text) == simdjson::SUCCESS) return true;
  return value.get(object) == simdjson::SUCCESS && object.size() == 1 &&
         object[kTextInput].get(*text) == simdjson::SUCCESS;
}

Status read_lines(dom::element value, const char* key, int64_t most, ParsedText* out) {
  dom::array list;
  std::string_view text;
  if (value.get(list) != simdjson::SUCCESS || list.size() == 0)
    return invalid(std::string("'") + key + "' must be a list with at least one text");
  if (static_cast<int64_t>(list.size()) > most)
    return invalid("the request has " + std::to_string(list.size()) + " texts, the server takes at most " +
                   std::to_string(most));
  for (const dom::element one : list) {
    if (!text_of(one, &text))
      return invalid(std::string("'") + key + "': element " + std::to_string(out->lines.size()) + " is no text");
    out->lines.emplace_back(text);
  }
  return {};
}

Status read_object(dom::object object, int64_t most, ParsedText* out) {
  dom::element instances, inputs, stream, signature;
  const bool rows = object["instances"].get(instances) == simdjson::SUCCESS,
             columns = object["inputs"].get(inputs) == simdjson::SUCCESS;
  for (const auto& [key, value] : object)
    if (key != "instances" && key != "inputs" && key != "stream" && key != "signature_name")
      return invalid("the key " + json_string(key) + " is not known; expected instances, inputs or stream");
  if (rows == columns)
    return invalid(rows ? "Not expecting both 'inputs' and 'instances' keys" : "Missing 'inputs' or 'instances' key");
  if (object["signature_name"].get(signature) == simdjson::SUCCESS) {
    std::string_view key;
    if (signature.get(key) != simdjson::SUCCESS) return invalid("'signature_name' is no text");
    if (key != "serving_default")
      return invalid("Serving signature name: " + json_string(key) + " not found in signature def");
  }
  out->columns = columns;
  if (object["stream"].get(stream) == simdjson::SUCCESS && stream.get(out->stream) != simdjson::SUCCESS)
    return invalid("'stream' is not true or false");
  TENON_TRY(read_lines(rows ? instances : inputs, rows ? "instances" : "inputs", most, out));
  if (out->stream && out->lines.size() != 1)
    return invalid("one text is streamed, found " + std::to_string(out->lines.size()));
  return {};
}

}  // namespace

Result<ParsedText> parse_text_request(std::string* body, int64_t max_lines) {
  body->reserve(body->size() + simdjson::SIMDJSON_PADDING);
  dom::parser parser;
  dom::element root;
  dom::object object;
  if (body->empty()) return invalid("JSON Parse error: The document is empty");
  if (parser.allocate(body->size() + 1, kMaxDepth) != simdjson::SUCCESS)
    return Status(Code::kUnavailable, "no memory for a body of " + std::to_string(body->size()) + " bytes");
  if (const simdjson::error_code error = parser.parse(body->data(), body->size(), false).get(root))
    return invalid(std::string("JSON Parse error: ") + simdjson::error_message(error));
  if (root.get(object) != simdjson::SUCCESS) return invalid("the body is no JSON object");
  ParsedText out;
  TENON_TRY(read_object(object, max_lines, &out));
  return out;
}

std::string text_answer(const Lines& texts, bool columns) {
  std::string out = columns ? "{\"outputs\":[" : "{\"predictions\":[";
  for (size_t i = 0; i < texts.size(); ++i) out += (i ? "," : "") + json_string(texts[i]);
  return out + "]}\n";
}

std::string text_event(std::string_view text) { return "data: {\"text\":" + json_string(text) + "}\n\n"; }
std::string done_event() { return "data: {\"done\":true}\n\n"; }
std::string error_event(std::string_view message) { return "data: {\"error\":" + json_string(message) + "}\n\n"; }

}  // namespace tenon::server
