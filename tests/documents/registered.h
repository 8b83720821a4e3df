// The blocks of the documents that can be run, each under the place where it stands: "writing_a_model:12".
#pragma once

#include <functional>
#include <map>
#include <string>

namespace documents {

inline std::map<std::string, std::function<void()>>& blocks() {
  static std::map<std::string, std::function<void()>> all;
  return all;
}

struct Registered {
  Registered(const std::string& place, std::function<void()> block) { blocks()[place] = std::move(block); }
};

}  // namespace documents
