#include "train/scaling/schedule.h"

#include <algorithm>
#include <vector>

namespace tenon {

PartTimes schedule(std::span<const TimedPart> parts) {
  PartTimes out;
  std::vector<double> end(parts.size(), 0);
  double now = 0, wire_free = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    const TimedPart& part = parts[p];
    if (part.awaits >= 0) now = std::max(now, end[static_cast<size_t>(part.awaits)]);
    if (part.exchanges) {
      end[p] = wire_free = std::max(now, wire_free) + part.seconds;
      out.exchange += part.seconds;
    } else {
      end[p] = now += part.seconds;
      out.compute += part.seconds;
    }
  }
  out.step = std::max(now, wire_free);
  return out;
}

}  // namespace tenon
