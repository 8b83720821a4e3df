// Hyperparameters of an Estimator's model and input functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenon {

// Hyperparameters by name. "dtype_policy" is Keras's: "float32"; "mixed_bfloat16", which gives the model its float
// features as bf16 and keeps variables in f32; "mixed_float16", which does so with f16 and wants a LossScaleOptimizer;
// "bfloat16", which has variables in bf16 too. "batch_size" is set by the Estimator, and is an error of its calls where
// it is given: the examples of a step; on a device of several units as TPUConfig::per_host_input_for_training says, all
// of them (4, 5), those of a host (2) or of a unit (1, 3). "context", which TPUEstimator sets, is an error too.
class Params {
 public:
  using Value = std::variant<int64_t, double, bool, std::string>;
  Params() = default;
  Params(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}

  void set(std::string name, Value value) { values_[std::move(name)] = std::move(value); }
  bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  // Converts between numbers; throws Error when it is missing or of another kind.
  template <class T>
  T get(std::string_view name) const;
  // `missing` when there is none of that name.
  template <class T>
  T get(std::string_view name, T missing) const {
    return has(name) ? get<T>(name) : missing;
  }
  const std::map<std::string, Value>& all() const { return values_; }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace tenon
