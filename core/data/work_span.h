// What InputWork (tenon/input.h) counts.
#pragma once

#include <cstdint>

namespace tenon {

enum class WorkPart : uint8_t { kRead, kDecode, kChange };

// This thread does work of that part while it lives; one inside another takes over until it ends. Nothing where nobody counts.
class WorkSpan {
 public:
  explicit WorkSpan(WorkPart part);
  ~WorkSpan();
  WorkSpan(const WorkSpan&) = delete;
  WorkSpan& operator=(const WorkSpan&) = delete;

 private:
  bool counts_;
  int before_ = -1;  // the part that it took over from
};

}  // namespace tenon
