// The nodes of the *_update ops: p[rows, columns], g of p's shape or g[given_rows, columns] with rows[given_rows],
// lr, step, scale, gate scalars, slots mostly of p's shape. One pass over memory for the pointwise rules.
//
// cpu.product.*_update: the gradient is the product A^T B of what stands in g's place, B, and of a last operand, A. It is
// consumed block by block and never in memory.
#include "kernels/update.h"

#include <algorithm>
#include <cstring>

#include "kernels/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kProductA = TENON_UPDATE_SLOTS + kMostSlots;
constexpr int64_t kRowBlock = 1024;  // elements of g scattered at a time

enum class Kind { kPointwise, kNadam, kSgd, kLamb, kAdafactor };

struct Runner {
  Update u;
  Kind kind;
  const PointwiseRule* rule;

  void operator()(const Call& call) const {
    if (u.dtype == TENON_F64)
      run<double>(call);
    else
      run<float>(call);
  }

  // Where blocks of a gradient go.
  struct Blocks {
    const Runner* runner;
    const Tensors<float>* tensors;
    const StepArgs<float>* args;
  };
  static void take_block(const void* context, const float* g, int64_t ld, int64_t row, int64_t rows, int64_t column,
                         int64_t columns) {
    const auto& [runner, t, a] = *static_cast<const Blocks*>(context);
    const int64_t width = runner->u.columns;
    if (columns == width && ld == width) return runner->apply(*t, runner->rule->f32, row * width, rows * width, g, *a);
    for (int64_t i = 0; i < rows; ++i)
      runner->apply(*t, runner->rule->f32, (row + i) * width + column, columns, g + i * ld, *a);
  }

  // f32, pointwise rules but nadam, g dense.
  void run_product(const Call& call, const Gemm& product) const {
    if (u.gate && !*call.in<uint8_t>(TENON_UPDATE_GATE)) return keep(call);
    const Tensors<float> t = open_all<float>(call);
    call.barrier();  // what was copied is whole
    double h[8] = {};
    const StepArgs<float> a = step_args(call, t, h);
    const Blocks blocks{this, &t, &a};
    const GemmConsumer consume{&blocks, take_block};
    product.run(call, {call.in(kProductA), call.in(TENON_UPDATE_G), nullptr, nullptr, nullptr, &consume});
  }

 private:
  bool pointwise() const { return kind < Kind::kLamb; }
  bool scalar_slot(int k) const { return kind == Kind::kNadam && k == 2; }
  int64_t given_elements() const { return u.given_rows ? u.given_rows * u.columns : u.n; }

  // This thread's elements of p; whole rows where g comes by rows.
  Slice own(const Call& call) const {
    if (!u.given_rows) return call.share(u.n, kGrain);
    const Slice r = call.share(u.rows);
    return {r.begin * u.columns, r.end * u.columns};
  }
  Slice own_slot(const Call& call, int k) const {
    return u.slot_elements[k] == u.n ? own(call) : call.share(u.slot_elements[k], kGrain);
  }

  void copy(const Call& call, int operand, int result, Slice s) const {
    const int64_t size = plugin::dtype_bytes(u.dtype);
    const uint8_t* from = call.in<uint8_t>(operand) + s.begin * size;
    uint8_t* to = call.out<uint8_t>(result) + s.begin * size;
    if (from != to && s.begin < s.end) std::memcpy(to, from, static_cast<size_t>((s.end - s.begin) * size));
  }
  // Gate false: results are the operands.
  void keep(const Call& call) const {
    copy(call, TENON_UPDATE_P, 0, own(call));
    for (int k = 0; k < kMostSlots; ++k)
      if (u.slot[k]) copy(call, TENON_UPDATE_SLOTS + k, 1 + k, own_slot(call, k));
  }

  // The place to update: result `result`, or its widened copy; this thread's share is filled.
  template <class T>
  T* open(const Call& call, int operand, int result, int buffer, Slice s) const {
    if (is_half(u.dtype)) {
      T* wide = widened<T>(call, buffer);
      widen_share(call, operand, wide, s);
      return wide;
    }
    copy(call, operand, result, s);
    return call.out<T>(result);
  }
  template <class T>
  T* widened(const Call& call, int buffer) const {
    return reinterpret_cast<T*>(static_cast<uint8_t*>(call.scratch) + u.buffer[buffer]);
  }
  template <class T>
  void widen_share(const Call& call, int operand, T* wide, Slice s) const {
    if constexpr (std::is_same_v<T, float>)
      widen(u.dtype, call.in<uint16_t>(operand) + s.begin, wide + s.begin, std::max<int64_t>(0, s.end - s.begin));
  }
  template <class T>
  void close(const Call& call, int result, int buffer, Slice s) const {
    if constexpr (std::is_same_v<T, float>)
      narrow(u.dtype, widened<T>(call, buffer) + s.begin, call.out<uint16_t>(result) + s.begin,
             std::max<int64_t>(0, s.end - s.begin));
  }

  template <class T>
  Tensors<T> open_all(const Call& call) const {
    Tensors<T> t{};
    t.scale = u.scale ? static_cast<T>(*call.in<float>(TENON_UPDATE_SCALE)) : T(1);
    t.p = open<T>(call, TENON_UPDATE_P, 0, 0, own(call));
    if (is_half(u.dtype)) {
      T* wide = widened<T>(call, 1);
      widen_share(call, TENON_UPDATE_G, wide, u.given_rows ? call.share(given_elements(), kGrain) : own(call));
      t.g = wide;
    } else {
      t.g = call.in<T>(TENON_UPDATE_G);
    }
    for (int k = 0; k < kMostSlots; ++k)
      if (u.slot[k] && !scalar_slot(k)) t.s[k] = open<T>(call, TENON_UPDATE_SLOTS + k, 1 + k, 2 + k, own_slot(call, k));
    if (is_half(u.dtype) || u.given_rows || !pointwise()) call.barrier();
    return t;
  }
  template <class T>
  void close_all(const Call& call) const {
    if (!is_half(u.dtype)) return;
    call.barrier();
    close<T>(call, 0, 0, own(call));
    for (int k = 0; k < kMostSlots; ++k)
      if (u.slot[k] && !scalar_slot(k)) close<T>(call, 1 + k, 2 + k, own_slot(call, k));
  }

  // ---- gradients by rows ----

  int64_t row(const Call& call, int64_t j) const {
    return u.wide_rows ? call.in<int64_t>(TENON_UPDATE_ROWS)[j] : call.in<int32_t>(TENON_UPDATE_ROWS)[j];
  }
  // For the rows of p that are this thread's, the list of g's rows that add to it, in order.
  struct Chains {
    const int32_t *head, *next;
  };
  Chains chain(const Call& call) const {
    int32_t* head = reinterpret_cast<int32_t*>(static_cast<uint8_t*>(call.scratch) + u.chains);
    int32_t* next = head + u.rows;
    const Slice s = call.share(u.rows);
    std::fill(head + s.begin, head + s.end, -1);
    for (int64_t j = u.given_rows - 1; j >= 0; --j) {
      const int64_t r = row(call, j);
      if (r < s.begin || r >= s.end) continue;
      next[j] = head[r];
      head[r] = static_cast<int32_t>(j);
    }
    return {head, next};
  }
  // out[n] = the gradient of elements [from, from + n) of row r.
  template <class T>
  void gather(const Chains& c, const T* g, int64_t r, int64_t from, int64_t n, T* out) const {
    std::fill(out, out + n, T(0));
    for (int32_t j = c.head[r]; j >= 0; j = c.next[j]) {
      const T* x = g + j * u.columns + from;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) out[i] += x[i];
    }
  }
  // Runs the rule on blocks of p, g's rows scattered into a small buffer: all rows change, moments decay.
  template <class T>
  void run_by_rows(const Call& call, const Tensors<T>& t, RuleLoop<T> loop, const StepArgs<T>& a) const {
    alignas(64) T g[kRowBlock];
    const Chains c = chain(call);
    const Slice s = call.share(u.rows);
    const int64_t width = std::min(kRowBlock, u.columns), many = std::max<int64_t>(1, kRowBlock / u.columns);
    for (int64_t r = s.begin; r < s.end; r += many) {
      const int64_t m = std::min(many, s.end - r);
      for (int64_t from = 0; from < u.columns; from += width) {
        const int64_t n = std::min(width, u.columns - from);
        for (int64_t k = 0; k < m; ++k) gather(c, t.g, r + k, from, n, g + k * n);
        apply(t, loop, r * u.columns + from, m * n, g, a);
      }
    }
  }
  template <class T>
  void apply(const Tensors<T>& t, RuleLoop<T> loop, int64_t at, int64_t n, const T* g, const StepArgs<T>& a) const {
    T* s[kMostSlots];
    for (int k = 0; k < kMostSlots; ++k) s[k] = t.s[k] ? t.s[k] + at : nullptr;
    if (n > 0) loop(t.p + at, g, s, n, a);
  }
  // Plain sgd without l2 touches the given rows only. Threads share columns, so that any rows are even work.
  template <class T>
  void run_sgd_rows(const Call& call, const Tensors<T>& t, T rate) const {
    const bool by_columns = u.columns >= 256;
    const Slice c = by_columns ? call.share(u.columns, 16) : Slice{0, u.columns};
    const Slice s = by_columns ? Slice{0, u.rows} : call.share(u.rows);
    for (int64_t j = 0; j < u.given_rows; ++j) {
      const int64_t r = row(call, j);
      if (r < s.begin || r >= s.end) continue;
      T* p = t.p + r * u.columns;
      const T* g = t.g + j * u.columns;
      TENON_INDEPENDENT
      for (int64_t i = c.begin; i < c.end; ++i) p[i] -= rate * g[i];
    }
  }
  // Rules that need norms see a dense gradient.
  template <class T>
  void scatter_dense(const Call& call, Tensors<T>& t) const {
    T* dense = reinterpret_cast<T*>(static_cast<uint8_t*>(call.scratch) + u.dense);
    const Chains c = chain(call);
    const Slice s = call.share(u.rows);
    for (int64_t r = s.begin; r < s.end; ++r) gather(c, t.g, r, 0, u.columns, dense + r * u.columns);
    call.barrier();
    t.g = dense;
  }

  // ---- one step ----

  double read_scalar(const Call& call, int operand) const {
    float wide;
    switch (u.dtype) {
      case TENON_F64:
        return *call.in<double>(operand);
      case TENON_F32:
        return *call.in<float>(operand);
      default:
        widen(u.dtype, call.in<uint16_t>(operand), &wide, 1);
        return wide;
    }
  }
  void write_scalar(const Call& call, int result, double value) const {
    const float f = static_cast<float>(value);
    switch (u.dtype) {
      case TENON_F64:
        *call.out<double>(result) = value;
        break;
      case TENON_F32:
        *call.out<float>(result) = f;
        break;
      default:
        narrow(u.dtype, &f, call.out<uint16_t>(result), 1);
    }
  }

  // Of this step; nadam's h[0] is its q.
  template <class T>
  StepArgs<T> step_args(const Call& call, const Tensors<T>& t, double* h) const {
    const double lr = *call.in<float>(TENON_UPDATE_LR),
                 step = static_cast<double>(*call.in<int64_t>(TENON_UPDATE_STEP)) + 1;
    rule->prepare(u.hyper, lr, step, h);
    StepArgs<T> a{t.scale, static_cast<T>(u.hyper.l2), {}};
    for (int k = 0; k < 8; ++k) a.h[k] = static_cast<T>(h[k]);
    return a;
  }

  template <class T>
  void run_rule(const Call& call, const Tensors<T>& t) const {
    double h[8] = {};
    if (kind == Kind::kNadam) h[0] = read_scalar(call, TENON_UPDATE_SLOTS + 2);
    const StepArgs<T> a = step_args(call, t, h);
    RuleLoop<T> loop;
    if constexpr (std::is_same_v<T, float>)
      loop = rule->f32;
    else
      loop = rule->f64;
    if (!u.given_rows) {
      const Slice s = own(call);
      apply(t, loop, s.begin, s.end - s.begin, t.g + s.begin, a);
    } else if (kind == Kind::kSgd && u.hyper.l2 == 0) {
      run_sgd_rows(call, t, static_cast<T>(*call.in<float>(TENON_UPDATE_LR)) * t.scale);
    } else {
      run_by_rows(call, t, loop, a);
    }
    if (kind == Kind::kNadam) {
      call.barrier();  // every thread has read q
      if (call.index == 0) write_scalar(call, 3, h[0]);
    }
  }
  template <class T>
  void run(const Call& call) const {
    if (u.gate && !*call.in<uint8_t>(TENON_UPDATE_GATE)) return keep(call);
    const double lr = *call.in<float>(TENON_UPDATE_LR),
                 step = static_cast<double>(*call.in<int64_t>(TENON_UPDATE_STEP)) + 1;
    Tensors<T> t = open_all<T>(call);
    if (pointwise()) {
      run_rule(call, t);
    } else {
      if (u.given_rows) scatter_dense(call, t);
      if (kind == Kind::kLamb)
        run_lamb(u, call, t, lr, step);
      else
        run_adafactor(u, call, t, lr, step);
    }
    close_all<T>(call);
  }
};

// ---- which nodes ----

struct Signature {
  const char* op;
  Kind kind;
  int slots;  // without the optional ones
};
const Signature kSignatures[] = {
    {"sgd_update", Kind::kSgd, 0},
    {"momentum_update", Kind::kPointwise, 1},
    {"adam_update", Kind::kPointwise, 2},
    {"adamw_update", Kind::kPointwise, 2},
    {"adamax_update", Kind::kPointwise, 2},
    {"nadam_update", Kind::kNadam, 3},
    {"adagrad_update", Kind::kPointwise, 1},
    {"rmsprop_update", Kind::kPointwise, 1},
    {"adadelta_update", Kind::kPointwise, 2},
    {"ftrl_update", Kind::kPointwise, 2},
    {"lamb_update", Kind::kLamb, 2},
    {"lion_update", Kind::kPointwise, 1},
    {"adafactor_update", Kind::kAdafactor, 1},
};

Hyper read_hyper(const NodeView& n) {
  Hyper y{};
  y.b1 = n.f64("b1"), y.b2 = n.f64("b2"), y.eps = n.f64("eps"), y.wd = n.f64("wd"), y.mu = n.f64("mu"),
  y.rho = n.f64("rho");
  y.l1 = n.f64("l1"), y.l2 = n.f64("l2"), y.l2_reg = n.f64("l2_reg"), y.shrink = n.f64("shrink"),
  y.beta = n.f64("beta");
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
  if (sig.kind == Kind::kNadam && k == 2) return 1;
  if (sig.kind != Kind::kAdafactor || p.rank() < 2) return p.elements();
  return p.elements() / p.dim(k == 0 ? -1 : -2);
}

plugin::Verdict check_scalar(const NodeView& node, int i, int32_t dtype, const char* what) {
  const bool right = node.in(i).dtype() == dtype && node.in(i).elements() == 1;
  return right ? plugin::take() : refusal(node, std::string(what) + " must be " + plugin::dtype_name(dtype) + "[]");
}

plugin::Verdict check_gradient(const NodeView& node) {
  const plugin::ValueView p = node.in(TENON_UPDATE_P), g = node.in(TENON_UPDATE_G);
  if (g.dtype() != p.dtype())
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
  return check_gradient(node);
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
  const bool dense = u.given_rows && (sig.kind == Kind::kLamb || sig.kind == Kind::kAdafactor);
  if (dense) u.dense = room(u.n * work_bytes(u.dtype));
  if (sig.kind == Kind::kLamb) u.extra = room(static_cast<int64_t>(lamb_scratch(u)));
  if (sig.kind == Kind::kAdafactor) u.extra = room(static_cast<int64_t>(adafactor_scratch(u)));
  return at;
}

// The runner, and a kernel that is complete but for run() and what it needs.
Runner prepare_runner(const NodeView& node, const Signature& sig, Kernel* kernel) {
  const plugin::ValueView p = node.in(TENON_UPDATE_P);
  Runner r{};
  Update& u = r.u;
  r.kind = sig.kind;
  r.rule = pointwise_rule(sig.op, node);
  u.hyper = read_hyper(node);
  u.dtype = p.dtype();
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
  Runner runner = prepare_runner(node, sig, &kernel);
  kernel.scratch_bytes = plan_scratch(runner.u, sig, node.in(TENON_UPDATE_G).elements());
  kernel.run = runner;
  return kernel;
}

Kernel make_product_update(const NodeView& node, const Signature& sig) {
  Kernel kernel;
  const Runner runner = prepare_runner(node, sig, &kernel);
  const plugin::ValueView a = node.in(kProductA), b = node.in(TENON_UPDATE_G);
  auto product = std::make_shared<Gemm>(GemmShape{1, a.dim(1), b.dim(1), a.dim(0), true, false}, true);
  kernel.threads = plugin::kAllThreads;
  kernel.thread_scratch_bytes = product->thread_scratch_bytes();
  kernel.run = [runner, product](const Call& call) { runner.run_product(call, *product); };
  return kernel;
}

}  // namespace

void add_update(KernelTable& table) {
  for (const Signature& sig : kSignatures) {
    const bool takes_blocks = sig.kind == Kind::kPointwise || sig.kind == Kind::kSgd;
    if (takes_blocks)
      table.add_own(std::string("cpu.product.") + sig.op,
                    [&sig](const NodeView& node, const Env&) { return make_product_update(node, sig); });
    table.add(
        sig.op, [&sig](const NodeView& node) { return accept_update(node, sig); },
        [&sig](const NodeView& node, const Env&) { return make_update(node, sig); });
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
