// batch_norm, batch_norm_apply and the gradient; activation, its gradient, and that with the bias's.
#include "device/table.h"
#include "ops/columns.h"
#include "ops/reductions.h"
#include "ops/rows.h"
#include "tenon/op/names.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

using tenon::op::activation;
using tenon::op::activation_grad;
using tenon::op::batch_norm;
using tenon::op::batch_norm_apply;
using tenon::op::batch_norm_grad;
using tenon::op::bias_act_grad;

Columns columns_of(const Driver& driver, const ValueView& x) {
  const uint64_t c = static_cast<uint64_t>(x.dim(-1));
  return Columns(driver, static_cast<uint64_t>(x.elements()) / c, c);
}

std::string column_source(const char* file) {
  return std::string("#define INLINE static inline __attribute__((always_inline))\ntypedef WIDE(ACC) W;\n") +
         kernel_source("activation") + kernel_source("activation_grad") + kernel_source("columns") +
         kernel_source(file);
}

std::string column_options(const NodeView& node, int32_t dtype) {
  return std::string("-D D=") + dtype_name(dtype) + " -D ACC=" + dtype_name(sum_dtype(dtype)) +
         " -D ACT=" + std::to_string(node.enumerator("act"));
}

// What the kernels of one norm share.
struct Norm {
  Driver& driver;
  int32_t sums;
  double eps, alpha;
  std::string options;
  Columns s;
  uint64_t width;  // of a number that is computed with

  Norm(Driver& d, const NodeView& node, int x, bool residual)
      : driver(d),
        sums(sum_dtype(node.in(x).dtype())),
        eps(node.f64("eps", 1e-3)),
        alpha(node.f64("alpha")),
        options(column_options(node, node.in(x).dtype()) + " -D P=" + dtype_name(node.in(x + 1).dtype()) +
                (residual ? " -D RESIDUAL" : "")),
        s(columns_of(d, node.in(x))),
        width(static_cast<uint64_t>(dtype_bytes(sums))) {}

  Launch launch(const char* name) const { return Launch::of_text(driver, column_source("batch_norm"), name, options); }
  Launch all(Launch l) const { return over_columns(real(l.bytes(&s, sizeof s), sums, alpha), driver, s); }
  Launch merge(Launch l) const { return real(l.bytes(&s, sizeof s), sums, eps).items(s.c); }
  // The pieces' sums lie behind the columns' factors.
  uint64_t pieces_at(uint64_t factors) const { return aligned(factors * s.c * width); }
  uint64_t scratch(uint64_t factors) const { return pieces_at(factors) + s.pieces * 2 * s.c * width; }
};

Kernel batch_norm_kernel(Driver& driver, const NodeView& node) {
  using op = batch_norm;
  const bool residual = node.has(op::residual);
  const Norm n(driver, node, op::x, residual);
  const uint64_t pieces = n.pieces_at(2);
  Launch moments = n.launch("moments");
  moments.scratch(pieces).in(op::x).bytes(&n.s, sizeof n.s);
  over_columns(moments, driver, n.s);
  const Launch merge =
      n.merge(n.launch("merge_moments").out(op::out::mean).out(op::out::var).scratch().scratch(pieces).in(op::gamma));
  const Launch apply =
      n.all(n.launch("apply").out(op::out::y).in(op::x).scratch().in(op::beta).in(residual ? +op::residual : +op::x));
  Kernel kernel = kernel_of({moments, merge, apply}, n.scratch(2));
  kernel.in_place = {{op::x, op::out::y}};
  if (residual) kernel.in_place.push_back({op::residual, op::out::y});
  return kernel;
}

Kernel batch_norm_apply_kernel(Driver& driver, const NodeView& node) {
  using op = batch_norm_apply;
  const bool residual = node.has(op::residual);
  const Norm n(driver, node, op::x, residual);
  Launch given = n.launch("given_moments");
  real(given.scratch().in(op::mean).in(op::var).in(op::gamma).value<cl_ulong>(n.s.c), n.sums, n.eps).items(n.s.c);
  const Launch apply =
      n.all(n.launch("apply").out(op::out::y).in(op::x).scratch().in(op::beta).in(residual ? +op::residual : +op::x));
  Kernel kernel = kernel_of({given, apply}, n.scratch(2));
  kernel.in_place = {{op::x, op::out::y}};
  if (residual) kernel.in_place.push_back({op::residual, op::out::y});
  return kernel;
}

Kernel batch_norm_grad_kernel(Driver& driver, const NodeView& node) {
  using op = batch_norm_grad;
  const bool residual = node.has_result(op::out::dresidual);
  const Norm n(driver, node, op::x, residual);
  const int y = node.has(op::y) ? op::y : op::dy;
  const int dresidual = residual ? op::out::dresidual : op::out::dx;
  const uint64_t pieces = n.pieces_at(4);
  const Launch sums = n.all(n.launch("grad_sums").scratch(pieces).in(op::dy).in(op::x).in(y).in(op::mean));
  Launch merge = n.launch("merge_grad");
  merge.out(op::out::dgamma).out(op::out::dbeta).scratch().scratch(pieces).in(op::gamma).in(op::mean).in(op::var);
  const Launch grad = n.all(n.launch("grad").out(op::out::dx).out(dresidual).in(op::dy).in(op::x).in(y).scratch());
  Kernel kernel = kernel_of({sums, n.merge(merge), grad}, n.scratch(4));
  kernel.in_place = {{op::x, op::out::dx}, {op::dy, dresidual}};
  return kernel;
}

// Means over several replicas are collectives of the decomposition; what is f64 in part, too.
Verdict accept_norm(const NodeView& node, int x, int y) {
  const int32_t dtype = node.in(x).dtype(), parameters = node.in(x + 1).dtype(), act = node.enumerator("act");
  if (!is_float(dtype)) return refuse("batch_norm: the operand must be float");
  if (act < TENON_ACT_NONE || act > TENON_ACT_HARD_SWISH) return refuse("batch_norm: unknown activation");
  if (y >= 0 && act != TENON_ACT_NONE && (act > TENON_ACT_SOFTPLUS || !node.has(y)))
    return refuse("batch_norm_grad: this activation's gradient needs its argument");
  const bool both = (dtype == TENON_F64) == (parameters == TENON_F64);
  return node.i64("group", 1) == 1 && both && node.in(x).rank() > 0 ? take() : decompose();
}

// ---- activations ----

Kernel activation_kernel(Driver& driver, const NodeView& node) {
  const bool gradient = node.operands() == 2;
  const int32_t dtype = node.in(0).dtype();
  const uint64_t n = static_cast<uint64_t>(node.out(0).elements());
  Launch launch = Launch::of_text(driver, column_source("bias_grad"), gradient ? "activate_grad" : "activate",
                                  column_options(node, dtype));
  if (gradient)
    launch.out(activation_grad::out::dx).in(activation_grad::g).in(activation_grad::t);
  else
    launch.out(activation::out::y).in(activation::x);
  real(launch.value<cl_ulong>(n), sum_dtype(dtype), node.f64("alpha"));
  Kernel kernel = kernel_of({launch.items(n)});
  kernel.in_place = {{0, 0}};
  if (gradient) kernel.in_place.push_back({activation_grad::t, activation_grad::out::dx});
  return kernel;
}

Kernel bias_grad_kernel(Driver& driver, const NodeView& node) {
  using op = bias_act_grad;
  const int32_t dtype = node.in(op::g).dtype(), sums = sum_dtype(dtype);
  const Columns s = columns_of(driver, node.in(op::g));
  Launch first = Launch::of_text(driver, column_source("bias_grad"), "bias_act_grad", column_options(node, dtype));
  first.out(op::out::dz).scratch().in(op::g).in(op::t).bytes(&s, sizeof s);
  over_columns(real(first, sums, node.f64("alpha")), driver, s);
  uint64_t scratch = aligned(s.pieces * s.c * static_cast<uint64_t>(dtype_bytes(sums)));
  std::vector<Launch> launches{first};
  add_fold(launches, driver, {sums, sums, dtype, "sum"}, {1, s.pieces, s.c}, scratch_at(0), result(op::out::dbias),
           &scratch);
  Kernel kernel = kernel_of(std::move(launches), scratch);
  kernel.in_place = {{op::g, op::out::dz}, {op::t, op::out::dz}};
  return kernel;
}

Verdict accept_activation(const NodeView& node) {
  const std::string op(node.op());
  const int32_t act = node.enumerator("act");
  if (!is_float(node.in(0).dtype())) return refuse(op + ": no kernel for " + dtype_name(node.in(0).dtype()));
  if (act < TENON_ACT_NONE || act > TENON_ACT_HARD_SWISH)
    return refuse(op + ": unknown activation " + std::to_string(act));
  return node.in(0).rank() > 0 || op != "bias_act_grad" ? take() : refuse(op + ": a scalar has no columns");
}

}  // namespace

void add_normalizations(KernelTable& table) {
  using namespace tenon::plugin;
  const auto add = [&](const char* op, Accept accept, Kernel (*make)(Driver&, const NodeView&)) {
    table.add(op, accept, [make](const NodeView& node, const Env& env) { return make(driver_of(*env.device), node); });
  };
  add(
      "batch_norm", [](const NodeView& node) { return accept_norm(node, batch_norm::x, -1); }, batch_norm_kernel);
  add(
      "batch_norm_apply", [](const NodeView& node) { return accept_norm(node, batch_norm_apply::x, -1); },
      batch_norm_apply_kernel);
  add(
      "batch_norm_grad", [](const NodeView& node) { return accept_norm(node, batch_norm_grad::x, batch_norm_grad::y); },
      batch_norm_grad_kernel);
  for (const char* op : {"activation", "activation_grad"}) add(op, accept_activation, activation_kernel);
  add("bias_act_grad", accept_activation, bias_grad_kernel);
}

}  // namespace opencl_gpu
