// Attention on GPUs: a work-group has a block of queries, or for gradients of keys, in local memory. Of few queries, or of
// heads that are too large for that, it has one.
#include <algorithm>
#include <array>

#include "ops/attention/attention_parts.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kAcross = 8;  // work items along the others; kernels/network/attention_blocks.cl

// A group's rows, in work items and rows of each; columns of a work item.
struct Blocks {
  int64_t items, rows, columns;

  int64_t group() const { return items * rows; }
  int64_t others() const { return kAcross * columns; }
  uint64_t pieces(int64_t n) const { return parts_of(static_cast<uint64_t>(n), static_cast<uint64_t>(group())); }
};

// From the largest on.
constexpr std::array<Blocks, 4> kBlocks{{{16, 4, 4}, {8, 4, 4}, {8, 2, 2}, {4, 2, 1}}};

// The elements of a row in vectors of four; not each D needs a program of its own.
int64_t vectors_of(const Attention& a) { return 4 * static_cast<int64_t>(parts_of(static_cast<uint64_t>(a.D), 16)); }

// The local memory of a kernel that has so many operands of each kind in it.
uint64_t local_bytes(const NodeView& node, const Attention& a, const Blocks& b, int64_t operands) {
  constexpr int64_t kAlignment = 6 * 32;
  const int64_t pitch = 4 * vectors_of(a) + 4;
  const int64_t rows = operands * (b.group() + b.others()) * pitch, tile = b.group() * (b.others() + 4 + kAcross);
  return static_cast<uint64_t>(dtype_bytes(wide_dtype(node)) * (rows + tile) + kAlignment);
}

// Whether sums, what they are made of and places fit into registers, where the device tells of them.
bool in_registers(const Driver& driver, const NodeView& node, const Attention& a, const Blocks& b, int64_t operands) {
  constexpr int64_t kPlaces = 48;
  const int64_t vectors = (vectors_of(a) + kAcross - 1) / kAcross;
  const int64_t sums = operands * b.rows * (4 * vectors + b.columns) + 4 * (b.rows + std::max<int64_t>(b.columns, 4));
  const int64_t registers = (sums * dtype_bytes(wide_dtype(node)) / 4 + kPlaces) * kAcross * b.items;
  return driver.registers() == 0 || registers <= static_cast<int64_t>(driver.registers());
}

// The largest blocks of n rows that the device has room for, of which there are some for each of its units. group() == 0: none.
Blocks blocks_of(const Driver& driver, const NodeView& node, const Attention& a, int64_t operands, int64_t heads,
                 int64_t n) {
  Blocks best{};
  for (const Blocks& b : kBlocks) {
    if (local_bytes(node, a, b, operands) > driver.local_bytes() || !in_registers(driver, node, a, b, operands))
      continue;
    best = b;
    const bool fills = 2 * n > b.group();
    if (fills && static_cast<uint64_t>(heads) * b.pieces(n) >= 2 * driver.compute_units()) break;
  }
  return best;
}

// A GPU's work-groups, for `rows` of something.
constexpr uint64_t kLanes = 64;
uint64_t groups_of(const Driver& driver, uint64_t rows) {
  return std::min<uint64_t>(rows, 64 * driver.compute_units());
}
uint64_t number(int64_t n) { return static_cast<uint64_t>(n); }

// Whether most rows of any block would be empty.
bool has_few_queries(const Attention& a) { return a.T <= 4; }

Launch row_launch(Driver& driver, const NodeView& node, const char* name) {
  return attention_launch(driver, node, kernel_source("vectors"), "attention_rows", name, "");
}

Launch block_launch(Driver& driver, const NodeView& node, const Attention& a, const Blocks& b, const char* file,
                    const char* name) {
  const auto define = [](const char* what, int64_t n) { return std::string(" -D ") + what + "=" + std::to_string(n); };
  const std::string options =
      define("VECTORS", vectors_of(a)) + define("LY", b.items) + define("RI", b.rows) + define("RJ", b.columns);
  const std::string parts = std::string(kernel_source("vectors")) + kernel_source("attention_blocks");
  return attention_launch(driver, node, parts, file, name, options);
}

Launch& in_blocks(Launch& launch, const Driver& driver, const Blocks& b, int64_t heads, int64_t n) {
  return launch.groups({groups_of(driver, number(heads) * b.pieces(n)), 1}, {kAcross, number(b.items)});
}

Kernel attention_by_rows(Driver& driver, const NodeView& node, Attention a) {
  const uint64_t groups = groups_of(driver, number(a.B * a.N * a.T));
  a.room = a.S;
  Launch launch = row_launch(driver, node, "attention");
  launch.out(tenon::op::attention::out::y).out(tenon::op::attention::out::lse);
  finish(launch, node, kForward, a, 0).groups({groups}, {kLanes});
  return kernel_of({launch}, wide_bytes(node, groups * number(a.room)));
}

using grad = tenon::op::attention_grad;

// The parameters of both kernels of the gradient, whose scratch begins with sum(dy y) of each query.
Launch& finish_queries(Launch& launch, const NodeView& node, const Attention& a, uint64_t room_at) {
  launch.out(grad::out::dq).out(a.wants_bias ? +grad::out::dbias : +grad::out::dq).scratch();
  return finish(launch, node, kGradient, a, room_at);
}
Launch& finish_keys(Launch& launch, const NodeView& node, const Attention& a, uint64_t room_at) {
  launch.out(grad::out::dk).out(grad::out::dv).scratch();
  return finish(launch, node, kGradient, a, room_at);
}

Kernel gradient_by_rows(Driver& driver, const NodeView& node, Attention a) {
  const uint64_t query_groups = groups_of(driver, number(a.B * a.N * a.T));
  const uint64_t key_groups = groups_of(driver, number(a.B * a.M * a.S));
  const uint64_t room_at = wide_bytes(node, number(a.B * a.N * a.T));
  a.room = a.S;
  Launch queries = row_launch(driver, node, "attention_grad_queries");
  finish_queries(queries, node, a, room_at).groups({query_groups}, {kLanes});
  uint64_t room = query_groups * number(a.room);
  a.room = 2 * (a.D + a.T);
  Launch keys = row_launch(driver, node, "attention_grad_keys");
  finish_keys(keys, node, a, room_at).groups({key_groups}, {kLanes});
  room = std::max(room, key_groups * number(a.room));
  return kernel_of({queries, keys}, room_at + wide_bytes(node, room));
}

Kernel attention_by_blocks(Driver& driver, const NodeView& node, const Attention& a, const Blocks& b) {
  Launch launch = block_launch(driver, node, a, b, "attention_gpu", "attention");
  launch.out(tenon::op::attention::out::y).out(tenon::op::attention::out::lse);
  in_blocks(finish(launch, node, kForward, a, 0), driver, b, a.B * a.N, a.T);
  return kernel_of({launch});
}

Kernel gradient_by_blocks(Driver& driver, const NodeView& node, const Attention& a, const Blocks& of_queries,
                          const Blocks& of_keys) {
  Launch queries = block_launch(driver, node, a, of_queries, "attention_gpu_grad", "attention_grad_queries");
  in_blocks(finish_queries(queries, node, a, 0), driver, of_queries, a.B * a.N, a.T);
  Launch keys = block_launch(driver, node, a, of_keys, "attention_gpu_grad", "attention_grad_keys");
  in_blocks(finish_keys(keys, node, a, 0), driver, of_keys, a.B * a.M, a.S);
  return kernel_of({queries, keys}, wide_bytes(node, number(a.B * a.N * a.T)));
}

}  // namespace

Kernel gpu_attention(Driver& driver, const NodeView& node, Attention a) {
  const Blocks b = blocks_of(driver, node, a, 1, a.B * a.N, a.T);
  if (has_few_queries(a) || b.group() == 0) return attention_by_rows(driver, node, a);
  try {
    return attention_by_blocks(driver, node, a, b);
  } catch (const TooLarge&) {  // of the device's compiler
    return attention_by_rows(driver, node, a);
  }
}

Kernel gpu_attention_grad(Driver& driver, const NodeView& node, Attention a) {
  const Blocks of_queries = blocks_of(driver, node, a, 2, a.B * a.N, a.T);
  const Blocks of_keys = blocks_of(driver, node, a, 2, a.B * a.M, a.S);
  if (has_few_queries(a) || of_queries.group() == 0 || of_keys.group() == 0) return gradient_by_rows(driver, node, a);
  try {
    return gradient_by_blocks(driver, node, a, of_queries, of_keys);
  } catch (const TooLarge&) {
    return gradient_by_rows(driver, node, a);
  }
}

}  // namespace opencl_gpu
