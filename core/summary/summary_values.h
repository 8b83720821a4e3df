// What each kind of summary is made of: values of TensorBoard's plugins, as bytes of Summary.Value unless said otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/summary.h"

namespace tenon {

std::string scalar_value(std::string_view name, double data, const std::string& description, bool tf1);

// [buckets, 3]: left edge, right edge, count. All zeros of no numbers; of equal ones the last bucket has them.
std::vector<double> histogram_buckets(const Array& data, int64_t buckets);

// [6, thresholds]: true and false positives, true and false negatives, precision, recall. Throws Error that names the summary.
std::vector<float> pr_curve_values(const std::string& name, const Array& labels, const Array& predictions,
                                   const PrCurveSummaryOptions& options);

// A GraphDef.
std::string graph_def(const std::vector<GraphNode>& nodes);

std::string hparams_start_value(const Params& values, const std::string& trial_id);
std::string hparams_end_value(bool success);
std::string hparams_experiment_value(const std::vector<HParamInfo>& hparams, const std::vector<MetricInfo>& metrics);

}  // namespace tenon
