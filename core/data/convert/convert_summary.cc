#include <algorithm>

#include "tenon/convert.h"

namespace tenon {

ConvertSummary::LeftOut& ConvertSummary::Split::entry(std::string_view why) {
  const auto found = std::find_if(left_out.begin(), left_out.end(), [&](const LeftOut& l) { return l.why == why; });
  if (found != left_out.end()) return *found;
  return left_out.emplace_back(LeftOut{std::string(why), 0, {}});
}

const ConvertSummary::LeftOut& ConvertSummary::Split::of(std::string_view why) const {
  static const LeftOut none;
  const auto found = std::find_if(left_out.begin(), left_out.end(), [&](const LeftOut& l) { return l.why == why; });
  return found != left_out.end() ? *found : none;
}

}  // namespace tenon
