// A regular expression (ECMAScript's, without back references) that chooses among names of variables.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/status.h"

namespace tenon {

class NameExpression {
 public:
  // "'(a' is no regular expression: .." where it is none. Expressions that would need much stack or time are errors too:
  // their length times the counts of their {..} is limited, and how often they look ahead.
  static Result<NameExpression> make(std::string_view text);

  const std::string& text() const { return text_; }
  // Python's re.match: what it matches stands at the name's beginning.
  bool begins(const std::string& name) const;
  // Python's re.search: anywhere.
  bool is_in(const std::string& name) const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tenon
