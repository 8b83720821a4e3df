// Metrics of numbers: root mean squared error, correlations, R2.
#include <cmath>
#include <numeric>

#include "layer/metric/metric_parts.h"

namespace tenon {
namespace {

using namespace metrics;

losses::Pair numbers(const char* metric, Tensor labels, Tensor predictions) {
  const losses::Pair m = same_shape(metric, labels, predictions);
  return {cast(m.y, DType::kF32), cast(m.p, DType::kF32)};
}

// Over the last axis: each value less the mean.
Tensor centred(Tensor x) { return x - reduce_mean(x, {-1}, true); }

MetricOp root_mean_squared_error(Tensor labels, Tensor predictions, Tensor w) {
  const auto [y, p] = numbers("root_mean_squared_error", labels, predictions);
  MetricOp op = weighted("root_mean_squared_error", square(p - y), w);
  op.result = [](const MetricOp::Sums& s) { return std::sqrt(ratio(s[0][0], s[1][0])); };
  return op;
}

MetricOp pearson_correlation(Tensor labels, Tensor predictions, Tensor w) {
  const auto [y, p] = numbers("pearson_correlation", labels, predictions);
  const auto standard = [](Tensor x) {
    const Tensor c = centred(x);
    return c / sqrt(reduce_mean(square(c), {-1}, true));
  };
  return weighted("pearson_correlation", reduce_mean(standard(y) * standard(p), {-1}), w);
}

MetricOp concordance_correlation(Tensor labels, Tensor predictions, Tensor w) {
  const auto [y, p] = numbers("concordance_correlation", labels, predictions);
  const Tensor dy = centred(y), dp = centred(p);
  const Tensor shift = reduce_mean(y, {-1}) - reduce_mean(p, {-1});
  const Tensor spread = reduce_mean(square(dy), {-1}) + reduce_mean(square(dp), {-1}) + square(shift);
  return weighted("concordance_correlation", reduce_mean(dy * dp, {-1}) * 2.0 / (spread + losses::kEpsilon), w);
}

// Sums of y, y^2, (y - p)^2 and the weights, for each output.
MetricOp r2_sums(Tensor labels, Tensor predictions, Tensor w) {
  auto [y, p] = numbers("r2_score", labels, predictions);
  if (y.rank() > 2) fail("r2_score: predictions are ", predictions.type().str(), ", expected [batch, outputs]");
  if (y.rank() == 1) y = expand_dims(y, -1), p = expand_dims(p, -1);
  const Tensor each = w ? sample_weights("r2_score", w, y) : full_like(y, 1);
  MetricOp op;
  for (const Tensor& x : {y, square(y), square(y - p)}) op.sums.push_back(reduce_sum(x * each, {0}));
  op.sums.push_back(reduce_sum(each, {0}));
  return op;
}

std::vector<double> variations(const MetricOp::Sums& s) {
  std::vector<double> out;
  for (size_t i = 0; i < s[0].size(); ++i) out.push_back(s[1][i] - s[0][i] * ratio(s[0][i], s[3][i]));
  return out;
}

std::vector<double> r2_scores(const MetricOp::Sums& s) {
  std::vector<double> out = variations(s);
  for (size_t i = 0; i < out.size(); ++i) {
    const double raw = s[3][i] == 0 ? 0 : 1 - s[2][i] / out[i];
    out[i] = std::isinf(raw) ? 0 : raw;
  }
  return out;
}

double mean_r2(const MetricOp::Sums& s) {
  const std::vector<double> scores = r2_scores(s);
  return ratio(std::accumulate(scores.begin(), scores.end(), 0.0), static_cast<double>(scores.size()));
}

double weighted_r2(const MetricOp::Sums& s) {
  const std::vector<double> variation = variations(s), score = r2_scores(s);
  return ratio(std::inner_product(variation.begin(), variation.end(), score.begin(), 0.0),
               std::accumulate(variation.begin(), variation.end(), 0.0));
}

}  // namespace

Metric RootMeanSquaredError(const std::string& name) { return {name, root_mean_squared_error}; }
Metric LogCoshError(const std::string& name) { return Metric(LogCosh({.name = name})); }
Metric PearsonCorrelation(const std::string& name) { return {name, pearson_correlation}; }
Metric ConcordanceCorrelation(const std::string& name) { return {name, concordance_correlation}; }
Metric R2Score(const R2ScoreOptions& o) {
  expect_choice("r2_score: class_aggregation", o.class_aggregation,
                {"uniform_average", "variance_weighted_average", ""});
  return {o.name, [how = o.class_aggregation](Tensor y, Tensor p, Tensor w) {
            MetricOp op = r2_sums(y, p, w);
            if (how == "variance_weighted_average") op.result = weighted_r2;
            if (how == "uniform_average") op.result = mean_r2;
            if (how.empty()) op.several = r2_scores;
            return op;
          }};
}

}  // namespace tenon
