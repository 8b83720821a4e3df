// Before planning: the updates of small variables that differ in nothing but the variable become one node, and one
// launch:
//
//   opencl-gpu.updates(lr, step, [scale], [gate], {p, g, [s0], [s1], [s2]}..) -> {p', [s0'], [s1'], [s2']}..
//
// Attributes are those of the update, with `op`, its name, and `members`, how many there are.
#pragma once

#include <string_view>

#include "tenon/plugin/matcher.h"

namespace opencl_gpu {

constexpr char kUpdates[] = "opencl-gpu.updates";
constexpr int kMostSlots = 3;
constexpr int kSharedOperands = 4, kMemberOperands = 2 + kMostSlots, kMemberResults = 1 + kMostSlots;

// Whether an op is an update whose rule looks at one element at a time (updates.cc).
bool is_update_by_element(std::string_view op);

// A pattern (tenon/plugin/matcher.h).
void join_updates(tenon::plugin::Matching& m);

}  // namespace opencl_gpu
