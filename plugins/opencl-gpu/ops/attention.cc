// attention(q, k, v, [bias], [seed], [step]) -> y, lse and attention_grad(dy, q, k, v, y, lse, [bias], [seed], [step])
// -> dq, dk, dv, [dbias]: no scores are stored. CPU devices take a head's block of queries at a time, whose scores stay
// in a cache; on GPUs a work-group has a query, or for their gradients a key.
#include <algorithm>
#include <cmath>

#include "device/table.h"
#include "ops/rows.h"
#include "tenon/op/names.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

using tenon::op::attention;
using tenon::op::attention_grad;

struct Attention {  // kernels/network/attention.cl
  cl_long B, T, N, D, S, M;
  cl_long block = 0, d_pitch = 0, room = 0;
  cl_long packs = 0, whole = 0;
  cl_long bias_b = 0, bias_n = 0, bias_t = 0;
  cl_long before = 0;
  cl_int causal = 0, biased = 0, wants_bias = 0;
  cl_uint stream = 0, limit = 0;
};

// Where a node has q, k and v, and the bias, seed and step.
struct Operands {
  int q, bias;
};
constexpr Operands kForward{attention::q, attention::bias}, kGradient{attention_grad::q, attention_grad::bias};

constexpr int64_t kMostQueries = 32;  // of a CPU's block
constexpr const char* kFewQueries = "attention_few";

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

int32_t dtype_of(const NodeView& node) { return node.in(0).dtype(); }

int64_t vector_lanes(const Driver& driver, int32_t dtype) {
  return std::clamp<uint32_t>(driver.float_width(), 4, 16) / (dtype == TENON_F64 ? 2 : 1);
}

Attention attention_of(const NodeView& node, Operands at) {
  const ValueView q = node.in(at.q), k = node.in(at.q + 1);
  Attention a{q.dim(0), q.dim(1), q.dim(2), q.dim(3), k.dim(1), k.dim(2)};
  a.causal = node.flag("causal");
  a.stream = static_cast<cl_uint>(node.i64("stream"));
  const uint64_t scores = static_cast<uint64_t>(a.B * a.N * a.T * a.S);
  a.before = static_cast<cl_long>(static_cast<uint64_t>(node.i64("first")) * scores & ((uint64_t{1} << 34) - 1));
  // k 2^-24 < rate as f32 exactly where k < ceil(2^24 rate).
  a.limit = static_cast<cl_uint>(std::ceil(static_cast<float>(node.f64("rate")) * 0x1p24f));
  a.wants_bias = node.has_result(attention_grad::out::dbias);
  a.biased = node.has(at.bias);
  if (!a.biased) return a;
  const ValueView bias = node.in(at.bias);
  if (bias.dim(2) > 1) a.bias_t = a.S;
  if (bias.dim(1) > 1) a.bias_n = bias.dim(2) * a.S;
  if (bias.dim(0) > 1) a.bias_b = bias.dim(1) * bias.dim(2) * a.S;
  return a;
}

Verdict accept(const NodeView& node, Operands at) {
  for (int i = at.q; i < at.q + 3; ++i)
    if (!tenon::plugin::is_float(node.in(i).dtype()) || node.in(i).rank() != 4)
      return refuse("attention: q, k and v must be floats [batch, length, heads, size]");
  const ValueView q = node.in(at.q), k = node.in(at.q + 1);
  if (q.dim(2) % k.dim(2)) return refuse("attention: q's heads must be a multiple of k's");
  const double rate = node.f64("rate");
  if (!(rate >= 0 && rate < 1)) return refuse("attention: rate must lie in [0, 1)");
  if (rate > 0 && !(node.has(at.bias + 1) && node.has(at.bias + 2)))
    return refuse("attention: dropout needs seed and step");
  if (node.in(at.q + 2).dim(3) != q.dim(3)) return decompose();  // values of another size
  if (q.elements() / q.dim(3) * k.dim(1) > int64_t{1} << 34) return decompose();
  if (!node.has(at.bias)) return tenon::plugin::take();
  const ValueView bias = node.in(at.bias);
  const int64_t whole[4] = {q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
  if (bias.rank() != 4 || bias.dtype() != q.dtype() || bias.dim(3) != whole[3]) return decompose();
  for (int i = 0; i < 3; ++i)
    if (bias.dim(i) != whole[i] && (bias.dim(i) != 1 || node.has_result(attention_grad::out::dbias)))
      return decompose();
  return tenon::plugin::take();
}

// kernels/network/FILE.cl with what it stands on.
Launch make_launch(Driver& driver, const NodeView& node, const char* file, const char* name) {
  const int32_t dtype = dtype_of(node), wide = sum_dtype(dtype);
  const bool cpu = driver.style() == KernelStyle::kCpu;
  std::string options = std::string("-D X=") + dtype_name(dtype) + " -D ACC=" + dtype_name(wide);
  if (cpu) {
    options += " -D W_VECTOR=" + std::string(wide == TENON_F64 ? "double" : "float");
    options += " -D VW=" + std::to_string(vector_lanes(driver, dtype));
    options += " -D MOST_QUERIES=" + std::to_string(kMostQueries);
    if (dtype == wide) options += " -D SAME_DTYPE";
    if (wide == TENON_F64) options += " -D OF_F64";
  }
  std::string text = kernel_source("philox") + row_source("attention");
  if (cpu) text += std::string(kernel_source("lanes")) + kernel_source("attention_tile");
  if (cpu && file != kFewQueries) text += kernel_source("attention_scores");
  return Launch::of_text(driver, text + kernel_source(file), name, options);
}

// Arguments that each kernel ends with; what is not there is not read.
Launch& finish(Launch& launch, const NodeView& node, Operands at, const Attention& a, uint64_t room_at) {
  for (int i = at.bias; i < at.bias + 3; ++i) launch.in(node.has(i) ? i : at.q);
  launch.scratch(room_at).value(a);
  const int32_t wide = sum_dtype(dtype_of(node));
  return real(real(launch, wide, node.f64("scale", 1)), wide, 1 / (1 - node.f64("rate")));
}

// A CPU's rooms, in elements that are computed with; kernels/network/attention_scores.cl and its kernels share them out.
// Keys and values that many blocks read are copied.
void choose_rooms(const Driver& driver, int32_t dtype, bool gradient, Attention& a) {
  constexpr int64_t kDraws = 192, kReadOnce = 64;
  const int64_t lanes = vector_lanes(driver, dtype);
  a.block = std::min<int64_t>(kMostQueries, rounded_up(a.T, lanes));
  a.d_pitch = rounded_up(a.D, lanes);
  a.whole = a.d_pitch == a.D && dtype == sum_dtype(dtype);
  a.packs = !a.whole || a.T > kReadOnce;
  const int64_t rows = a.block * a.d_pitch, transposed = a.block * a.D, scores = a.block * a.S;
  a.room = 2 * a.S * a.d_pitch + rows + transposed + scores * (a.bias_t ? 2 : 1);
  if (a.limit) a.room += 2 * scores + kDraws;
  if (gradient) a.room += 2 * a.S * a.d_pitch + 2 * rows + 2 * transposed + scores;
  a.room = rounded_up(a.room, 16);
}

// Whether so few queries that most lanes of a block would be empty.
bool has_few_queries(const Attention& a, int64_t lanes) { return 4 * a.T <= lanes && !a.limit && a.D % lanes == 0; }

uint64_t items_of(const Driver& driver, int64_t pieces) {
  return std::min<uint64_t>(static_cast<uint64_t>(pieces), 4 * driver.compute_units());
}

// A GPU's work-groups, for `rows` of something.
constexpr uint64_t kLanes = 64;
uint64_t groups_of(const Driver& driver, int64_t rows) {
  return std::min<uint64_t>(static_cast<uint64_t>(rows), 64 * driver.compute_units());
}

uint64_t bytes_of(const NodeView& node, uint64_t elements) {
  return aligned(elements * static_cast<uint64_t>(dtype_bytes(sum_dtype(dtype_of(node)))));
}

Launch forward_launch(Driver& driver, const NodeView& node, const Attention& a, const char* file, const char* name,
                      uint64_t groups, uint64_t lanes) {
  Launch launch = make_launch(driver, node, file, name);
  launch.out(attention::out::y).out(attention::out::lse).in(attention::q).in(attention::k).in(attention::v);
  return finish(launch, node, kForward, a, 0).groups({groups}, {lanes});
}

Kernel cpu_attention(Driver& driver, const NodeView& node, Attention a) {
  const int64_t lanes = vector_lanes(driver, dtype_of(node));
  const bool few = has_few_queries(a, lanes);
  choose_rooms(driver, dtype_of(node), false, a);
  if (few) a.room = a.N * (rounded_up(a.S, lanes) + a.D);
  const auto pieces = few ? a.B * a.T * a.N : a.B * a.N * static_cast<int64_t>(parts_of(a.T, a.block));
  const uint64_t items = items_of(driver, pieces);
  const Launch launch = few ? forward_launch(driver, node, a, kFewQueries, "attention_few", items, 1)
                            : forward_launch(driver, node, a, "attention_cpu", "attention", items, 1);
  return kernel_of({launch}, bytes_of(node, items * static_cast<uint64_t>(a.room)));
}

Kernel gpu_attention(Driver& driver, const NodeView& node, Attention a) {
  const uint64_t groups = groups_of(driver, a.B * a.N * a.T);
  a.room = a.S;
  const Launch launch = forward_launch(driver, node, a, "attention_gpu", "attention", groups, kLanes);
  return kernel_of({launch}, bytes_of(node, groups * static_cast<uint64_t>(a.room)));
}

Launch& gradient_operands(Launch& launch) {
  using op = attention_grad;
  return launch.in(op::dy).in(op::q).in(op::k).in(op::v);
}

Kernel cpu_gradient(Driver& driver, const NodeView& node, Attention a) {
  using op = attention_grad;
  choose_rooms(driver, dtype_of(node), true, a);
  const uint64_t items = items_of(driver, a.B * a.M);
  Launch launch = make_launch(driver, node, "attention_cpu_grad", "attention_grad");
  launch.out(op::out::dq).out(op::out::dk).out(op::out::dv).out(a.wants_bias ? +op::out::dbias : +op::out::dq);
  gradient_operands(launch).in(op::y).in(op::lse);
  finish(launch, node, kGradient, a, 0).groups({items});
  return kernel_of({launch}, bytes_of(node, items * static_cast<uint64_t>(a.room)));
}

Kernel gpu_gradient(Driver& driver, const NodeView& node, Attention a) {
  using op = attention_grad;
  const uint64_t query_groups = groups_of(driver, a.B * a.N * a.T), key_groups = groups_of(driver, a.B * a.M * a.S);
  const uint64_t room_at = bytes_of(node, static_cast<uint64_t>(a.B * a.N * a.T));  // behind sum(dy y)
  a.room = a.S;
  Launch queries = make_launch(driver, node, "attention_gpu", "attention_grad_queries");
  queries.out(op::out::dq).out(a.wants_bias ? +op::out::dbias : +op::out::dq).scratch();
  gradient_operands(queries).in(op::y).in(op::lse);
  finish(queries, node, kGradient, a, room_at).groups({query_groups}, {kLanes});
  uint64_t room = query_groups * static_cast<uint64_t>(a.room);
  a.room = 2 * (a.D + a.T);
  Launch keys = make_launch(driver, node, "attention_gpu", "attention_grad_keys");
  keys.out(op::out::dk).out(op::out::dv).scratch();
  gradient_operands(keys).in(op::lse);
  finish(keys, node, kGradient, a, room_at).groups({key_groups}, {kLanes});
  room = std::max(room, key_groups * static_cast<uint64_t>(a.room));
  return kernel_of({queries, keys}, room_at + bytes_of(node, room));
}

}  // namespace

void add_attention(KernelTable& table) {
  table.add(
      "attention", [](const NodeView& node) { return accept(node, kForward); },
      [](const NodeView& node, const Env& env) {
        Driver& driver = driver_of(*env.device);
        const Attention a = attention_of(node, kForward);
        return driver.style() == KernelStyle::kCpu ? cpu_attention(driver, node, a) : gpu_attention(driver, node, a);
      });
  table.add(
      "attention_grad", [](const NodeView& node) { return accept(node, kGradient); },
      [](const NodeView& node, const Env& env) {
        Driver& driver = driver_of(*env.device);
        const Attention a = attention_of(node, kGradient);
        return driver.style() == KernelStyle::kCpu ? cpu_gradient(driver, node, a) : gpu_gradient(driver, node, a);
      });
}

}  // namespace opencl_gpu
