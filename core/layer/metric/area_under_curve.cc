// The area under a curve that is known at some thresholds, as Keras sums it.
#include <algorithm>
#include <cmath>

#include "layer/metric/metric_parts.h"
#include "layer/metric/threshold_metrics.h"

namespace tenon::metrics {
namespace {

// Between two thresholds precision is no line over recall: TP and FP are (Davis and Goadrich 2006).
double interpolated_precision(const std::vector<Counts>& counts) {
  double out = 0;
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    const Counts &more = counts[i], &fewer = counts[i + 1];
    const double all_more = more.tp + more.fp, all_fewer = fewer.tp + fewer.fp;
    const double slope = ratio(more.tp - fewer.tp, std::max(all_more - all_fewer, 0.0));
    const double intercept = fewer.tp - slope * all_fewer;
    const double growth = all_more > 0 && all_fewer > 0 ? all_more / all_fewer : 1;
    const double part = slope * (more.tp - fewer.tp + intercept * std::log(growth));
    out += ratio(part, std::max(fewer.tp + fewer.fn, 0.0));
  }
  return out;
}

}  // namespace

double area(const std::vector<Counts>& counts, const AUCOptions& o) {
  const bool pr = o.curve == "PR";
  if (pr && o.summation_method == "interpolation") return interpolated_precision(counts);
  std::vector<double> x, y;
  for (const Counts& c : counts) {
    const double recall = ratio(c.tp, c.tp + c.fn);
    x.push_back(pr ? recall : ratio(c.fp, c.fp + c.tn));
    y.push_back(pr ? ratio(c.tp, c.tp + c.fp) : recall);
  }
  double out = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    const double height = o.summation_method == "minoring"   ? std::min(y[i], y[i + 1])
                          : o.summation_method == "majoring" ? std::max(y[i], y[i + 1])
                                                             : (y[i] + y[i + 1]) / 2;
    out += (x[i] - x[i + 1]) * height;
  }
  return out;
}

}  // namespace tenon::metrics
