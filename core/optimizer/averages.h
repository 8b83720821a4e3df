// Moving averages of variables (use_ema).
#pragma once

#include "optimizer/optimizer_names.h"

namespace tenon {

// The slot that an average is kept in.
inline constexpr std::string_view kAverage = "ExponentialMovingAverage";

// Moves the average of a variable towards its next value, unless the gate is there and false; where it is due the average
// becomes that value. `updates`: made before this one, i64.
void move_average(Graph& graph, const OptimizerNames& names, const OptimizerOptions& options, int variable,
                  Tensor updates, Tensor gate);

inline std::string average_name(const OptimizerNames& names, const std::string& variable) {
  return names.slot(variable, kAverage);
}

// Whether the count is a multiple of n, bool[].
Tensor is_multiple(Tensor count, int n);
// Updates made in so many calls of apply().
Tensor updates_of(const OptimizerOptions& options, Tensor calls);

}  // namespace tenon
