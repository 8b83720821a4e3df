// Numbers drawn at random while a program runs: others in each step, keyed by the Strategy's seed and counted, never
// from a shared state. The same seed gives the same numbers on every device, and whatever the number of threads; on a
// device of several units each unit draws its own.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// f32, of the function that is being traced. Throw Error when there is none, or a bound makes no sense.
Tensor draw_uniform(const Shape& shape, double low = 0, double high = 1);  // [low, high)
Tensor draw_normal(const Shape& shape, double mean = 0, double stddev = 1);

}  // namespace tenon
