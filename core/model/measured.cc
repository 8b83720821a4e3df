// What the steps of an epoch measured together.
#include <numeric>

#include "base/named_throw.h"
#include "base/strings.h"
#include "model/model_training.h"

namespace tenon {
namespace {

size_t count_of(const Measure& m) { return std::accumulate(m.sizes.begin(), m.sizes.end(), size_t{0}); }

}  // namespace

void Measured::reset() {
  sums_.clear();
  examples_ = 0;
}

// What a metric sums is of one size in all batches.
void Measured::expect_same_sums(const std::vector<Measure>& measures, size_t size) {
  const size_t measured = measures.empty() ? 0 : measures.back().first + count_of(measures.back());
  if (sums_.empty()) counts_.clear();
  for (size_t i = 0; i < measures.size(); ++i) {
    if (i == counts_.size()) counts_.push_back(count_of(measures[i]));
    if (counts_[i] != count_of(measures[i]))
      fail("metric '", measures[i].name, "': its sums are ", count_of(measures[i]), " numbers in a batch and ",
           counts_[i], " in one of another size, expected as many in all: has each sum a reduction over the batch?");
  }
  if (measured != size || (!sums_.empty() && sums_.size() != size))
    fail("the metrics' sums are ", size, " numbers in a batch and ", sums_.empty() ? measured : sums_.size(),
         " in one of another size, expected as many in all: has each sum a reduction over the batch?");
}

void Measured::add(const std::vector<Measure>& measures, const Array& rows, int64_t steps, int64_t examples) {
  const auto size = static_cast<size_t>(rows.elements() / steps);
  expect_same_sums(measures, size);
  sums_.resize(size);
  const auto* values = reinterpret_cast<const float*>(rows.bytes().data());
  const auto each = static_cast<double>(examples) / static_cast<double>(steps);
  for (int64_t s = 0; s < steps; ++s, values += size)
    for (const Measure& m : measures) {
      const size_t count = count_of(m);
      for (size_t i = m.first; i < m.first + count; ++i) sums_[i] += m.is_mean ? values[i] * each : values[i];
    }
  examples_ += examples;
}

void Measured::to_logs(const std::vector<Measure>& measures, Logs* logs, const std::string& prefix) const {
  for (const Measure& m : measures) {
    double value = 0;
    if (m.is_mean) {
      value = examples_ ? sums_[m.first] / static_cast<double>(examples_) : 0;
    } else {
      MetricOp::Sums sums;
      size_t at = m.first;
      for (const size_t n : m.sizes) {
        sums.emplace_back(sums_.begin() + static_cast<std::ptrdiff_t>(at),
                          sums_.begin() + static_cast<std::ptrdiff_t>(at + n));
        at += n;
      }
      value = named_throw([&] { return m.metric.value(sums); }, [&] { return cat("metric '", m.name, "'"); });
    }
    (*logs)[prefix + m.name] = value;
  }
}

}  // namespace tenon
