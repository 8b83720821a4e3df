// The nodes of the *_update ops: p[rows, columns], g of p's shape or g[given_rows, columns] with rows[given_rows],
// lr, step, scale, gate scalars, slots mostly of p's shape. One pass over memory for the pointwise rules.
//
// cpu.product.*_update: the gradient is the product A^T B of what stands in g's place, B, and of a last operand, A. It is
// consumed block by block and never in memory.
#include <string>
#include <utility>

#include "kernels/update/update_runner.h"
#include "tenon/op/table.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct Signature {
  std::string op;
  UpdateKind kind;
  int slots;  // without the optional ones
};

UpdateKind kind_of(const op::Row& row) {
  constexpr std::pair<std::string_view, UpdateKind> kOthers[] = {{"sgd_update", UpdateKind::kSgd},
                                                                 {"nadam_update", UpdateKind::kNadam},
                                                                 {"lamb_update", UpdateKind::kLamb},
                                                                 {"adafactor_update", UpdateKind::kAdafactor}};
  for (const auto& [name, kind] : kOthers)
    if (row.name == name) return kind;
  return UpdateKind::kPointwise;
}

Hyper read_hyper(const NodeView& n) {
  Hyper y{};
  y.b1 = n.f64("b1"), y.b2 = n.f64("b2"), y.eps = n.f64("eps"), y.wd = n.f64("wd"), y.mu = n.f64("mu"),
  y.rho = n.f64("rho");
  y.l1 = n.f64("l1"), y.l2_reg = n.f64("l2_reg"), y.shrink = n.f64("shrink"), y.beta = n.f64("beta");
  y.lr_power = n.f64("lr_power", -0.5), y.eps1 = n.f64("eps1"), y.eps2 = n.f64("eps2");
  y.nesterov = n.flag("nesterov"), y.amsgrad = n.flag("amsgrad"), y.centered = n.flag("centered");
  return y;
}

bool needs_slot(const NodeView& node, const Signature& sig, int k) {
  if (k < sig.slots) return true;
  if (node.op() == "adafactor_update") return k == 1 && node.in(TENON_UPDATE_P).rank() >= 2;
  if (node.op() == "rmsprop_update") return k == 2 && node.flag("centered");
  return k == 2 && node.flag("amsgrad");
}

int64_t slot_size(const NodeView& node, const Signature& sig, int k) {
  const plugin::ValueView p = node.in(TENON_UPDATE_P);
  if (sig.kind == UpdateKind::kNadam && k == 2) return 1;
  if (sig.kind != UpdateKind::kAdafactor || p.rank() < 2) return p.elements();
  return p.elements() / p.dim(k == 0 ? -1 : -2);
}

plugin::Verdict check_scalar(const NodeView& node, int i, int32_t dtype, const char* what) {
  const bool right = node.in(i).dtype() == dtype && node.in(i).elements() == 1;
  return right ? plugin::take() : refusal(node, std::string(what) + " must be " + plugin::dtype_name(dtype) + "[]");
}

plugin::Verdict check_gradient(const NodeView& node, bool pointwise) {
  const plugin::ValueView p = node.in(TENON_UPDATE_P), g = node.in(TENON_UPDATE_G);
  const bool widened = g.dtype() == TENON_BF16 && p.dtype() == TENON_F32 && pointwise && !node.has(TENON_UPDATE_ROWS);
  if (g.dtype() != p.dtype() && !widened)
    return refusal(node, std::string("the gradient is ") + plugin::dtype_name(g.dtype()) + ", the variable " +
                             plugin::dtype_name(p.dtype()));
  if (!node.has(TENON_UPDATE_ROWS))
    return same_shape(p, g) ? plugin::take() : refusal(node, "the gradient has another shape than the variable");
  const plugin::ValueView rows = node.in(TENON_UPDATE_ROWS);
  if (p.rank() < 1 || g.rank() < 1 || !is_int(rows.dtype()) || rows.elements() != g.dim(0) ||
      g.elements() / g.dim(0) != p.elements() / p.dim(0))
    return refusal(node, "rows must be integers, one for each row of the gradient");
  if (p.dim(0) > INT32_MAX || rows.elements() > INT32_MAX) return refusal(node, "more than 2^31 rows");
  return plugin::take();
}

plugin::Verdict accept_update(const NodeView& node, const Signature& sig) {
  for (int i = 0; i < TENON_UPDATE_SCALE; ++i)
    if (!node.has(i)) return refusal(node, "operand " + std::to_string(i) + " is absent");
  const plugin::ValueView p = node.in(TENON_UPDATE_P);
  if (!plugin::is_float(p.dtype())) return refusal(node, std::string("no ") + plugin::dtype_name(p.dtype()));
  const struct {
    int operand;
    int32_t dtype;
    const char* what;
  } scalars[] = {{TENON_UPDATE_LR, TENON_F32, "lr"},
                 {TENON_UPDATE_STEP, TENON_I64, "step"},
                 {TENON_UPDATE_SCALE, TENON_F32, "scale"},
                 {TENON_UPDATE_GATE, TENON_BOOL, "gate"}};
  for (const auto& s : scalars) {
    if (!node.has(s.operand)) continue;
    const plugin::Verdict v = check_scalar(node, s.operand, s.dtype, s.what);
    if (v.answer != TENON_TAKE) return v;
  }
  if (!node.has_result(0) || node.out(0).dtype() != p.dtype() || !same_shape(node.out(0), p))
    return refusal(node, "the result must be of the variable's type");
  for (int k = 0; k < kMostSlots; ++k) {
    const int at = TENON_UPDATE_SLOTS + k;
    if (!node.has(at) && !needs_slot(node, sig, k)) continue;
    if (!node.has(at) || !node.has_result(1 + k))
      return refusal(node, "slot " + std::to_string(k) + " or its result is absent");
    if (node.in(at).dtype() != p.dtype() || node.out(1 + k).dtype() != p.dtype() ||
        node.in(at).elements() != slot_size(node, sig, k))
      return refusal(node, "slot " + std::to_string(k) + " has the wrong dtype or size");
  }
  return check_gradient(node, sig.kind < UpdateKind::kLamb);
}

// Lays out scratch; returns its size.
uint64_t plan_scratch(Update& u, const Signature& sig, int64_t given_elements) {
  uint64_t at = 0;
  const auto room = [&](int64_t bytes) {
    const uint64_t here = at;
    at += (static_cast<uint64_t>(bytes) + 63) / 64 * 64;
    return here;
  };
  if (is_half(u.dtype)) {
    u.buffer[0] = room(u.n * 4);
    u.buffer[1] = room(given_elements * 4);
    for (int k = 0; k < kMostSlots; ++k) u.buffer[2 + k] = u.slot[k] ? room(u.slot_elements[k] * 4) : 0;
  }
  if (u.given_rows) u.chains = room((u.rows + u.given_rows) * 4);
  const bool dense = u.given_rows && (sig.kind == UpdateKind::kLamb || sig.kind == UpdateKind::kAdafactor);
  if (dense) u.dense = room(u.n * work_bytes(u.dtype));
  if (sig.kind == UpdateKind::kLamb) u.extra = room(static_cast<int64_t>(lamb_scratch(u)));
  if (sig.kind == UpdateKind::kAdafactor) u.extra = room(static_cast<int64_t>(adafactor_scratch(u)));
  return at;
}

// The runner, and a kernel that is complete but for run() and what it needs.
UpdateRunner prepare_runner(const NodeView& node, const Signature& sig, Kernel* kernel) {
  const plugin::ValueView p = node.in(TENON_UPDATE_P);
  UpdateRunner r{};
  Update& u = r.u;
  r.kind = sig.kind;
  r.rule = pointwise_rule(sig.op, node);
  u.hyper = read_hyper(node);
  u.dtype = p.dtype();
  u.half_gradient = u.dtype == TENON_F32 && node.in(TENON_UPDATE_G).dtype() == TENON_BF16;
  u.n = p.elements();
  u.rows = p.rank() ? p.dim(0) : 1;
  u.columns = u.n / u.rows;
  u.scale = node.has(TENON_UPDATE_SCALE);
  u.gate = node.has(TENON_UPDATE_GATE);
  if (node.has(TENON_UPDATE_ROWS)) {
    u.given_rows = node.in(TENON_UPDATE_ROWS).elements();
    u.wide_rows = node.in(TENON_UPDATE_ROWS).dtype() == TENON_I64;
  }
  if (p.rank() >= 2) {
    u.matrix_columns = p.dim(-1);
    u.matrix_rows = p.dim(-2);
    u.batch = u.n / (u.matrix_rows * u.matrix_columns);
  }
  Kernel& k = *kernel;
  k.in_place = {{TENON_UPDATE_P, 0}};
  for (int i = 0; i < kMostSlots; ++i) {
    u.slot[i] = node.has(TENON_UPDATE_SLOTS + i);
    u.slot_elements[i] = u.slot[i] ? node.in(TENON_UPDATE_SLOTS + i).elements() : 0;
    if (u.slot[i]) k.in_place.push_back({TENON_UPDATE_SLOTS + i, 1 + i});
  }
  k.threads = gang_for(u.n);
  return r;
}

Kernel make_update(const NodeView& node, const Signature& sig) {
  Kernel kernel;
  UpdateRunner runner = prepare_runner(node, sig, &kernel);
  kernel.scratch_bytes = plan_scratch(runner.u, sig, node.in(TENON_UPDATE_G).elements());
  kernel.run = runner;
  return kernel;
}

Kernel make_product_update(const NodeView& node, const Signature& sig) {
  Kernel kernel;
  const UpdateRunner runner = prepare_runner(node, sig, &kernel);
  const plugin::ValueView a = node.in(kProductA), b = node.in(TENON_UPDATE_G);
  auto product = std::make_shared<const ProductGradient>(a.dtype(), a.dim(1), b.dim(1), a.dim(0));
  kernel.threads = plugin::kAllThreads;
  kernel.scratch_bytes = product->scratch_bytes();
  kernel.thread_scratch_bytes = product->thread_scratch_bytes();
  kernel.run = [runner, product](const Call& call) { runner.run_product(call, *product); };
  return kernel;
}

}  // namespace

void add_update(KernelTable& table) {
  for (const op::Row& row : op::kUpdateOps) {
    const Signature sig{std::string(row.name), kind_of(row), row.update.slots};
    if (row.update.pointwise)
      table.add_own("cpu.product." + sig.op,
                    [sig](const NodeView& node, const Env&) { return make_product_update(node, sig); });
    table.add(
        sig.op, [sig](const NodeView& node) { return accept_update(node, sig); },
        [sig](const NodeView& node, const Env&) { return make_update(node, sig); });
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
