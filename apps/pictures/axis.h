// The scale of an axis and the numbers on it.
#pragma once

#include <string>
#include <vector>

namespace tenon::pictures {

struct Tick {
  double at = 0;
  std::string label;
};

enum class Scale : uint8_t { kLinear, kWhole, kLog };  // kWhole: ticks are whole numbers

class Axis {
 public:
  // An axis for data from `low` to `high`. REQUIRED: both are finite, and above 0 where kLog.
  Axis(double low, double high, Scale scale) : low_(low), high_(high), scale_(scale) {}
  // With room at both ends; from 0 where that is near.
  static Axis padded(double low, double high, Scale scale);

  // Where a value lies, 0 at the low end and 1 at the high one.
  double place(double value) const;
  bool shows(double value) const;  // it has a place on this axis
  // About so many, within the axis.
  std::vector<Tick> ticks(int about) const;

 private:
  std::vector<Tick> decades() const;
  double low_, high_;
  Scale scale_;
};

// "0.25", "1,200", "1e-05": as precise as ticks of that distance need.
std::string number_label(double value, double step);

}  // namespace tenon::pictures
