// Looking into a function of tensors while it runs. Both give x itself: values and gradients are as without them.
#pragma once

#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

// Shows x in each step, on standard error, once the call of the device that did the step has ended:
//   step 12: after dense, f32[64,10]: [[0.1 0.25 -3 ... 0 0 1]
//    ...
// the first three and the last three along each axis. Of several units the parts stand one after the other; what is a
// scalar on each of them is a row of theirs; of dynamic dimensions it shows what is there, as f32[5,10]. Rows that make
// a batch divide by the units (Remainder::kPad) are shown too. Without a name it has that of the op that gives it.
// Steps are those of the Function, from 1, or of the Estimator.
Tensor print(Tensor x, std::string_view name = {});

// A step in which x holds NaN or infinity ends the call with an error: "check_numerics: after dense ('dense/relu'),
// f32[64,10], holds NaN at step 12". It is the first such step of the call, and names the first tensor of it that was
// checked. The host looks when the device has done the call: all its steps were done, those behind it too, and
// variables are as the last one left them; what is printed behind it is not shown. What lies behind the end of a
// dynamic dimension is not looked at. Throws Error where x is not of floats.
Tensor check_numerics(Tensor x, std::string_view message);

}  // namespace tenon
