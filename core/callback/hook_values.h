// What hooks show of a training.
#pragma once

#include <string>

#include "tenon/hooks.h"

namespace tenon {

// By tag. Throws Error that begins with `owner` and names what there is when there is none of a name.
Arrays hook_values(const std::string& owner, const HookTensors& tensors, const TrainingRun& run, const Logs& logs);

// A scalar as Python prints it, a tensor as to_text(Array) does.
std::string hook_text(const Array& value);

}  // namespace tenon
