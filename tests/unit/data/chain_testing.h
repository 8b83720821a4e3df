// What tests of chains look at.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/dataset.h"

namespace tenon {

using Numbers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

inline std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

inline void read_through(const Dataset& data, int threads = 1) {
  for (ElementIterator at = data.elements(threads); at != data.end(); ++at) continue;
}

// All elements of feature x, batch by batch, or one by one.
inline std::vector<Numbers> elements_of(const Dataset& data, int threads = 1, uint64_t epoch = 0) {
  std::vector<Numbers> out;
  for (ElementIterator at = data.elements(threads, epoch); at != data.end(); ++at)
    out.push_back((*at).at("x").to<int64_t>());
  return out;
}

inline Numbers flat(const Dataset& data, int threads = 1, uint64_t epoch = 0) {
  Numbers out;
  for (const Numbers& element : elements_of(data, threads, epoch)) out.insert(out.end(), element.begin(), element.end());
  return out;
}

inline Texts texts(const Dataset& data, const std::string& feature, int threads = 1, uint64_t epoch = 0) {
  Texts out;
  for (ElementIterator at = data.elements(threads, epoch); at != data.end(); ++at)
    out.emplace_back(text_of((*at).at(feature)));
  return out;
}

}  // namespace tenon
