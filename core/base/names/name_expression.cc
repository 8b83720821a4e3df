#include "base/names/name_expression.h"

#include <algorithm>
#include <charconv>
#include <locale>
#include <regex>

#include "base/strings.h"

namespace tenon {
namespace {

// The library's compiler and matcher call themselves for each part of an expression: so many take less than 1 MiB of the
// stack. A part in {n} is n parts.
constexpr size_t kMostParts = 4000;
// Each look-ahead within another multiplies the time by the length of a name.
constexpr int kMostLookAheads = 4;

// The largest number between the braces that begin here.
size_t count_of(std::string_view braces) {
  size_t most = 1;
  for (size_t at = 1; at < braces.size() && braces[at] != '}'; ++at) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(braces.data() + at, braces.data() + braces.size(), number);
    if (error == std::errc::invalid_argument) continue;
    if (error != std::errc()) return kMostParts + 1;
    most = std::max(most, number);
    at = static_cast<size_t>(end - braces.data()) - 1;
  }
  return std::min(most, kMostParts + 1);
}

// Escaped braces count as others do: names have none.
size_t parts_of(std::string_view text) {
  size_t parts = text.size();
  for (size_t at = 0; at < text.size() && parts <= kMostParts; ++at)
    if (text[at] == '{') parts *= count_of(text.substr(at));
  return parts;
}

int look_aheads_of(std::string_view text) {
  int count = 0;
  for (size_t at = 0; at < text.size(); ++at)
    count += text.substr(at).starts_with("(?=") || text.substr(at).starts_with("(?!");
  return count;
}

// libstdc++ fills tables of the locale as expressions are compiled and names replaced, without a lock: they are filled at once here.
void fill_character_tables() {
  static const bool filled = [] {
    const auto& characters = std::use_facet<std::ctype<char>>(std::locale());
    char all[256], narrow[256];
    for (int i = 0; i < 256; ++i) all[i] = static_cast<char>(i);
    characters.widen('a');
    characters.narrow(std::begin(all), std::end(all), '?', narrow);
    return true;
  }();
  static_cast<void>(filled);
}

}  // namespace

struct NameExpression::Compiled {
  std::regex regex;
};

Result<NameExpression> NameExpression::make(std::string_view text) { return compiled(text, false); }
Result<NameExpression> NameExpression::make_with_groups(std::string_view text) { return compiled(text, true); }

Result<NameExpression> NameExpression::compiled(std::string_view text, bool groups) {
  const std::string quoted = cat("'", abbreviated(text), "'");
  if (const size_t parts = parts_of(text); parts > kMostParts)
    return invalid(quoted, " is too long a regular expression: expected at most ", kMostParts,
                   " characters, times the counts of its {..}, found ", parts > text.size() ? "more" : cat(parts));
  if (const int count = look_aheads_of(text); count > kMostLookAheads)
    return invalid(quoted, " looks ahead ", count, " times, expected at most ", kMostLookAheads,
                   " of (?=..) and (?!..)");
  // It is decided in time that grows with the name's length, not with its exponential, and the matcher calls itself for states
  // of the expression alone, not for characters of the name.
  auto flags = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
  if (!groups) flags |= std::regex_constants::nosubs;
  fill_character_tables();
  NameExpression out;
  out.text_ = text;
  try {
    out.compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(out.text_, flags)});
  } catch (const std::regex_error& error) {
    return invalid(quoted, " is no regular expression: ", error.what());
  }
  return out;
}

bool NameExpression::begins(const std::string& name) const {
  return std::regex_search(name, compiled_->regex, std::regex_constants::match_continuous);
}

std::optional<std::string> NameExpression::replaced(const std::string& name, const std::string& by) const {
  std::smatch match;
  if (!std::regex_match(name, match, compiled_->regex)) return std::nullopt;
  return match.format(by);
}

bool NameExpression::is_in(const std::string& name) const { return std::regex_search(name, compiled_->regex); }

Status NameExpression::found_in_none_of(const std::vector<std::string>& names) const {
  return invalid("'", abbreviated(text_), "' is found in no variable's name; ",
                 names.empty() ? "there is no variable" : "variables are " + quoted_first(names), meant(text_, names));
}

}  // namespace tenon
