// Stretches of one buffer that steps have touched: overlapping and adjoining ones are one, so that a long plan which goes
// over the same memory again and again leaves few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace tenon::plugin {

// Stretches are from `begin` to before `end`; empty ones touch nothing.
class TouchedBytes {
 public:
  void add(uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) begin = (--at)->first;
    while (at != ends_.end() && at->first <= end) {
      end = std::max(end, at->second);
      at = ends_.erase(at);
    }
    ends_.emplace_hint(at, begin, end);
  }

  bool overlap(uint64_t begin, uint64_t end) const {
    if (begin >= end) return false;
    const auto behind = ends_.lower_bound(end);
    return behind != ends_.begin() && std::prev(behind)->second > begin;
  }

  size_t stretches() const { return ends_.size(); }

 private:
  std::map<uint64_t, uint64_t> ends_;  // by their beginnings
};

}  // namespace tenon::plugin
