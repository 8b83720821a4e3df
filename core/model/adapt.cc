// Normalization takes the moments of a Dataset.
#include <algorithm>
#include <limits>

#include "base/strings.h"
#include "layer/data_moments.h"
#include "tenon/preprocessing.h"

namespace tenon {
namespace {

constexpr std::string_view kAdapt = "normalization: adapt()";

std::string names_of_features(const Dataset& data) {
  std::string all;
  for (const FeatureSpec& spec : data.specs()) append_item(all, spec.name);
  return all;
}

size_t feature_to_adapt_to(const Dataset& data, std::string_view name) {
  std::vector<size_t> found;
  for (size_t i = 0; i < data.specs().size(); ++i) {
    const std::string& there = data.specs()[i].name;
    const bool other = there == "y" || there == "label" || there == "labels" || there == "sample_weight";
    if (name.empty() ? !other : there == name) found.push_back(i);
  }
  if (found.empty() && !name.empty())
    fail(kAdapt, ": the data have no feature '", name, "', only ", names_of_features(data));
  if (found.size() != 1) fail(kAdapt, ": which feature is meant of ", names_of_features(data), "?");
  return found[0];
}

// The rows of a batch of that feature, the first `rows`.
Array first_rows(const FeatureSpec& spec, const void* memory, int64_t rows) {
  const Type type = spec.batch_type(rows);
  const auto* bytes = static_cast<const std::byte*>(memory);
  return Array(type, std::vector<std::byte>(bytes, bytes + type.bytes()));
}

}  // namespace

void Normalization::adapt(const Dataset& data, std::string_view feature) {
  const size_t at = feature_to_adapt_to(data, feature);
  const FeatureSpec& spec = data.specs()[at];
  if (spec.batch_minor || !data.options().buckets.boundaries.empty())
    fail(kAdapt, ": feature '", spec.name, spec.batch_minor ? "' has its batch behind" : "' is of several sizes",
         ", expected rows of one shape");
  const int64_t batch = data.options().batch_size;
  std::vector<std::vector<std::byte>> memory;
  BatchSlot slot;
  for (const FeatureSpec& s : data.specs())
    slot.features.push_back(memory.emplace_back(static_cast<size_t>(s.batch_type(batch).bytes())).data());
  const std::shared_ptr<ThreadPool> pool = make_thread_pool(1);
  const auto pipeline = InputPipeline::create(data, *pool, {slot}).take();
  DataMoments moments(options_->axis, std::string(kAdapt));
  if (data.options().repeat && data.size() < 0) fail(kAdapt, ": the data repeat for ever");
  for (int64_t left = data.size() < 0 ? std::numeric_limits<int64_t>::max() : data.size();
       left > 0;) {  // data that repeat do not end
    const Batch rows = pipeline->next().take();
    if (rows.end()) break;
    const Array values = first_rows(spec, slot.features[at], std::min(left, rows.rows));
    moments.add(values.to<double>(), values.shape());
    left -= rows.rows;
    pipeline->release(rows.slot);
  }
  if (moments.count() == 0) fail(kAdapt, " has no data");
  take(moments);
}

}  // namespace tenon
