// Data of types that the device lacks.
#include <algorithm>

#include "base/array_dtype.h"
#include "model/model_training.h"

namespace tenon {

std::map<std::string, DType> ModelTraining::lacking_types(const std::map<std::string, DType>& features,
                                                          Mode mode) const {
  std::map<std::string, DType> lacking;
  std::vector<std::string> names;
  for (const auto& [name, dtype] : features) {
    names.push_back(name);
    if (!strategy.impl().takes(dtype)) lacking.emplace(name, is_float(dtype) ? DType::kF32 : DType::kI32);
  }
  if (lacking.empty()) return lacking;
  for (const std::string& input : batch_roles(names, *model_, mode, wants_targets()).inputs)
    if (const auto found = lacking.find(input); found != lacking.end() && features.at(input) == DType::kU8)
      found->second = DType::kF32;
  return lacking;
}

Dataset ModelTraining::as_taken(const Dataset& data, Mode mode) const {
  std::map<std::string, DType> features;
  for (const FeatureSpec& spec : data.specs()) features.emplace(spec.name, spec.type.dtype);
  const std::map<std::string, DType> lacking = lacking_types(features, mode);
  return lacking.empty() ? data : data.cast(lacking);
}

Arrays ModelTraining::as_taken(Arrays batch, Mode mode) const {
  std::map<std::string, DType> features;
  for (const auto& [name, array] : batch) features.emplace(name, array.dtype());
  for (const auto& [name, dtype] : lacking_types(features, mode)) batch[name] = as_dtype(batch[name], dtype);
  return batch;
}

}  // namespace tenon
