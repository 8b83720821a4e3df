#include "forecast/advice.h"

#include <cstdio>

namespace tpu {
namespace {

constexpr double kWorthSaying = 1.25;  // times the arithmetic that was asked for

std::string lift_of(const Forecast& f) {
  const std::string& what = f.bottleneck;
  if (what == "infeed")
    return "more hosts, smaller examples (fewer pixels, bf16 features) or a larger model: the device has time to spare";
  if (what == "host") return "more iterations_per_loop, or a larger batch: the host's time is paid once a step";
  if (what == "HBM") return "bf16 activations, a batch and features that fill their tiles of 8 x 128";
  if (what == "vector unit") return "fewer elementwise passes, or features in multiples of 128";
  if (what == "interconnect") return "a larger batch a core, or bf16 gradients: all-reduces are paid once a step";
  if (what == "launch") return "larger and fewer kernels: a larger batch or wider layers";
  return "feature sizes in multiples of 128 and a batch a core in multiples of 8 fill the matrix unit";
}

}  // namespace

std::string advice(const Machine& machine, const Forecast& forecast) {
  std::string out;
  uint64_t asked = 0, done = 0;
  for (const Kernel& k : forecast.kernels) asked += k.flops, done += k.padded_flops;
  if (asked && static_cast<double>(done) > kWorthSaying * static_cast<double>(asked)) {
    char text[160];
    std::snprintf(text, sizeof text, "padding: the matrix unit does %.1fx the arithmetic that was asked for\n",
                  static_cast<double>(done) / static_cast<double>(asked));
    out += text;
  }
  out += "bottleneck: " + forecast.bottleneck + "; " + lift_of(forecast) + "\n";
  if (!machine.validated)
    out += "machine: " + machine.name + " was never held against a measurement; its numbers are unvalidated\n";
  return out;
}

}  // namespace tpu
