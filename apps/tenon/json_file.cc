#include "json_file.h"

#include <algorithm>

#include "tenon/status.h"

namespace tenon::runner {
namespace {

// "expected ':', found a number": what the parser says as "unexpected number literal; expected ':'", the only place where
// it says it. Behind another mistake it is the character at which it stopped.
std::string expectation(std::string_view what, char stopped_at) {
  constexpr std::string_view kFound = "unexpected ", kExpected = "; expected ", kLiteral = " literal";
  const size_t found = what.rfind(kFound), expected = what.rfind(kExpected);
  if (found == what.npos || what.find("; last read: ") != what.npos)
    return std::string("expected JSON, found '") + stopped_at + "'";
  const auto plain = [&](std::string_view token) -> std::string {
    if (token == "end of input") return "the end of the file";
    if (token.ends_with(kLiteral)) return "a " + std::string(token.substr(0, token.size() - kLiteral.size()));
    return std::string(token);
  };
  const std::string_view token = what.substr(found + kFound.size(), expected - found - kFound.size());
  return "expected " + (expected == what.npos ? "a value" : plain(what.substr(expected + kExpected.size()))) +
         ", found " + plain(token);
}

[[noreturn]] void refuse_damaged(const std::string& path, std::string_view text, int64_t first_line,
                                 const nlohmann::json::parse_error& e) {
  const size_t at = e.byte > 0 ? e.byte - 1 : 0;  // of the last that it read
  const std::string_view before = text.substr(0, at);
  const auto line = first_line + std::count(before.begin(), before.end(), '\n');
  const size_t column = 1 + before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0
  const bool empty = text.find_first_not_of(" \t\r\n") == text.npos;
  const std::string why = at < text.size() ? expectation(e.what(), text[at])
                          : empty          ? "the file is empty"
                                           : "the file ends in the middle";
  refuse(path + ":" + std::to_string(line) + ":" + std::to_string(column), "is damaged: " + why);
}

}  // namespace

nlohmann::json parse_json(const std::string& path, const std::string& text, int64_t line) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    refuse_damaged(path, text, line, e);
  } catch (const nlohmann::json::out_of_range&) {
    refuse(path, "is damaged: expected numbers of at most 1.8e308, found a larger one");
  }
}

void refuse(const std::string& path, const std::string& why) {
  throw Error(Status(Code::kInvalid, path + ": " + why));
}

std::string shown(const nlohmann::json& json) {
  constexpr size_t kMost = 80;
  if (json.is_structured()) return json.is_array() ? "a list" : "an object";
  const std::string text = json.dump();
  return text.size() > kMost ? "a text of " + std::to_string(text.size()) + " bytes" : text;
}

void refuse(const std::string& path, const std::string& key, const nlohmann::json& found,
                         const std::string& expected) {
  refuse(path, key + " is " + shown(found) + ", expected " + expected);
}

const nlohmann::json& member(const std::string& path, const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) refuse(path, std::string("expected '") + key + "', found none");
  return *found;
}

bool is_integer(const nlohmann::json& json) {
  return json.is_number_integer() && (!json.is_number_unsigned() || json.get<uint64_t>() <= uint64_t{INT64_MAX});
}

}  // namespace tenon::runner
