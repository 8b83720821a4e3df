// nadam, whose last slot is one number, lamb and adafactor, which need sums over the whole variable: several passes
// (kernels/element/update_passes.cl).
#include <algorithm>

#include "device/kernel_sources.h"
#include "ops/reductions.h"
#include "ops/rows.h"
#include "ops/shapes.h"
#include "ops/updates.h"
#include "tenon/op/names.h"

namespace opencl_gpu {
namespace {

using tenon::op::adafactor_update;
using tenon::op::lamb_update;
using tenon::op::nadam_update;

// The launches of an update, and what they leave in the scratch.
class Passes {
 public:
  Passes(Driver& driver, const NodeView& node)
      : driver_(driver), node_(node), by_rows_(node.has(TENON_UPDATE_ROWS)), dtype_(node.out(0).dtype()) {
    if (!by_rows_) return;
    add_rows(launches_, driver, node);
    scratch_ = aligned(bytes_of_rows(node));
  }

  uint64_t elements() const { return static_cast<uint64_t>(node_.out(0).elements()); }
  // Memory of n numbers of T.
  uint64_t keep(uint64_t n) {
    const uint64_t at = scratch_;
    scratch_ += aligned(n * static_cast<uint64_t>(dtype_bytes(sum_dtype(dtype_))));
    return at;
  }
  Launch pass(const char* name) const {
    const std::string options = update_dtypes(dtype_, by_rows_ ? sum_dtype(dtype_) : dtype_);
    const std::string text = kernel_source("rows") + update_text("update_passes");
    return Launch::of_text(driver_, text, name, options);
  }
  Launch& gradient(Launch& launch) const { return by_rows_ ? launch.scratch() : launch.in(TENON_UPDATE_G); }
  // A number of T.
  Launch& number(Launch& launch, double x) const { return real(launch, dtype_, x); }
  Launch& shared(Launch& launch) const {
    add_shared(launch, node_, 0, TENON_UPDATE_P);
    return launch;
  }
  void add(Launch launch) { launches_.push_back(std::move(launch)); }
  // The sum of x[a, r, b] over r into the scratch at `to`. x is of T, or of `dtype`.
  void add_sum(const char* map, const FoldShape& shape, const Argument& x, uint64_t to, int32_t dtype = 0) {
    const int32_t sums = sum_dtype(dtype_);
    add_fold(launches_, driver_, {dtype ? dtype : sums, sums, sums, "sum", map}, shape, x, scratch_at(to), &scratch_);
  }
  // The sums of the squares of p and of the direction at `r`: where they are.
  uint64_t add_squares(uint64_t r) {
    const uint64_t to = keep(2), width = static_cast<uint64_t>(dtype_bytes(sum_dtype(dtype_)));
    add_sum("(x)*(x)", {1, elements(), 1}, operand(TENON_UPDATE_P), to, dtype_);
    add_sum("(x)*(x)", {1, elements(), 1}, scratch_at(r), to + width);
    return to;
  }
  Kernel kernel() {
    Kernel kernel = kernel_of(std::move(launches_), scratch_);
    kernel.in_place.push_back({TENON_UPDATE_P, 0});
    for (int k = 1; k < node_.results(); ++k) kernel.in_place.push_back({TENON_UPDATE_SLOTS + k - 1, k});
    return kernel;
  }

 private:
  Driver& driver_;
  const NodeView& node_;
  bool by_rows_;
  int32_t dtype_;
  std::vector<Launch> launches_;
  uint64_t scratch_ = 0;
};

Kernel nadam_kernel(Driver& driver, const NodeView& node) {
  using op = nadam_update;
  Passes passes(driver, node);
  Launch move = passes.pass("nadam");
  move.out(op::out::p).out(op::out::m).out(op::out::v).in(op::p);
  passes.gradient(move).in(op::m).in(op::v).in(op::q).value<cl_ulong>(passes.elements());
  passes.add(passes.shared(move).items(passes.elements()));
  Launch product = passes.pass("nadam_product");
  product.out(op::out::q).in(op::q);
  passes.add(passes.shared(product).groups({1}));
  return passes.kernel();
}

Kernel lamb_kernel(Driver& driver, const NodeView& node) {
  using op = lamb_update;
  Passes passes(driver, node);
  const uint64_t n = passes.elements(), r = passes.keep(n);
  Launch direction = passes.pass("lamb_direction");
  direction.scratch(r).out(op::out::m).out(op::out::v);
  passes.gradient(direction).in(op::m).in(op::v).value<cl_ulong>(n);
  passes.add(passes.shared(direction).items(n));
  const uint64_t squares = passes.add_squares(r);
  Launch move = passes.pass("lamb_move");
  move.out(op::out::p).in(op::p).scratch(r).scratch(squares).value<cl_ulong>(n);
  passes.add(passes.shared(move).items(n));
  return passes.kernel();
}

// The matrices of a variable of rank 2 or more.
struct Matrices {
  uint64_t count, rows, columns;
};

Matrices matrices_of(const ValueView& p) {
  const auto rows = static_cast<uint64_t>(p.dim(p.rank() - 2)), columns = static_cast<uint64_t>(p.dim(p.rank() - 1));
  return {static_cast<uint64_t>(p.elements()) / std::max<uint64_t>(rows * columns, 1), rows, columns};
}

// A slot goes toward means, sums of `shape` of the squares. Returns where the scratch has it.
uint64_t add_mean(Passes& passes, uint64_t squares, const FoldShape& shape, int slot, int result) {
  const uint64_t n = shape.a * shape.b, sums = passes.keep(n);
  passes.add_sum("", shape, scratch_at(squares), sums);
  Launch mean = passes.pass("adafactor_mean");
  mean.out(result).in(slot).scratch(sums);
  passes.number(mean, static_cast<double>(shape.r)).value<cl_ulong>(n);
  passes.add(passes.shared(mean).items(n));
  return sums;
}

// u at `to`, where the squares are at first.
void add_factored(Passes& passes, Driver& driver, const NodeView& node, uint64_t to) {
  using op = adafactor_update;
  const Matrices s = matrices_of(node.in(op::p));
  Launch squares = passes.pass("adafactor_squares");
  squares.scratch(to);
  passes.number(passes.gradient(squares), node.f64("eps1")).value<cl_ulong>(passes.elements());
  passes.add(passes.shared(squares).items(passes.elements()));
  const uint64_t r = add_mean(passes, to, {s.count * s.rows, s.columns, 1}, op::r, op::out::r);
  const uint64_t c = add_mean(passes, to, {s.count, s.rows, s.columns}, op::c, op::out::c);
  const uint64_t r_sums = passes.keep(s.count);
  passes.add_sum("", {s.count, s.rows, 1}, scratch_at(r), r_sums);
  Launch direction = passes.pass("adafactor_direction");
  direction.scratch(to);
  passes.gradient(direction).scratch(r).scratch(c).scratch(r_sums);
  direction.value<cl_ulong>(s.count * s.rows).value<cl_ulong>(s.columns).value<cl_ulong>(s.rows);
  passes.add(over_rows(passes.shared(direction), driver, s.count * s.rows, s.columns));
}

void add_vector(Passes& passes, const NodeView& node, uint64_t to) {
  using op = adafactor_update;
  Launch vector = passes.pass("adafactor_vector");
  vector.scratch(to).out(op::out::r);
  passes.gradient(vector).in(op::r);
  passes.number(vector, node.f64("eps1")).value<cl_ulong>(passes.elements());
  passes.add(passes.shared(vector).items(passes.elements()));
}

Kernel adafactor_kernel(Driver& driver, const NodeView& node) {
  using op = adafactor_update;
  Passes passes(driver, node);
  const uint64_t n = passes.elements(), u = passes.keep(n);
  if (node.in(op::p).rank() >= 2)
    add_factored(passes, driver, node, u);
  else
    add_vector(passes, node, u);
  const uint64_t squares = passes.add_squares(u);
  Launch move = passes.pass("adafactor_move");
  move.out(op::out::p).in(op::p).scratch(u).scratch(squares);
  passes.number(move, node.f64("eps2")).value<cl_ulong>(n);
  passes.add(passes.shared(move).items(n));
  return passes.kernel();
}

std::vector<int64_t> adafactor_slots(const ValueView& p) {
  if (p.rank() < 2) return {p.elements()};
  const auto left = [&](int axis) { return p.elements() / std::max<int64_t>(p.dim(p.rank() + axis), 1); };
  return {left(-1), left(-2)};
}

}  // namespace

void add_update_passes(KernelTable& table) {
  const auto elements = [](const NodeView& node) {
    return node.has(TENON_UPDATE_P) ? node.in(TENON_UPDATE_P).elements() : 0;
  };
  table.add(
      "nadam_update",
      [elements](const NodeView& node) {
        return accept_update(node, {elements(node), elements(node), 1});
      },
      [](const NodeView& node, const Env& env) { return nadam_kernel(driver_of(*env.device), node); });
  table.add(
      "lamb_update",
      [elements](const NodeView& node) {
        return accept_update(node, {elements(node), elements(node)});
      },
      [](const NodeView& node, const Env& env) { return lamb_kernel(driver_of(*env.device), node); });
  table.add(
      "adafactor_update",
      [](const NodeView& node) {
        if (!node.has(TENON_UPDATE_P)) return refuse("adafactor_update: operand 0 is absent");
        return accept_update(node, adafactor_slots(node.in(TENON_UPDATE_P)));
      },
      [](const NodeView& node, const Env& env) { return adafactor_kernel(driver_of(*env.device), node); });
}

}  // namespace opencl_gpu
