// What this machine can do at most, measured: what profiles are held against.
#pragma once

namespace tenon::runner {

struct MachineLimits {
  double flops = 0;  // a second, fused multiply-adds in f32 counting as 2, by the widest vectors that there are
  double bytes = 0;  // a second, read from memory that no cache holds
};

// With so many threads at once. Takes about a quarter of a second.
MachineLimits measure_limits(int threads);

}  // namespace tenon::runner
