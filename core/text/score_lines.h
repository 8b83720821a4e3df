// What every score of text asks of its lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "tenon/status.h"
#include "text/unicode.h"

namespace tenon {

inline Status check_counts(size_t references, size_t hypotheses) {
  if (references != hypotheses)
    return invalid("there are ", references, " references and ", hypotheses,
                   " hypotheses, expected one of each a line");
  if (references == 0) return invalid("there is no line to score");
  return {};
}

// `what` and `index`, from 0, say in an error which line it is.
inline Result<std::u32string> characters_of(std::string_view line, const char* what, size_t index) {
  std::u32string out;
  if (!unicode::decode(line, out)) return invalid(what, " ", index + 1, ": text is no UTF-8");
  return out;
}

}  // namespace tenon
