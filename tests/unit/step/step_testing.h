// What tests of functions share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/strategy.h"

namespace tenon {

// The message of the Error that the call throws.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

using Names = std::vector<std::string>;

inline Names names(const Strategy& strategy) {
  Names out;
  for (const auto& v : strategy.variables()) out.push_back(v.name);
  return out;
}

}  // namespace tenon
