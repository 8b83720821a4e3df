#include "callback/hook_values.h"

#include <algorithm>
#include <cmath>

#include "base/python_text.h"
#include "base/strings.h"

namespace tenon {

Arrays hook_values(const std::string& owner, const HookTensors& tensors, const TrainingRun& run, const Logs& logs) {
  const std::vector<std::string> variables = run.variables();
  Arrays out;
  for (const auto& [tag, name] : tensors) {
    if (name == "loss" && !run.losses().empty()) {
      out[tag] = Array(run.losses().back());
    } else if (const std::span<const float> steps = run.values(name); !steps.empty()) {
      out[tag] = Array(steps.back());
    } else if (const auto it = logs.find(name); it != logs.end()) {
      out[tag] = Array(static_cast<float>(it->second));
    } else if (std::find(variables.begin(), variables.end(), name) != variables.end()) {
      out[tag] = run.read(name);
    } else {
      std::vector<std::string> names{"loss"};
      for (const auto& entry : logs)
        if (entry.first != "loss") names.push_back(entry.first);
      names.insert(names.end(), variables.begin(), variables.end());
      fail(owner, ": there is no '", name, "'; there are: ", join(names));
    }
  }
  return out;
}

std::string hook_text(const Array& value) {
  if (value.shape().rank() > 0) return numpy_text(value);
  const double number = value.item();
  if (value.dtype() == DType::kF64) return python_text(number);
  if (is_float(value.dtype())) return python_text(static_cast<float>(number));
  return cat(std::llround(number));
}

}  // namespace tenon
