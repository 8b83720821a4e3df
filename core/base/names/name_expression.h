// A regular expression (ECMAScript's, without back references) that chooses among names of variables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

class NameExpression {
 public:
  // "'(a' is no regular expression: .." where it is none. Expressions that would need much stack or time are errors too:
  // their length times the counts of their {..} is limited, and how often they look ahead.
  static Result<NameExpression> make(std::string_view text);
  // The same, for replaced().
  static Result<NameExpression> make_with_groups(std::string_view text);

  const std::string& text() const { return text_; }
  // Python's re.match: what it matches stands at the name's beginning.
  bool begins(const std::string& name) const;
  // Python's re.search: anywhere.
  bool is_in(const std::string& name) const;
  // What to say where it is in none of these names of variables: "'cov' is found in no variable's name; variables are
  // 'conv/kernel', 'dense/kernel' and 3 more".
  Status found_in_none_of(const std::vector<std::string>& names) const;
  // `by`, where it matches the whole name, with what its groups have matched in place of $1, $2, ..; else none. REQUIRED: it was made
  // with groups.
  std::optional<std::string> replaced(const std::string& name, const std::string& by) const;

 private:
  struct Compiled;
  static Result<NameExpression> compiled(std::string_view text, bool groups);
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tenon
