// The table of ops, version 1 of each: the one place that names an op, its operands, attributes and results, that says
// what kind of work it is and what it computes. A new op begins with a row. C++17, header only, constants.
#pragma once

#include <array>

#include "tenon/op/elementwise_ops.h"
#include "tenon/op/movement_ops.h"
#include "tenon/op/network_ops.h"
#include "tenon/op/update_ops.h"

namespace tenon::op {

namespace detail {

template <size_t... N>
constexpr auto joined(const Row (&... parts)[N]) {
  std::array<const Row*, (N + ...)> all{};
  size_t at = 0;
  const auto append = [&](const Row* part, size_t size) {
    for (size_t i = 0; i < size; ++i) all[at++] = &part[i];
  };
  (append(parts, N), ...);
  return all;
}

}  // namespace detail

// All rows, in the order of the documentation.
inline constexpr auto kRows = detail::joined(kElementwiseOps, kMovementOps, kNetworkOps, kUpdateOps);

// nullptr for an op that is not Tenon's: one of a backend's own, say.
constexpr const Row* find(std::string_view name) {
  for (const Row* row : kRows)
    if (row->name == name) return row;
  return nullptr;
}

// Operands of an op that makes each element of one element of each operand, with no attributes, such as exp and add:
// 1 or 2. 0: another op.
constexpr int arithmetic_operands(const Row& row) {
  const bool plain = row.category == Category::kElementwise && row.signature.find(';') == std::string_view::npos;
  if (!plain) return 0;
  const std::string_view first = row.signature.substr(0, 2);
  return first == "x:" ? 1 : first == "a:" ? 2 : 0;
}

// Whether an element is made of `a` and `b` of one type, and either may have rank 0 and be repeated: such as add,
// compare and select.
constexpr bool repeats_operands(std::string_view op) {
  const Row* row = find(op);
  return row && row->category == Category::kElementwise && row->signature.find("a:") != std::string_view::npos &&
         row->signature.find(" b:") != std::string_view::npos;
}

// all_gather, all_reduce, reduce_scatter.
constexpr bool is_collective(std::string_view op) {
  const Row* row = find(op);
  return row && row->category == Category::kCollective;
}

// Whether it updates a variable, as sgd_update does.
constexpr bool is_update(std::string_view op) {
  const Row* row = find(op);
  return row && row->category == Category::kUpdate;
}

// REQUIRED: there is one. In a constant expression a wrong name does not compile.
constexpr const Row& row(std::string_view name) { return *find(name); }

}  // namespace tenon::op
