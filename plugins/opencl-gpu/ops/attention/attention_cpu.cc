// Attention on CPU devices: a work item takes a head's block of queries at a time, whose scores stay in a cache.
#include <algorithm>

#include "ops/attention/attention_parts.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kMostQueries = 32;  // of a block

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

int64_t lanes_of(const Driver& driver, const NodeView& node) {
  return std::clamp<uint32_t>(driver.float_width(), 4, 16) / (wide_dtype(node) == TENON_F64 ? 2 : 1);
}

// Rooms, in elements that are computed with; kernels/network/attention_scores.cl and the kernels share them out. Keys and
// values that many blocks read are copied.
void choose_rooms(const Driver& driver, const NodeView& node, bool gradient, Attention& a) {
  constexpr int64_t kReadOnce = 64;
  const int64_t lanes = lanes_of(driver, node);
  a.block = std::min<int64_t>(kMostQueries, rounded_up(a.T, lanes));
  a.d_pitch = rounded_up(a.D, lanes);
  a.whole = a.d_pitch == a.D && node.in(0).dtype() == wide_dtype(node);
  a.packs = !a.whole || a.T > kReadOnce;
  const int64_t rows = a.block * a.d_pitch, transposed = a.block * a.D, scores = a.block * a.S;
  a.room = 2 * a.S * a.d_pitch + rows + transposed + scores * (a.bias_t ? 2 : 1);
  if (a.limit) a.room += (a.S + 3) * rounded_up(a.block, 16);
  if (gradient) a.room += 2 * a.S * a.d_pitch + 2 * rows + 2 * transposed + scores;
  a.room = rounded_up(a.room, 16);
}

// Whether so few queries that most lanes of a block would be empty.
bool has_few_queries(const Attention& a, int64_t lanes) { return 4 * a.T <= lanes && !a.limit && a.D % lanes == 0; }

uint64_t items_of(const Driver& driver, int64_t pieces) {
  return std::min<uint64_t>(static_cast<uint64_t>(pieces), 4 * driver.compute_units());
}

Launch launch_of(Driver& driver, const NodeView& node, const std::string& parts, const char* file, const char* name) {
  const int32_t wide = wide_dtype(node);
  std::string options = wide == TENON_F64 ? " -D OF_F64 -D W_VECTOR=double" : " -D W_VECTOR=float";
  options += " -D VW=" + std::to_string(lanes_of(driver, node));
  options += " -D MOST_QUERIES=" + std::to_string(kMostQueries);
  if (node.in(0).dtype() == wide) options += " -D SAME_DTYPE";
  const std::string lanes = std::string(kernel_source("lanes")) + kernel_source("attention_tile");
  return attention_launch(driver, node, lanes + parts, file, name, options);
}

Kernel kernel_in_rooms(Launch launch, const NodeView& node, Operands at, const Attention& a, uint64_t items) {
  finish(launch, node, at, a, 0).groups({items});
  return kernel_of({launch}, wide_bytes(node, items * static_cast<uint64_t>(a.room)));
}

}  // namespace

Kernel cpu_attention(Driver& driver, const NodeView& node, Attention a) {
  const int64_t lanes = lanes_of(driver, node);
  const bool few = has_few_queries(a, lanes);
  choose_rooms(driver, node, false, a);
  if (few) a.room = a.N * (rounded_up(a.S, lanes) + a.D);
  const auto pieces = few ? a.B * a.T * a.N : a.B * a.N * static_cast<int64_t>(parts_of(a.T, a.block));
  Launch launch = few ? launch_of(driver, node, "", "attention_few", "attention_few")
                      : launch_of(driver, node, kernel_source("attention_scores"), "attention_cpu", "attention");
  launch.out(tenon::op::attention::out::y).out(tenon::op::attention::out::lse);
  return kernel_in_rooms(launch, node, kForward, a, items_of(driver, pieces));
}

Kernel cpu_attention_grad(Driver& driver, const NodeView& node, Attention a) {
  using op = tenon::op::attention_grad;
  choose_rooms(driver, node, true, a);
  Launch launch = launch_of(driver, node, kernel_source("attention_scores"), "attention_cpu_grad", "attention_grad");
  launch.out(op::out::dq).out(op::out::dk).out(op::out::dv).out(a.wants_bias ? +op::out::dbias : +op::out::dq);
  return kernel_in_rooms(launch, node, kGradient, a, items_of(driver, a.B * a.M));
}

}  // namespace opencl_gpu
