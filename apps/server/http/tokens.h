// Who may ask: tokens of a file, one a line, that requests bring as "Authorization: Bearer TOKEN".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon::server {

class Tokens {
 public:
  Tokens() = default;  // none: everybody may
  // Empty lines and those that begin with # are none. kInvalid: there is no token, one is shorter than 16 characters, or has a blank.
  static Result<Tokens> read(const std::string& path);

  bool required() const { return !tokens_.empty(); }
  // The value of the field "Authorization". Takes as long for a wrong token as for a right one of that length. Thread safe.
  bool allow(std::string_view authorization) const;

 private:
  std::vector<std::string> tokens_;
};

}  // namespace tenon::server
