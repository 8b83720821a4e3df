// lstm, gru and their gradients in f32 and f64: products of the whole sequence, and for each step a product and a kernel of
// kernels/network/recurrent.cl. 16 bits go as primitives. The table of ops has the formulas.
#include <algorithm>

#include "device/table.h"
#include "ops/reductions.h"
#include "ops/shapes.h"
#include "products/placed.h"
#include "tenon/op/names.h"

namespace opencl_gpu {
namespace {

namespace op = tenon::op;

struct Cells {
  int64_t B, T, I, U, columns;  // columns: of W and R
  int32_t dtype;

  Cells(const ValueView& x, const ValueView& r)
      : B(x.dim(0)), T(x.dim(1)), I(x.dim(2)), U(r.dim(0)), columns(r.dim(1)), dtype(x.dtype()) {}
  uint64_t bytes(int64_t elements) const {
    return static_cast<uint64_t>(elements) * static_cast<uint64_t>(dtype_bytes(dtype));
  }
};

// The stages of a node, in order, and its scratch. Products share what they need of it, behind all else.
class Stages {
 public:
  Stages(const NodeView& node, const Env& env, const Cells& cells)
      : node_(node), env_(env), driver_(driver_of(*env.device)), cells_(cells) {
    env_.deterministic = true;  // what is measured is remembered by the node, which has several products
  }

  Spot room(int64_t elements) {
    const Spot spot = scratch_spot(bytes_);
    bytes_ += aligned(cells_.bytes(elements));
    return spot;
  }

  Kernel product(const Product& s, AIs a, bool bias = false, bool residual = false) {
    ProductKind kind;
    kind.a = a, kind.dtype = kind.result = cells_.dtype, kind.bias = bias, kind.residual = residual;
    Kernel kernel = product_kernel(node_, env_, s, kind);
    most_ = std::max(most_, kernel.scratch_bytes);
    return kernel;
  }
  // A kernel of recurrent.cl with so many operands and results, results first; `more`: its last parameters.
  Kernel cell(const char* name, int results, int operands, const std::function<void(Launch&)>& more = {}) {
    Launch launch(driver_, "recurrent", name, std::string("-D D=") + dtype_name(cells_.dtype));
    for (int i = 0; i < results; ++i) launch.out(i);
    for (int i = 0; i < operands; ++i) launch.in(i);
    const auto count = [](int64_t n) { return static_cast<cl_ulong>(n); };
    launch.value(count(cells_.B)).value(count(cells_.U)).value(count(cells_.T * cells_.U));
    if (more) more(launch);
    return kernel_of({launch.items(count(cells_.B * cells_.U))});
  }
  void add(const Kernel& kernel, const Spots& operands, const Spots& results) {
    stages_.push_back({kernel, operands, results});
  }
  // The sums of the columns of x[B T, columns], at a place in scratch, as a result of the node.
  void add_column_sums(const Spot& x, int result_index) {
    std::vector<Launch> launches;
    const FoldShape shape{1, static_cast<uint64_t>(cells_.B * cells_.T), static_cast<uint64_t>(cells_.columns)};
    add_fold(launches, driver_, {cells_.dtype, cells_.dtype, cells_.dtype, "sum"}, shape, scratch_at(x.offset),
             result(result_index), &bytes_);
    sums_.insert(sums_.end(), launches.begin(), launches.end());
  }

  Kernel kernel() {
    Kernel whole;
    whole.scratch_bytes = bytes_ + most_;
    whole.run = [stages = std::move(stages_), sums = std::move(sums_), at = bytes_](const Call& call) {
      for (const Stage& s : stages) run_placed(s.kernel, call, s.operands, s.results, at);
      for (const Launch& launch : sums) launch(call);
    };
    return whole;
  }

 private:
  struct Stage {
    Kernel kernel;
    Spots operands, results;
  };
  NodeView node_;
  Env env_;
  Driver& driver_;
  Cells cells_;
  std::vector<Stage> stages_;
  std::vector<Launch> sums_;
  uint64_t bytes_ = 0, most_ = 0;
};

// a[m, k], rows a_row apart, times b[k, n] or, if `tb`, b[n, k]: c's rows are c_row apart.
Product dense(int64_t m, int64_t n, int64_t k, int64_t a_row, int64_t c_row, bool tb = false) {
  Product s;
  s.m = m, s.n = n, s.k = k, s.b_inner = k;
  s.a_row = a_row, s.a_column = 1, s.c_row = c_row;
  s.b_row = tb ? 1 : n, s.b_column = tb ? k : 1;
  return s;
}

// a[k, m]' b[k, n]
Product transposed(int64_t m, int64_t n, int64_t k) {
  Product s = dense(m, n, k, 1, n);
  s.a_column = m;
  return s;
}

// x W + b of all steps.
Kernel inputs_product(Stages& stages, const Cells& c) {
  return stages.product(dense(c.B * c.T, c.columns, c.I, c.I, c.columns), AIs::kMatrix, true);
}

// The state that step t starts from, h or in y: rows of U or T U.
Spot state_before(const Cells& c, int64_t t, int h, const Spot& y) {
  return t == 0 ? operand_at(h) : y.plus(c.bytes((t - 1) * c.U));
}

// ---- forward ----

Kernel lstm_kernel(const NodeView& node, const Env& env) {
  using L = op::lstm;
  const Cells c(node.in(L::x), node.in(L::r));
  Stages stages(node, env, c);
  const Spot y = result_at(L::out::y), gates = result_at(L::out::gates), cell = result_at(L::out::c);
  stages.add(inputs_product(stages, c), {operand_at(L::x), operand_at(L::w), operand_at(L::b)}, {gates});
  const Kernel first = stages.product(dense(c.B, c.columns, c.U, c.U, c.T * c.columns), AIs::kMatrix, false, true);
  const Kernel later =
      stages.product(dense(c.B, c.columns, c.U, c.T * c.U, c.T * c.columns), AIs::kMatrix, false, true);
  const Kernel step = stages.cell("lstm_cell", 3, 1);
  for (int64_t t = 0; t < c.T; ++t) {
    const Spot of_step = gates.plus(c.bytes(t * c.columns)), state = state_before(c, t, L::h, y);
    stages.add(t == 0 ? first : later, {state, operand_at(L::r), {}, of_step}, {of_step});
    stages.add(step, {t == 0 ? operand_at(L::c) : cell}, {of_step, y.plus(c.bytes(t * c.U)), cell});
  }
  return stages.kernel();
}

Kernel gru_kernel(const NodeView& node, const Env& env) {
  using G = op::gru;
  const Cells c(node.in(G::x), node.in(G::r));
  Stages stages(node, env, c);
  const Spot y = result_at(G::out::y), gates = result_at(G::out::gates);
  const Spot inputs = stages.room(c.B * c.T * c.columns), sums = stages.room(c.B * c.columns);
  stages.add(inputs_product(stages, c), {operand_at(G::x), operand_at(G::w), operand_at(G::b)}, {inputs});
  for (const bool first : {true, false}) {
    const int64_t row = first ? c.U : c.T * c.U;
    const Kernel product = stages.product(dense(c.B, c.columns, c.U, row, c.columns), AIs::kMatrix, true);
    const Kernel step = stages.cell("gru_cell", 2, 3, [&](Launch& l) { l.value(static_cast<cl_ulong>(row)); });
    for (int64_t t = first ? 0 : 1; t < (first ? 1 : c.T); ++t) {
      const Spot state = state_before(c, t, G::h, y);
      stages.add(product, {state, operand_at(G::r), operand_at(G::rb)}, {sums});
      stages.add(step, {inputs.plus(c.bytes(t * c.columns)), sums, state},
                 {gates.plus(c.bytes(t * 4 * c.U)), y.plus(c.bytes(t * c.U))});
    }
  }
  return stages.kernel();
}

// ---- backward ----

// dx = dz W', dw = x' dz, dr = before' drec
struct WeightGradients {
  int x, w, dx, dw, dr;  // operands; results
};
void add_weight_gradients(Stages& stages, const Cells& c, const WeightGradients& at, const Spot& dz, const Spot& drec,
                          const Spot& before) {
  const int64_t steps = c.B * c.T;
  stages.add(stages.product(dense(steps, c.I, c.columns, c.columns, c.I, true), AIs::kMatrix), {dz, operand_at(at.w)},
             {result_at(at.dx)});
  stages.add(stages.product(transposed(c.I, c.columns, steps), AIs::kTransposedMatrix), {operand_at(at.x), dz},
             {result_at(at.dw)});
  stages.add(stages.product(transposed(c.U, c.columns, steps), AIs::kTransposedMatrix), {before, drec},
             {result_at(at.dr)});
}

std::function<void(Launch&)> has_dh(bool has) {
  return [has](Launch& launch) { launch.value<cl_int>(has); };
}

Kernel lstm_grad_kernel(const NodeView& node, const Env& env) {
  using L = op::lstm_grad;
  const Cells c(node.in(L::x), node.in(L::r));
  Stages stages(node, env, c);
  const Spot dz = stages.room(c.B * c.T * c.columns), cells = stages.room(c.B * c.T * c.U);
  const Spot before = stages.room(c.B * c.T * c.U), dh = result_at(L::out::dh), dc = result_at(L::out::dc0);
  const Spot y = operand_at(L::y), gates = operand_at(L::gates);
  stages.add(stages.cell("states_before", 1, 2), {operand_at(L::h), y}, {before});
  stages.add(stages.cell("lstm_cells", 1, 2), {operand_at(L::c), gates}, {cells});
  const Kernel last = stages.cell("lstm_cell_grad", 2, 6, has_dh(false));
  const Kernel other = stages.cell("lstm_cell_grad", 2, 6, has_dh(true));
  const Kernel product = stages.product(dense(c.B, c.U, c.columns, c.T * c.columns, c.U, true), AIs::kMatrix);
  for (int64_t t = c.T - 1; t >= 0; --t) {
    const Spot dz_of_step = dz.plus(c.bytes(t * c.columns)), cell = cells.plus(c.bytes(t * c.B * c.U));
    const Spot cell_before = t == 0 ? operand_at(L::c) : cells.plus(c.bytes((t - 1) * c.B * c.U));
    const bool is_last = t == c.T - 1;
    stages.add(is_last ? last : other,
               {operand_at(L::dy).plus(c.bytes(t * c.U)), dh, is_last ? operand_at(L::dc) : dc, cell, cell_before,
                gates.plus(c.bytes(t * c.columns))},
               {dz_of_step, dc});
    stages.add(product, {dz_of_step, operand_at(L::r)}, {dh});
  }
  add_weight_gradients(stages, c, {L::x, L::w, L::out::dx, L::out::dw, L::out::dr}, dz, dz, before);
  stages.add_column_sums(dz, L::out::db);
  return stages.kernel();
}

Kernel gru_grad_kernel(const NodeView& node, const Env& env) {
  using G = op::gru_grad;
  const Cells c(node.in(G::x), node.in(G::r));
  Stages stages(node, env, c);
  const Spot dz = stages.room(c.B * c.T * c.columns), drec = stages.room(c.B * c.T * c.columns);
  const Spot before = stages.room(c.B * c.T * c.U), dh = result_at(G::out::dh);
  stages.add(stages.cell("states_before", 1, 2), {operand_at(G::h), operand_at(G::y)}, {before});
  const Kernel last = stages.cell("gru_cell_grad", 3, 4, has_dh(false));
  const Kernel other = stages.cell("gru_cell_grad", 3, 4, has_dh(true));
  const Kernel product =
      stages.product(dense(c.B, c.U, c.columns, c.T * c.columns, c.U, true), AIs::kMatrix, false, true);
  for (int64_t t = c.T - 1; t >= 0; --t) {
    const uint64_t state = c.bytes(t * c.U), columns = c.bytes(t * c.columns);
    stages.add(t == c.T - 1 ? last : other,
               {operand_at(G::dy).plus(state), dh, before.plus(state), operand_at(G::gates).plus(4 * state)},
               {dz.plus(columns), drec.plus(columns), dh});
    stages.add(product, {drec.plus(columns), operand_at(G::r), {}, dh}, {dh});
  }
  add_weight_gradients(stages, c, {G::x, G::w, G::out::dx, G::out::dw, G::out::dr}, dz, drec, before);
  stages.add_column_sums(dz, G::out::db);
  stages.add_column_sums(drec, G::out::drb);
  return stages.kernel();
}

// ---- the table ----

Verdict accept_recurrent(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (!node.has(i) || node.in(i).dtype() != node.in(0).dtype()) return decompose();
  for (int i = 0; i < node.results(); ++i)
    if (!node.has_result(i)) return decompose();
  const int32_t dtype = node.in(0).dtype();
  return dtype == TENON_F32 || dtype == TENON_F64 ? take() : decompose();
}

}  // namespace

void add_recurrent(KernelTable& table) {
  table.add("lstm", accept_recurrent, lstm_kernel);
  table.add("lstm_grad", accept_recurrent, lstm_grad_kernel);
  table.add("gru", accept_recurrent, gru_kernel);
  table.add("gru_grad", accept_recurrent, gru_grad_kernel);
}

}  // namespace opencl_gpu
