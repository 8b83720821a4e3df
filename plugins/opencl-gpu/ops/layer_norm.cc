// layer_norm over the last axes, and its gradient; over others (instance, group) it goes as primitives.
#include "device/table.h"
#include "ops/columns.h"
#include "ops/reductions.h"
#include "ops/rows.h"
#include "tenon/op/names.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

using tenon::op::layer_norm;
using tenon::op::layer_norm_grad;

struct LayerRows {
  uint64_t rows = 1, n = 1, turns = 1;
  bool known = true;  // what is normalised lies together
};

LayerRows layer_rows(const NodeView& node, int operand) {
  const ValueView x = node.in(operand);
  const auto axes = node.list("axes").vec();
  LayerRows s;
  for (int d = 0; d < x.rank(); ++d) {
    if (x.dim(d) == 1) continue;
    const bool normalised =
        std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return a == d || a + x.rank() == d; });
    if (!normalised && s.n > 1) s.known = false;
    (normalised ? s.n : s.rows) *= static_cast<uint64_t>(x.dim(d));
  }
  const uint64_t parameters = static_cast<uint64_t>(node.in(operand + 1).elements());
  s.turns = parameters / s.n;
  s.known = s.known && s.turns * s.n == parameters && s.turns > 0 && s.rows % s.turns == 0;
  return s;
}

std::string layer_options(const NodeView& node, int x) {
  const int32_t dtype = node.in(x).dtype();
  return std::string("-D D=") + dtype_name(dtype) + " -D ACC=" + dtype_name(sum_dtype(dtype)) +
         " -D P=" + dtype_name(node.in(x + 1).dtype()) + " -D CENTER=" + (node.flag("center", true) ? "1" : "0");
}

std::string layer_source() {
  return std::string(kernel_source("rows")) + kernel_source("columns") + kernel_source("layer_norm");
}

Launch& finish_layer(Launch& launch, const Driver& driver, const NodeView& node, int x, const LayerRows& s) {
  launch.value<cl_ulong>(s.rows).value<cl_ulong>(s.n).value<cl_ulong>(s.turns);
  return over_rows(real(launch, sum_dtype(node.in(x).dtype()), node.f64("eps", 1e-3)), driver, s.rows, s.n);
}

Kernel layer_norm_kernel(Driver& driver, const NodeView& node) {
  using op = layer_norm;
  const bool beta = node.has(op::beta);
  Launch launch =
      Launch::of_text(driver, layer_source(), "layer_norm", layer_options(node, op::x) + (beta ? " -D BETA" : ""));
  launch.out(op::out::y).out(op::out::mean).out(op::out::var).in(op::x).in(op::gamma);
  launch.in(beta ? +op::beta : +op::gamma);
  Kernel kernel = kernel_of({finish_layer(launch, driver, node, op::x, layer_rows(node, op::x))});
  kernel.in_place = {{op::x, op::out::y}};
  return kernel;
}

Kernel layer_norm_grad_kernel(Driver& driver, const NodeView& node) {
  using op = layer_norm_grad;
  const LayerRows s = layer_rows(node, op::x);
  const int32_t sums = sum_dtype(node.in(op::x).dtype()), parameters = node.in(op::gamma).dtype();
  const Columns c(driver, s.rows / s.turns, s.turns * s.n);
  const uint64_t dots_at = aligned(c.pieces * c.c * static_cast<uint64_t>(dtype_bytes(sums)));
  uint64_t scratch = 2 * dots_at;
  Launch of_parameters = Launch::of_text(driver, layer_source(), "parameter_sums", layer_options(node, op::x));
  of_parameters.scratch().scratch(dots_at).in(op::dy).in(op::x).in(op::mean).in(op::var).bytes(&c, sizeof c);
  of_parameters.value<cl_ulong>(s.n);
  over_columns(real(of_parameters, sums, node.f64("eps", 1e-3)), driver, c);
  std::vector<Launch> launches{of_parameters};
  const Fold fold{sums, sums, parameters, "sum"};
  add_fold(launches, driver, fold, {1, c.pieces, c.c}, scratch_at(dots_at), result(op::out::dgamma), &scratch);
  if (node.has_result(op::out::dbeta))
    add_fold(launches, driver, fold, {1, c.pieces, c.c}, scratch_at(0), result(op::out::dbeta), &scratch);
  Launch grad = Launch::of_text(driver, layer_source(), "layer_norm_grad", layer_options(node, op::x));
  grad.out(op::out::dx).in(op::dy).in(op::x).in(op::gamma).in(op::mean).in(op::var);
  launches.push_back(finish_layer(grad, driver, node, op::x, s));
  Kernel kernel = kernel_of(std::move(launches), scratch);
  kernel.in_place = {{op::dy, op::out::dx}, {op::x, op::out::dx}};
  return kernel;
}

Verdict accept_layer_norm(const NodeView& node, int x) {
  const int32_t dtype = node.in(x).dtype();
  if (!is_float(dtype)) return refuse("layer_norm: the operand must be float");
  const bool both = (dtype == TENON_F64) == (node.in(x + 1).dtype() == TENON_F64);
  return both && layer_rows(node, x).known ? take() : decompose();
}

}  // namespace

void add_layer_norm(KernelTable& table) {
  table.add(
      "layer_norm", [](const NodeView& node) { return accept_layer_norm(node, layer_norm::x); },
      [](const NodeView& node, const Env& env) { return layer_norm_kernel(driver_of(*env.device), node); });
  table.add(
      "layer_norm_grad", [](const NodeView& node) { return accept_layer_norm(node, layer_norm_grad::x); },
      [](const NodeView& node, const Env& env) { return layer_norm_grad_kernel(driver_of(*env.device), node); });
}

}  // namespace opencl_gpu
