#include "pictures/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tenon::pictures {
namespace {

// 1, 2 or 5 times a power of ten.
double nice_step(double range, int about) {
  const double raw = range / std::max(about, 1), power = std::pow(10, std::floor(std::log10(raw))),
               leading = raw / power;
  return power * (leading < 1.5 ? 1 : leading < 3.5 ? 2 : leading < 7.5 ? 5 : 10);
}

std::string printed(const char* format, int precision, double value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, precision, value);
  return text.data();
}

void add_commas(std::string& digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0, end = std::min(digits.find('.'), digits.size());
  for (size_t at = end; at > first + 3;) digits.insert(at -= 3, 1, ',');
}

}  // namespace

std::string number_label(double value, double step) {
  if (std::abs(value) < step * 1e-6) value = 0;
  if (value != 0 && (step < 1e-4 || std::abs(value) >= 1e9)) return printed("%.*g", 3, value);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  std::string out = printed("%.*f", decimals, value);
  add_commas(out);
  return out;
}

Axis Axis::padded(double low, double high, Scale scale) {
  if (scale == Scale::kLog) {
    const double room = high > low ? std::pow(high / low, 0.05) : 2;
    return {low / room, high * room, scale};
  }
  if (high == low) {
    const double room = low == 0 ? 1 : std::abs(low) * 0.1;
    return {low - room, high + room, scale};
  }
  const double range = high - low, room = range * 0.05;
  const bool near_zero = low >= 0 && low < range * 0.35;
  return {near_zero ? 0 : low - room, high + room, scale};
}

double Axis::place(double value) const {
  if (scale_ == Scale::kLog) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

bool Axis::shows(double value) const { return std::isfinite(value) && (scale_ != Scale::kLog || value > 0); }

std::vector<Tick> Axis::ticks(int about) const {
  if (scale_ == Scale::kLog && high_ / low_ >= 8) return decades();
  double step = nice_step(high_ - low_, about);
  if (scale_ == Scale::kWhole) step = std::max(step, 1.0);
  std::vector<Tick> out;
  const double slack = step * 1e-9;
  for (double at = std::ceil((low_ - slack) / step) * step; at <= high_ + slack; at += step)
    out.push_back({at, number_label(at, step)});
  return out;
}

// Powers of ten, with 2 and 5 between where there are few.
std::vector<Tick> Axis::decades() const {
  std::vector<Tick> out;
  const bool few = high_ / low_ < 1000;
  for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10)
    for (const double leading : {1.0, 2.0, 5.0}) {
      const double at = power * leading;
      if ((leading == 1 || few) && at >= low_ && at <= high_) out.push_back({at, printed("%.*g", 3, at)});
    }
  return out;
}

}  // namespace tenon::pictures
