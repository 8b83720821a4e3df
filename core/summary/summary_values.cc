#include "summary/summary_values.h"

#include <algorithm>
#include <cmath>

#include "base/each_number.h"
#include "base/strings.h"
#include "summary/event_proto.h"

namespace tenon {

std::string scalar_value(std::string_view name, double data, const std::string& description, bool tf1) {
  const event_proto::Plugin plugin{"scalars", "", "", description};
  if (tf1) return event_proto::simple_value(name, data, plugin);
  const float number = static_cast<float>(data);
  return event_proto::value(name, plugin, event_proto::tensor(std::span(&number, 1), {}));
}

std::vector<double> histogram_buckets(const Array& data, int64_t buckets) {
  std::vector<double> numbers, out(static_cast<size_t>(3 * buckets));
  each_number(data.dtype(), data.bytes(), [&](auto v) {
    if (const auto number = static_cast<double>(v); std::isfinite(number)) numbers.push_back(number);
  });
  if (numbers.empty()) return out;
  const auto [least, largest] = std::minmax_element(numbers.begin(), numbers.end());
  const double low = *least, high = *largest, width = (high - low) / static_cast<double>(buckets);
  for (int64_t b = 0; b < buckets; ++b) {
    double* const bucket = &out[static_cast<size_t>(3 * b)];
    bucket[0] = low + width * static_cast<double>(b);
    bucket[1] = b + 1 == buckets ? high : low + width * static_cast<double>(b + 1);
  }
  for (const double number : numbers) {
    const auto b = width > 0 ? static_cast<int64_t>((number - low) / width) : buckets - 1;
    ++out[static_cast<size_t>(3 * std::min(b, buckets - 1) + 2)];
  }
  return out;
}

// The last threshold of n that is not above p, in the precision that p has: 0.35f is at the one of 0.35.
size_t bucket_of(double p, int64_t n, bool single) {
  const double in_range = std::clamp(p, 0.0, 1.0), scale = static_cast<double>(n - 1);
  return static_cast<size_t>(single ? static_cast<float>(in_range) * static_cast<float>(scale) : in_range * scale);
}

// Whoever is predicted with p is counted as positive by the thresholds i / (n - 1) <= p.
std::vector<float> pr_curve_values(const std::string& name, const Array& labels, const Array& predictions,
                                   const PrCurveSummaryOptions& options) {
  const int64_t n = options.num_thresholds, examples = predictions.elements();
  if (n < 2) fail("PR curve '", name, "': num_thresholds is ", n, ", expected 2 or more");
  for (const Array* other : {&labels, options.weights ? &*options.weights : &labels})
    if (other->elements() != examples)
      fail("PR curve '", name, "': ", other == &labels ? "labels are " : "weights are ", other->type().str(),
           ", expected as many numbers as predictions, ", examples);
  const std::vector<double> truth = labels.to<double>(), p = predictions.to<double>();
  const std::vector<double> weights =
      options.weights ? options.weights->to<double>() : std::vector<double>(p.size(), 1);
  const auto size = static_cast<size_t>(n);
  std::vector<double> positives(size), negatives(size);  // from this threshold on
  for (size_t i = 0; i < p.size(); ++i) {
    if (std::isnan(p[i])) continue;
    const size_t bucket = bucket_of(p[i], n, predictions.dtype() == DType::kF32);
    (truth[i] != 0 ? positives : negatives)[bucket] += weights[i];
  }
  for (size_t i = size - 1; i-- > 0;) positives[i] += positives[i + 1], negatives[i] += negatives[i + 1];
  constexpr double kLeast = 1e-7;  // of what is divided by
  std::vector<float> out(6 * size);
  for (size_t i = 0; i < size; ++i) {
    const double found = positives[i], wrong = negatives[i];
    const double row[] = {found,
                          wrong,
                          negatives[0] - wrong,
                          positives[0] - found,
                          found / std::max(kLeast, found + wrong),
                          found / std::max(kLeast, positives[0])};
    for (size_t r = 0; r < 6; ++r) out[r * size + i] = static_cast<float>(row[r]);
  }
  return out;
}

}  // namespace tenon
