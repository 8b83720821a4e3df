// Counts of predictions above thresholds, on the host.
#pragma once

#include <vector>

#include "tenon/metrics.h"

namespace tenon::metrics {

struct Counts {
  double tp, fp, tn, fn;
};
// One for each threshold, of one of the labels, from the sums TP[T..], FP[T..], positives[..], negatives[..].
std::vector<Counts> counts_of(const MetricOp::Sums& sums, size_t label);
// n of equal distances, the first and the last that much beyond 0 and 1.
std::vector<double> even_thresholds(int64_t n, double beyond);
// Under the curve through them.
double area(const std::vector<Counts>& counts, const AUCOptions& options);

}  // namespace tenon::metrics
