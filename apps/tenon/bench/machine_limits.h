// What this machine can do at most, measured: what profiles are held against.
#pragma once

namespace tenon::runner {

struct MachineLimits {
  double flops = 0;  // a second, fused multiply-adds in f32 counting as 2, by the widest vectors that there are
  double bytes = 0;  // a second, read from memory that no cache holds
};

// The least time that so much takes at those limits, in percent of the time it took. What came faster than memory gives it
// lay in caches: then arithmetic alone counts. At most 100: Winograd's products are fewer than those that are counted.
double percent_of_limit(const MachineLimits& limits, double flops, double bytes, double ms);

// With so many threads at once. Takes about a quarter of a second.
MachineLimits measure_limits(int threads);

}  // namespace tenon::runner
