// What a traced function gives back: tensors by name.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// How the parts become one on a device of several units, each of which has computed on its share of the batch.
// kAuto: what is the same on all units is given once; of a float scalar that differs the mean; anything else that
// differs has a row for each example, and the parts stand one after the other, in each step. kRows: those rows,
// whatever they hold.
enum class Joining : uint8_t { kAuto, kRows };

// A result, and how the results of several steps of one call are kept (ResultMode). A tensor alone is kept each step.
struct OutputValue {
  OutputValue(Tensor value) : tensor(value) {}  // NOLINT: implicit by design
  OutputValue(Tensor value, ResultMode kept, Joining parts = Joining::kAuto)
      : tensor(value), mode(kept), joining(parts) {}
  Tensor tensor;
  ResultMode mode = ResultMode::kEach;
  Joining joining = Joining::kAuto;
};
inline OutputValue each(Tensor x) { return x; }                         // a row a step
inline OutputValue last(Tensor x) { return {x, ResultMode::kLast}; }    // of the last step
inline OutputValue until(Tensor x) { return {x, ResultMode::kUntil}; }  // bool[]: true ends the call after this step

//   return Outputs{{"loss", loss}, {"image", last(image)}};
class Outputs {
 public:
  Outputs() = default;
  Outputs(std::initializer_list<std::pair<std::string, OutputValue>> values) : values_(values) {}
  void add(std::string name, OutputValue value) { values_.emplace_back(std::move(name), value); }
  const std::vector<std::pair<std::string, OutputValue>>& all() const { return values_; }

 private:
  std::vector<std::pair<std::string, OutputValue>> values_;
};

}  // namespace tenon
