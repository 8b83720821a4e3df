// The X_update ops whose rule looks at one element at a time, in place.
#include "ops/updates.h"

#include <algorithm>
#include <cmath>

#include "device/kernel_sources.h"
#include "fuse/joint_updates.h"
#include "ops/indexing.h"
#include "ops/shapes.h"
#include "tenon/op/table.h"
#include "tenon/plugin/graph.h"

namespace opencl_gpu {
namespace {

// RULE_name of kernels/element/updates.cl.
std::string rule_name(std::string_view op) { return std::string(op.substr(0, op.size() - 7)); }  // without "_update"

// Hyper of kernels/element/update_shared.cl; what the step does not change is worked out here, in double.
template <class T>
struct UpdateHyper {
  T c1, c2, b1, b2, log_b1, log_b2, eps, wd, mu, l1, l2_reg, shrink, beta, power;

  explicit UpdateHyper(const NodeView& n) {
    const auto of = [&](const char* name) { return static_cast<T>(n.f64(name)); };
    const double first = n.find("rho") ? n.f64("rho") : n.f64("b1");
    c1 = static_cast<T>(1 - first), c2 = static_cast<T>(1 - n.f64("b2"));
    b1 = of("b1"), b2 = of("b2"), eps = of("eps"), wd = of("wd"), mu = of("mu"), l1 = of("l1"), l2_reg = of("l2_reg");
    log_b1 = static_cast<T>(std::log(n.f64("b1"))), log_b2 = static_cast<T>(std::log(n.f64("b2")));
    shrink = of("shrink"), beta = of("beta"), power = static_cast<T>(-n.f64("lr_power", -0.5));
  }
};

// Those that a node has, the first at that operand.
std::vector<int> slots_of(const NodeView& node, int first) {
  std::vector<int> slots;
  for (int k = 0; k < kMostSlots; ++k)
    if (node.has(first + k)) slots.push_back(k);
  return slots;
}

std::string update_options(std::string_view op, int32_t dtype, bool by_rows, const std::vector<int>& slots) {
  std::string options = "-D RULE_" + rule_name(op) + " " + update_dtypes(dtype, dtype) + (by_rows ? " -D BY_ROWS" : "");
  for (int k : slots) options += " -D SLOT_" + std::to_string(k);
  return options;
}

// The kernel of so many variables.
std::string text_of_updates(size_t members) {
  std::string parameters, body;
  for (size_t m = 0; m < members; ++m) {
    const std::string number = std::to_string(m);
    parameters += "MEMBER(" + number + "), ";
    body += " UPDATE(" + number + ")";
  }
  return update_text("updates") + "__kernel void update(" + parameters + "UPDATE_SHARES) { BEGIN" + body + " }\n";
}

// Where a variable's operands and results are in a node.
struct Member {
  int p, g, slots, results;  // of the first slot, of p'
  bool by_rows = false;      // of its gradient; their chains are in scratch
};

// shared: what is added to the places of lr, step, scale and gate.
Kernel joint_kernel(Driver& driver, const NodeView& node, std::string_view op, const std::vector<Member>& members,
                    int shared, std::vector<Launch> launches) {
  const int32_t dtype = node.out(0).dtype();
  const std::vector<int> slots = slots_of(node, members[0].slots);
  Launch launch = Launch::of_text(driver, text_of_updates(members.size()), "update",
                                  update_options(op, dtype, members[0].by_rows, slots));
  uint64_t most = 1;
  Kernel kernel;
  for (const Member& m : members) {
    const ValueView p = node.out(m.results);
    const uint64_t n = static_cast<uint64_t>(p.elements());
    launch.out(m.results).in(m.p).in(m.g);
    if (m.by_rows) launch.scratch().value(static_cast<cl_ulong>(p.elements() / p.dim(0)));
    kernel.in_place.push_back({m.p, m.results});
    for (int k : slots) {
      launch.out(m.results + 1 + k).in(m.slots + k);
      kernel.in_place.push_back({m.slots + k, m.results + 1 + k});
    }
    launch.value<cl_ulong>(n);
    most = std::max(most, n);
  }
  add_shared(launch, node, shared, members[0].p);
  launches.push_back(launch.items(most));
  Kernel run = kernel_of(std::move(launches));
  kernel.run = std::move(run.run);
  return kernel;
}

Kernel update_kernel(Driver& driver, const NodeView& node, std::string_view op) {
  const bool by_rows = node.has(TENON_UPDATE_ROWS);
  const Member member{TENON_UPDATE_P, TENON_UPDATE_G, TENON_UPDATE_SLOTS, 0, by_rows};
  if (!by_rows) return joint_kernel(driver, node, op, {member}, 0, {});
  const int64_t n = node.out(0).dim(0), given = node.in(TENON_UPDATE_ROWS).elements();
  Kernel kernel = joint_kernel(driver, node, op, {member}, 0, {chains_launch(driver, node, TENON_UPDATE_ROWS, n)});
  kernel.scratch_bytes = static_cast<uint64_t>(n + given) * sizeof(cl_int);
  return kernel;
}

// joint_updates.h has the operands.
Kernel updates_kernel(const NodeView& node, const Env& env) {
  const tenon_attr& op = *node.find("op");
  const std::string name(reinterpret_cast<const char*>(node.graph().attr_data(op)), op.count);
  std::vector<Member> members;
  for (int i = 0; i < static_cast<int>(node.i64("members")); ++i) {
    const int first = kSharedOperands + i * kMemberOperands;
    members.push_back({first, first + 1, first + 2, i * kMemberResults});
  }
  if (!is_update_by_element(name)) throw tenon::plugin::Error(TENON_INTERNAL, "no kernel joins updates of " + name);
  return joint_kernel(driver_of(*env.device), node, name, members, -TENON_UPDATE_LR, {});
}

std::vector<int64_t> slots_needed(const NodeView& node, int slots) {
  const bool all = node.flag("amsgrad") || node.flag("centered");
  return std::vector<int64_t>(static_cast<size_t>(all ? kMostSlots : slots),
                              node.has(TENON_UPDATE_P) ? node.in(TENON_UPDATE_P).elements() : 0);
}

}  // namespace

std::string update_text(const char* name) { return std::string(kernel_source("update_shared")) + kernel_source(name); }

std::string update_dtypes(int32_t dtype, int32_t gradient) {
  return std::string("-D D=") + dtype_name(dtype) + " -D G=" + dtype_name(gradient);
}

void add_rows(std::vector<Launch>& launches, Driver& driver, const NodeView& node) {
  const ValueView p = node.out(0), rows = node.in(TENON_UPDATE_ROWS);
  const int32_t sums = sum_dtype(p.dtype());
  const bool wide = dtype_bytes(sums) == 8;
  const uint64_t n = static_cast<uint64_t>(p.elements());
  Launch zero(driver, "movement", "fill", wide ? "-D E=ulong" : "-D E=uint");
  zero.scratch().value<cl_ulong>(n);
  if (wide)
    zero.value<cl_ulong>(0);
  else
    zero.value<cl_uint>(0);
  launches.push_back(zero.items(n));
  tenon::plugin::IndexShape shape;
  shape.n = p.dim(0), shape.j = rows.elements(), shape.s = p.elements() / p.dim(0);
  Launch add = scatter_launch(driver, rows.dtype(), p.dtype(), sums, true);
  launches.push_back(finish_scatter(add.scratch().in(TENON_UPDATE_ROWS).in(TENON_UPDATE_G), driver, shape));
}

uint64_t bytes_of_rows(const NodeView& node) {
  const ValueView p = node.out(0);
  return static_cast<uint64_t>(p.elements()) * static_cast<uint64_t>(dtype_bytes(sum_dtype(p.dtype())));
}

void add_shared(Launch& launch, const NodeView& node, int from, int any) {
  const auto has = [&](int operand) { return node.has(from + operand); };
  for (int i : {TENON_UPDATE_LR, TENON_UPDATE_STEP, TENON_UPDATE_SCALE, TENON_UPDATE_GATE})
    launch.in(has(i) ? from + i : any);
  launch.value<cl_int>(has(TENON_UPDATE_SCALE)).value<cl_int>(has(TENON_UPDATE_GATE));
  launch.value<cl_int>(node.flag("nesterov"));
  if (node.out(0).dtype() == TENON_F64)
    launch.value(UpdateHyper<double>(node));
  else
    launch.value(UpdateHyper<float>(node));
}

Verdict accept_update(const NodeView& node, const std::vector<int64_t>& slots) {
  const std::string op(node.op());
  for (int i = 0; i < TENON_UPDATE_SCALE; ++i)
    if (!node.has(i)) return refuse(op + ": operand " + std::to_string(i) + " is absent");
  const ValueView p = node.in(TENON_UPDATE_P), g = node.in(TENON_UPDATE_G);
  if (!tenon::plugin::is_float(p.dtype())) return refuse(op + ": no kernel for " + dtype_name(p.dtype()));
  if (g.dtype() != p.dtype())
    return refuse(op + ": the gradient is " + dtype_name(g.dtype()) + ", the variable " + dtype_name(p.dtype()));
  for (int k = 0; k < kMostSlots; ++k) {
    const int at = TENON_UPDATE_SLOTS + k;
    const bool needed = static_cast<size_t>(k) < slots.size();
    if (!node.has(at) && !needed) continue;
    if (!node.has(at) || !node.has_result(1 + k))
      return refuse(op + ": slot " + std::to_string(k) + " or its result is absent");
    const int64_t elements = needed ? slots[static_cast<size_t>(k)] : p.elements();
    if (node.in(at).dtype() != p.dtype() || node.in(at).elements() != elements)
      return refuse(op + ": slot " + std::to_string(k) + " has the wrong dtype or size");
  }
  if (!node.has(TENON_UPDATE_ROWS)) {
    if (p.dims().vec() != g.dims().vec()) return refuse(op + ": the gradient has another shape than the variable");
    return tenon::plugin::take();
  }
  const ValueView rows = node.in(TENON_UPDATE_ROWS);
  const bool fit = p.rank() > 0 && g.rank() > 0 && rows.elements() == g.dim(0) &&
                   g.elements() / g.dim(0) == p.elements() / p.dim(0) &&
                   (rows.dtype() == TENON_I32 || rows.dtype() == TENON_I64);
  if (!fit) return refuse(op + ": rows must be integers, one for each row of the gradient");
  return std::max(p.dim(0), rows.elements()) <= INT32_MAX ? tenon::plugin::take()
                                                          : refuse(op + ": more than 2^31 rows");
}

bool is_update_by_element(std::string_view op) {
  const tenon::op::Row* row = tenon::op::find(op);
  return row && row->update.pointwise;
}

void add_updates(KernelTable& table) {
  for (const tenon::op::Row& row : tenon::op::kUpdateOps) {
    if (!row.update.pointwise) continue;
    table.add(
        std::string(row.name),
        [slots = row.update.slots](const NodeView& node) { return accept_update(node, slots_needed(node, slots)); },
        [](const NodeView& node, const Env& env) { return update_kernel(driver_of(*env.device), node, node.op()); });
  }
  table.add_own(kUpdates, updates_kernel);
  add_update_passes(table);
}

}  // namespace opencl_gpu
