#include <cmath>

#include "device/kernel_sources.h"
#include "device/launch.h"
#include "device/table.h"
#include "tenon/op/names.h"
#include "tenon/plugin/graph.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 34;  // the counter's first word

std::string random_source() { return std::string(kernel_source("philox")) + kernel_source("random"); }

Verdict accept_stream(const NodeView& node, int seed) {
  for (int i = seed; i < seed + 2; ++i)
    if (!node.has(i) || node.in(i).dtype() != TENON_I64 || node.in(i).elements() != 1)
      return refuse(std::string(node.op()) + ": seed and step must be i64 scalars");
  if (node.out(0).elements() > kMostElements) return refuse(std::string(node.op()) + ": more than 2^34 elements");
  return tenon::plugin::take();
}

Verdict accept_random(const NodeView& node) {
  if (node.operands() != 2 || node.out(0).dtype() != TENON_F32)
    return refuse("random: expected seed and step, and an f32 result");
  return accept_stream(node, tenon::op::random::seed);
}

// How many draws replicas before this device's make, of the stream that the node draws from.
uint64_t draws_before(const NodeView& node) {
  if (node.op() == "random" && !node.flag("per_replica")) return 0;
  return static_cast<uint64_t>(node.i64("first")) * static_cast<uint64_t>(node.out(0).elements());
}
std::string shift_option(const NodeView& node) { return "-D SHIFT=" + std::to_string(draws_before(node) & 3); }
cl_uint first_block(const NodeView& node) { return static_cast<cl_uint>(draws_before(node) >> 2); }

Kernel random_kernel(const NodeView& node, const Env& env) {
  using op = tenon::op::random;
  const uint64_t n = static_cast<uint64_t>(node.out(0).elements());
  Launch launch = Launch::of_text(driver_of(*env.device), random_source(), "uniform", shift_option(node));
  launch.out(op::out::y).in(op::seed).in(op::step).value<cl_ulong>(n);
  launch.value<cl_uint>(static_cast<cl_uint>(node.i64("stream"))).value<cl_uint>(first_block(node));
  return kernel_of({launch.items(n)});
}

Verdict accept_dropout(const NodeView& node) {
  using op = tenon::op::dropout;
  if (node.operands() < 3 || !node.has(op::x)) return refuse("dropout: expected x, seed, step and perhaps a residual");
  if (!tenon::plugin::is_float(node.in(op::x).dtype()))
    return refuse(std::string("dropout: no kernel for ") + dtype_name(node.in(op::x).dtype()));
  const double rate = node.f64("rate");
  if (!(rate >= 0 && rate <= 1)) return refuse("dropout: rate " + std::to_string(rate) + " is outside [0, 1]");
  return accept_stream(node, op::seed);
}

Kernel dropout_kernel(const NodeView& node, const Env& env) {
  using op = tenon::op::dropout;
  const uint64_t n = static_cast<uint64_t>(node.out(0).elements());
  const int32_t dtype = node.out(0).dtype();
  const double rate = node.f64("rate"), scale = 1 / (1 - rate);
  const bool residual = node.has(op::residual);
  Launch launch = Launch::of_text(driver_of(*env.device), random_source(), "dropout",
                                  shift_option(node) + " -D D=" + dtype_name(dtype) + (residual ? " -D RESIDUAL" : ""));
  launch.out(op::out::y).in(op::x).in(op::seed).in(op::step).in(residual ? op::residual : op::x);
  launch.value<cl_ulong>(n).value<cl_uint>(static_cast<cl_uint>(node.i64("stream")));
  launch.value<cl_uint>(first_block(node));
  // k 2^-24 < rate as f32 exactly where k < ceil(2^24 rate).
  launch.value<cl_uint>(static_cast<cl_uint>(std::ceil(static_cast<float>(rate) * 0x1p24f)));
  if (dtype == TENON_F64)
    launch.value<cl_double>(scale);
  else
    launch.value<cl_float>(static_cast<float>(scale));
  Kernel kernel = kernel_of({launch.items(n)});
  kernel.in_place = {{op::x, op::out::y}};
  if (residual) kernel.in_place.push_back({op::residual, op::out::y});
  return kernel;
}

}  // namespace

void add_random(KernelTable& table) {
  table.add("random", accept_random, random_kernel);
  table.add("dropout", accept_dropout, dropout_kernel);
}

}  // namespace opencl_gpu
