// The X_update ops whose rule looks at one element at a time, in place. Those of norms (lamb, adafactor) and nadam, whose third
// slot is a scalar, go as primitives.
#include <cmath>

#include "indexing.h"
#include "shapes.h"
#include "table.h"
#include "tenon/abi/optimizer.h"
#include "tenon/plugin/graph.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::dtype_bytes;
using tenon::plugin::dtype_name;
using tenon::plugin::IndexShape;
using tenon::plugin::refuse;
using tenon::plugin::Verdict;

constexpr int kMostSlots = 3;

struct Rule {
  const char* op;
  const char* name;  // RULE_name of kernels/updates.cl
  int slots;         // without the optional ones
};
const Rule kRules[] = {
    {"sgd_update", "sgd", 0},         {"momentum_update", "momentum", 1}, {"adam_update", "adam", 2},
    {"adamw_update", "adam", 2},      {"adamax_update", "adamax", 2},     {"adagrad_update", "adagrad", 1},
    {"rmsprop_update", "rmsprop", 1}, {"adadelta_update", "adadelta", 2}, {"ftrl_update", "ftrl", 2},
    {"lion_update", "lion", 1},
};

bool needs_slot(const NodeView& node, const Rule& rule, int k) {
  if (k < rule.slots) return true;
  return k == 2 && (node.flag("amsgrad") || node.flag("centered"));
}

// Hyper of kernels/updates.cl; what the step does not change is worked out here, in double.
template <class T>
struct UpdateHyper {
  T l2, c1, c2, b1, b2, log_b1, log_b2, eps, wd, mu, l1, l2_reg, shrink, beta, power;

  explicit UpdateHyper(const NodeView& n) {
    const auto of = [&](const char* name) { return static_cast<T>(n.f64(name)); };
    const double first = n.find("rho") ? n.f64("rho") : n.f64("b1");
    l2 = of("l2"), c1 = static_cast<T>(1 - first), c2 = static_cast<T>(1 - n.f64("b2"));
    b1 = of("b1"), b2 = of("b2"), eps = of("eps"), wd = of("wd"), mu = of("mu"), l1 = of("l1"), l2_reg = of("l2_reg");
    log_b1 = static_cast<T>(std::log(n.f64("b1"))), log_b2 = static_cast<T>(std::log(n.f64("b2")));
    shrink = of("shrink"), beta = of("beta"), power = static_cast<T>(-n.f64("lr_power", -0.5));
  }
};

std::string options_of(const NodeView& node, const Rule& rule, int32_t gradient) {
  std::string options = std::string("-D RULE_") + rule.name + " -D D=" + dtype_name(node.out(0).dtype()) +
                        " -D G=" + dtype_name(gradient);
  for (int k = 0; k < kMostSlots; ++k)
    if (node.has(TENON_UPDATE_SLOTS + k)) options += " -D SLOT_" + std::to_string(k);
  return options;
}

// A gradient given by rows, added up into scratch as one of the variable's shape.
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
  IndexShape shape;
  shape.n = p.dim(0), shape.j = rows.elements(), shape.s = p.elements() / p.dim(0);
  Launch add = scatter_launch(driver, rows.dtype(), p.dtype(), sums, true);
  launches.push_back(finish_scatter(add.scratch().in(TENON_UPDATE_ROWS).in(TENON_UPDATE_G), driver, shape));
}

Kernel update_kernel(Driver& driver, const NodeView& node, const Rule& rule) {
  const int32_t dtype = node.out(0).dtype();
  const uint64_t n = static_cast<uint64_t>(node.out(0).elements());
  const bool by_rows = node.has(TENON_UPDATE_ROWS);
  std::vector<Launch> launches;
  if (by_rows) add_rows(launches, driver, node);
  Launch launch(driver, "updates", "update", options_of(node, rule, by_rows ? sum_dtype(dtype) : dtype));
  const auto operand = [&](int i) { launch.in(node.has(i) ? i : TENON_UPDATE_P); };
  launch.out(0);
  for (int k = 0; k < kMostSlots; ++k) launch.out(node.has(TENON_UPDATE_SLOTS + k) ? 1 + k : 0);
  operand(TENON_UPDATE_P);
  by_rows ? launch.scratch() : launch.in(TENON_UPDATE_G);
  for (int k = 0; k < kMostSlots; ++k) operand(TENON_UPDATE_SLOTS + k);
  for (int i : {TENON_UPDATE_LR, TENON_UPDATE_STEP, TENON_UPDATE_SCALE, TENON_UPDATE_GATE}) operand(i);
  launch.value<cl_ulong>(n).value<cl_int>(node.has(TENON_UPDATE_SCALE)).value<cl_int>(node.has(TENON_UPDATE_GATE));
  launch.value<cl_int>(node.flag("nesterov"));
  if (dtype == TENON_F64)
    launch.value(UpdateHyper<double>(node));
  else
    launch.value(UpdateHyper<float>(node));
  launches.push_back(launch.items(n));
  Kernel kernel =
      kernel_of(std::move(launches), by_rows ? n * static_cast<uint64_t>(dtype_bytes(sum_dtype(dtype))) : 0);
  kernel.in_place = {{TENON_UPDATE_P, 0}};
  for (int k = 0; k < kMostSlots; ++k)
    if (node.has(TENON_UPDATE_SLOTS + k)) kernel.in_place.push_back({TENON_UPDATE_SLOTS + k, 1 + k});
  return kernel;
}

Verdict accept_update(const NodeView& node, const Rule& rule) {
  const std::string op(node.op());
  for (int i = 0; i < TENON_UPDATE_SCALE; ++i)
    if (!node.has(i)) return refuse(op + ": operand " + std::to_string(i) + " is absent");
  const ValueView p = node.in(TENON_UPDATE_P), g = node.in(TENON_UPDATE_G);
  if (!tenon::plugin::is_float(p.dtype())) return refuse(op + ": no kernel for " + dtype_name(p.dtype()));
  if (g.dtype() != p.dtype())
    return refuse(op + ": the gradient is " + dtype_name(g.dtype()) + ", the variable " + dtype_name(p.dtype()));
  for (int k = 0; k < kMostSlots; ++k) {
    const int at = TENON_UPDATE_SLOTS + k;
    if (!node.has(at) && !needs_slot(node, rule, k)) continue;
    if (!node.has(at) || !node.has_result(1 + k))
      return refuse(op + ": slot " + std::to_string(k) + " or its result is absent");
    if (node.in(at).dtype() != p.dtype() || node.in(at).elements() != p.elements())
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
  return fit ? tenon::plugin::take() : refuse(op + ": rows must be integers, one for each row of the gradient");
}

}  // namespace

void add_updates(KernelTable& table) {
  for (const Rule& rule : kRules)
    table.add(
        rule.op, [&rule](const NodeView& node) { return accept_update(node, rule); },
        [&rule](const NodeView& node, const Env& env) { return update_kernel(driver_of(*env.device), node, rule); });
}

}  // namespace opencl_gpu
