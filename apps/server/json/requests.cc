#include "server/json/requests.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "server/json/tensor_reader.h"
#include "tenon/text.h"

namespace tenon::server {
namespace {

namespace dom = simdjson::dom;

// Lists and objects around a value: tensors have at most 8 dimensions.
constexpr size_t kMaxDepth = 16;
// Parsers are kept for the next requests: memory that is new costs as much time as the parsing. One takes up to thirteen times the longest
// body that it may read, so that each thread has one for bodies up to the first size, and all together one up to the second.
constexpr size_t kOwnBytes = size_t{256} << 10, kSharedBytes = size_t{2} << 20;

Status invalid(const std::string& message) { return Status(Code::kInvalid, message); }

Status in_element(const Status& status, int64_t element, const std::string& name, const char* list) {
  return Status(status.code(), "Failed to process element: " + std::to_string(element) + " key: " + name + " of '" +
                                   list + "' list. Error: " + status.message());
}

// A file of an image is an object, too.
bool is_image(dom::object object) {
  std::string_view text;
  return object.size() == 1 && object["b64"].get(text) == simdjson::SUCCESS;
}

class RequestParser {
 public:
  RequestParser(RequestMethod method, const ServedModel& model, const RequestLimits& limits)
      : method_(method), model_(model), limits_(limits), budget_(limits.max_bytes) {}

  Status parse(dom::object body) {
    TENON_TRY(refuse_doubles(body));
    TENON_TRY(find_signature_of(body));
    for (const ServingValue& input : out_.signature->inputs) readers_.emplace_back(model_, input, &budget_);
    if (readers_.empty()) return invalid("the signature \"" + out_.signature->key + "\" has no inputs");
    const dom::element* const examples = member("examples");
    const dom::element* const instances = member("instances");
    const dom::element* const inputs = member("inputs");
    if (method_ != RequestMethod::kPredict) {
      if (!examples) return invalid("When method is classify or regress, key 'examples' is expected and was not found");
      if (member("context")) return invalid("'context' is not supported: expected all features in each of 'examples'");
      TENON_TRY(read_rows(*examples, "examples"));
    } else {
      if (!instances == !inputs)
        return invalid(instances ? "Not expecting both 'inputs' and 'instances' keys"
                                 : "Missing 'inputs' or 'instances' key");
      TENON_TRY(instances ? read_rows(*instances, "instances") : read_columns(*inputs));
    }
    for (TensorReader& reader : readers_) out_.inputs.emplace(reader.input().tensor, reader.take());
    return {};
  }

  ParsedRequest take() { return std::move(out_); }

 private:
  const dom::element* member(std::string_view key) const {
    for (const auto& [name, value] : members_)
      if (name == key) return &value;
    return nullptr;
  }

  Status refuse_doubles(dom::object object) {
    for (const auto& [key, value] : object) {
      if (member(key)) return invalid("the key " + json_string(key) + " is there twice");
      if (members_.size() < 16) members_.emplace_back(key, value);
    }
    return {};
  }

  Status find_signature_of(dom::object) {
    std::string_view key = "serving_default";
    if (const dom::element* const named = member("signature_name"))
      if (named->get(key) != simdjson::SUCCESS)
        return invalid("JSON Value: " + json_text(*named) +
                       " not formatted correctly. 'signature_name' key must be a string value.");
    out_.signature = find_signature(model_, key);
    if (!out_.signature) return invalid("Serving signature name: " + json_string(key) + " not found in signature def");
    return check_method(*out_.signature, method_);
  }

  Status read_rows(dom::element value, const char* list) {
    dom::array rows;
    if (value.get(rows) != simdjson::SUCCESS || rows.begin() == rows.end())
      return invalid(std::string("Request data format error: '") + list + "' must be a list with at least one element");
    out_.format = RequestFormat::kRows;
    for (const dom::element row : rows) {
      if (out_.rows == limits_.max_rows) return too_many();
      TENON_TRY(read_row(row, list));
      ++out_.rows;
    }
    return {};
  }

  Status read_row(dom::element row, const char* list) {
    dom::object object;
    const bool named = row.get(object) == simdjson::SUCCESS && !(readers_.size() == 1 && is_image(object));
    if (named) return read_named(object, list);
    if (readers_.size() > 1)
      return invalid("Expecting object but got value/list at item " + std::to_string(out_.rows) +
                     " of input list; the signature has the inputs " + input_names());
    const Status status = readers_[0].add(row);
    return status.ok() ? status : in_element(status, out_.rows, readers_[0].input().name, list);
  }

  Status read_named(dom::object object, const char* list) {
    for (const auto& [key, value] : object) {
      TensorReader* const reader = reader_of(key);
      if (!reader)
        return in_element(
            invalid("JSON object: does not have named input: " + std::string(key) + "; expected " + input_names()),
            out_.rows, std::string(key), list);
      if (reader->rows() > out_.rows)
        return in_element(invalid("the key is there twice"), out_.rows, std::string(key), list);
      if (const Status status = reader->add(value); !status.ok())
        return in_element(status, out_.rows, std::string(key), list);
    }
    for (const TensorReader& reader : readers_)
      if (reader.rows() == out_.rows)
        return in_element(
            invalid("JSON object must have keys: " + input_names() + "; it has no " + reader.input().name), out_.rows,
            reader.input().name, list);
    return {};
  }

  Status read_columns(dom::element value) {
    out_.format = RequestFormat::kColumns;
    dom::object object;
    const bool named = value.get(object) == simdjson::SUCCESS && !(readers_.size() == 1 && is_image(object));
    if (!named) {
      if (readers_.size() > 1)
        return invalid("'inputs' is a plain value/list, but expected an object with the keys " + input_names());
      return read_column(&readers_[0], value);
    }
    std::set<std::string_view> seen;
    for (const auto& [key, column] : object) {
      TensorReader* const reader = reader_of(key);
      if (!reader)
        return invalid("JSON object: does not have named input: " + std::string(key) + "; expected " + input_names());
      if (!seen.insert(key).second) return invalid("the input " + json_string(key) + " is there twice");
      TENON_TRY(read_column(reader, column));
    }
    for (const TensorReader& reader : readers_)
      if (!seen.contains(reader.input().name))
        return invalid("Missing named input: " + reader.input().name + " in 'inputs' object.");
    return {};
  }

  Status read_column(TensorReader* reader, dom::element column) {
    const std::string& name = reader->input().name;
    dom::array rows;
    if (column.get(rows) != simdjson::SUCCESS || rows.begin() == rows.end())
      return invalid("Failed to process input: " + name + ". Error: JSON Value: " + json_text(column) +
                     " is no list with at least one row");
    for (const dom::element row : rows) {
      if (reader->rows() == limits_.max_rows) return too_many();
      if (const Status status = reader->add(row); !status.ok())
        return Status(status.code(), "Failed to process input: " + name + " row: " +
                                         std::to_string(reader->rows() - 1) + ". Error: " + status.message());
    }
    if (out_.rows != 0 && reader->rows() != out_.rows)
      return invalid("Tensor name: " + name + " has inconsistent batch size: " + std::to_string(reader->rows()) +
                     " expecting: " + std::to_string(out_.rows));
    out_.rows = reader->rows();
    return {};
  }

  Status too_many() const {
    return invalid("the request has more rows than " + std::to_string(limits_.max_rows) +
                   ", which the server takes at most");
  }
  TensorReader* reader_of(std::string_view name) {
    for (TensorReader& reader : readers_)
      if (reader.input().name == name) return &reader;
    return nullptr;
  }
  std::string input_names() const {
    std::string out;
    for (const TensorReader& reader : readers_) out += (out.empty() ? "" : ",") + reader.input().name;
    return out;
  }

  RequestMethod method_;
  const ServedModel& model_;
  const RequestLimits& limits_;
  int64_t budget_;
  std::vector<std::pair<std::string_view, dom::element>> members_;
  std::vector<TensorReader> readers_;
  ParsedRequest out_;
};

// NaN and Infinity are no JSON. So that the error tells the input that has them, the first becomes a string, which no number
// may be, and the others 0. False: there are none.
bool quote_no_number(std::string* body) {
  constexpr std::string_view kWords[] = {"NaN", "-NaN", "Infinity", "-Infinity"};
  size_t first = body->npos, first_size = 0;
  for (size_t at = 0; at < body->size(); ++at) {
    if ((*body)[at] == '"') {
      for (++at; at < body->size() && (*body)[at] != '"'; ++at) at += (*body)[at] == '\\';
      continue;
    }
    for (const std::string_view word : kWords) {
      if (body->compare(at, word.size(), word) != 0) continue;
      if (first == body->npos)
        first = at, first_size = word.size();
      else
        body->replace(at, word.size(), "0" + std::string(word.size() - 1, ' '));
      at += word.size() - 1;
      break;
    }
  }
  if (first == body->npos) return false;
  body->insert(first + first_size, "\"").insert(first, "\"");
  return true;
}

// A parser for bodies of that size, until it is destroyed.
class LentParser {
 public:
  explicit LentParser(size_t bytes) : shared_(bytes > kOwnBytes) {
    if (shared_ && bytes <= kSharedBytes) {
      const std::lock_guard lock(mutex());
      parser_ = std::move(kept());
    }
    if (!shared_) parser_ = std::move(own());
    if (!parser_) parser_ = std::make_unique<dom::parser>();
    const size_t wanted = bytes > kSharedBytes ? bytes : shared_ ? kSharedBytes : kOwnBytes;
    if (parser_->capacity() < wanted && parser_->allocate(wanted, kMaxDepth) != simdjson::SUCCESS) parser_.reset();
  }
  ~LentParser() {
    if (!parser_ || parser_->capacity() > kSharedBytes) return;
    if (!shared_) {
      own() = std::move(parser_);
      return;
    }
    const std::lock_guard lock(mutex());
    kept() = std::move(parser_);
  }
  LentParser(const LentParser&) = delete;
  LentParser& operator=(const LentParser&) = delete;
  dom::parser* get() const { return parser_.get(); }  // nullptr: there is no memory

 private:
  using Kept = std::unique_ptr<dom::parser>;
  static Kept& own() {
    thread_local Kept parser;
    return parser;
  }
  static Kept& kept() {
    static Kept parser;
    return parser;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  const bool shared_;
  Kept parser_;
};

// *no_json: it could not be read at all.
Result<ParsedRequest> parse_body(std::string* body, RequestMethod method, const ServedModel& model,
                                 const RequestLimits& limits, bool* no_json) {
  body->reserve(body->size() + simdjson::SIMDJSON_PADDING);
  const LentParser lent(body->size() + 1);
  dom::parser* const parser = lent.get();
  Result<ParsedRequest> result = invalid("");
  dom::element root;
  dom::object object;
  if (body->empty())
    result = invalid("JSON Parse error: The document is empty");
  else if (!parser)
    result = Status(Code::kUnavailable, "no memory for a body of " + std::to_string(body->size()) + " bytes");
  else if (const simdjson::error_code error = parser->parse(body->data(), body->size(), false).get(root))
    result = invalid(std::string("JSON Parse error: ") + simdjson::error_message(error)), *no_json = true;
  else if (root.get(object) != simdjson::SUCCESS)
    result = invalid(std::string("JSON Value: ") + json_text(root) + " Type: " + json_type_name(root) +
                     " is not of expected type: Object");
  else {
    RequestParser request(method, model, limits);
    const Status status = request.parse(object);
    result = status.ok() ? Result<ParsedRequest>(request.take()) : status;
  }
  return result;
}

}  // namespace

Result<ParsedRequest> parse_request(std::string* body, RequestMethod method, const ServedModel& model,
                                    const RequestLimits& limits) {
  bool no_json = false;
  Result<ParsedRequest> result = parse_body(body, method, model, limits, &no_json);
  if (!no_json || !quote_no_number(body)) return result;
  bool still_none = false;
  Result<ParsedRequest> named = parse_body(body, method, model, limits, &still_none);
  return still_none || named.ok() ? std::move(result) : std::move(named);
}

}  // namespace tenon::server
