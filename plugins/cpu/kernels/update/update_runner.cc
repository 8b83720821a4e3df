#include "kernels/update/update_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kRowBlock = 1024;  // elements of g scattered at a time

// One thread's part of one update.
class Pass {
 public:
  explicit Pass(const UpdateRunner& runner) : u_(runner.u), kind_(runner.kind), rule_(runner.rule) {}

  void operator()(const Call& call) const {
    if (u_.dtype == TENON_F64)
      run<double>(call);
    else
      run<float>(call);
  }

  // Where blocks of a gradient go.
  struct Blocks {
    const Pass* pass;
    const Tensors<float>* tensors;
    const StepArgs<float>* args;
  };
  static void take_block(const void* context, const float* g, int64_t ld, int64_t row, int64_t rows, int64_t column,
                         int64_t columns) {
    const auto& [pass, t, a] = *static_cast<const Blocks*>(context);
    const int64_t width = pass->u_.columns;
    if (columns == width && ld == width) return pass->apply(*t, pass->rule_->f32, row * width, rows * width, g, *a);
    for (int64_t i = 0; i < rows; ++i)
      pass->apply(*t, pass->rule_->f32, (row + i) * width + column, columns, g + i * ld, *a);
  }

  // p is f32, pointwise rules but nadam, g dense.
  void run_product(const Call& call, const ProductGradient& product) const {
    if (u_.gate && !*call.in<uint8_t>(TENON_UPDATE_GATE)) return keep(call);
    const Tensors<float> t = open_all<float>(call);
    call.barrier();  // what was copied is whole
    double h[8] = {};
    const StepArgs<float> a = step_args(call, t, h);
    const Blocks blocks{this, &t, &a};
    const GemmConsumer consume{&blocks, take_block};
    product.run(call, call.in(kProductA), call.in(TENON_UPDATE_G), consume);
  }

 private:
  bool pointwise() const { return kind_ < UpdateKind::kLamb; }
  bool scalar_slot(int k) const { return kind_ == UpdateKind::kNadam && k == 2; }
  int64_t given_elements() const { return u_.given_rows ? u_.given_rows * u_.columns : u_.n; }

  // This thread's elements of p; whole rows where g comes by rows.
  Slice own(const Call& call) const {
    if (!u_.given_rows) return call.share(u_.n, kGrain);
    const Slice r = call.share(u_.rows);
    return {r.begin * u_.columns, r.end * u_.columns};
  }
  Slice own_slot(const Call& call, int k) const {
    return u_.slot_elements[k] == u_.n ? own(call) : call.share(u_.slot_elements[k], kGrain);
  }

  void copy(const Call& call, int operand, int result, Slice s) const {
    const int64_t size = plugin::dtype_bytes(u_.dtype);
    const uint8_t* from = call.in<uint8_t>(operand) + s.begin * size;
    uint8_t* to = call.out<uint8_t>(result) + s.begin * size;
    if (from != to && s.begin < s.end) std::memcpy(to, from, static_cast<size_t>((s.end - s.begin) * size));
  }
  // Gate false: results are the operands.
  void keep(const Call& call) const {
    copy(call, TENON_UPDATE_P, 0, own(call));
    for (int k = 0; k < kMostSlots; ++k)
      if (u_.slot[k]) copy(call, TENON_UPDATE_SLOTS + k, 1 + k, own_slot(call, k));
  }

  // The place to update: result `result`, or its widened copy; this thread's share is filled.
  template <class T>
  T* open(const Call& call, int operand, int result, int buffer, Slice s) const {
    if (is_half(u_.dtype)) {
      T* wide = widened<T>(call, buffer);
      widen_share(call, operand, wide, s);
      return wide;
    }
    copy(call, operand, result, s);
    return call.out<T>(result);
  }
  template <class T>
  T* widened(const Call& call, int buffer) const {
    return reinterpret_cast<T*>(static_cast<uint8_t*>(call.scratch) + u_.buffer[buffer]);
  }
  template <class T>
  void widen_share(const Call& call, int operand, T* wide, Slice s) const {
    if constexpr (std::is_same_v<T, float>)
      widen(u_.dtype, call.in<uint16_t>(operand) + s.begin, wide + s.begin, std::max<int64_t>(0, s.end - s.begin));
  }
  template <class T>
  void close(const Call& call, int result, int buffer, Slice s) const {
    if constexpr (std::is_same_v<T, float>)
      narrow(u_.dtype, widened<T>(call, buffer) + s.begin, call.out<uint16_t>(result) + s.begin,
             std::max<int64_t>(0, s.end - s.begin));
  }

  template <class T>
  Tensors<T> open_all(const Call& call) const {
    Tensors<T> t{};
    t.scale = u_.scale ? static_cast<T>(*call.in<float>(TENON_UPDATE_SCALE)) : T(1);
    t.p = open<T>(call, TENON_UPDATE_P, 0, 0, own(call));
    if (is_half(u_.dtype)) {
      T* wide = widened<T>(call, 1);
      widen_share(call, TENON_UPDATE_G, wide, u_.given_rows ? call.share(given_elements(), kGrain) : own(call));
      t.g = wide;
    } else {
      t.g = call.in<T>(TENON_UPDATE_G);
    }
    for (int k = 0; k < kMostSlots; ++k)
      if (u_.slot[k] && !scalar_slot(k))
        t.s[k] = open<T>(call, TENON_UPDATE_SLOTS + k, 1 + k, 2 + k, own_slot(call, k));
    if (is_half(u_.dtype) || u_.given_rows || !pointwise()) call.barrier();
    return t;
  }
  template <class T>
  void close_all(const Call& call) const {
    if (!is_half(u_.dtype)) return;
    call.barrier();
    close<T>(call, 0, 0, own(call));
    for (int k = 0; k < kMostSlots; ++k)
      if (u_.slot[k] && !scalar_slot(k)) close<T>(call, 1 + k, 2 + k, own_slot(call, k));
  }

  // ---- gradients by rows ----

  int64_t row(const Call& call, int64_t j) const {
    return u_.wide_rows ? call.in<int64_t>(TENON_UPDATE_ROWS)[j] : call.in<int32_t>(TENON_UPDATE_ROWS)[j];
  }
  // For the rows of p that are this thread's, the list of g's rows that add to it, in order.
  struct Chains {
    const int32_t *head, *next;
  };
  Chains chain(const Call& call) const {
    int32_t* head = reinterpret_cast<int32_t*>(static_cast<uint8_t*>(call.scratch) + u_.chains);
    int32_t* next = head + u_.rows;
    const Slice s = call.share(u_.rows);
    std::fill(head + s.begin, head + s.end, -1);
    for (int64_t j = u_.given_rows - 1; j >= 0; --j) {
      const int64_t r = row(call, j);
      if (r < s.begin || r >= s.end) continue;
      next[j] = head[r];
      head[r] = static_cast<int32_t>(j);
    }
    return {head, next};
  }
  // out[n] += the gradient of elements [from, from + n) of row r.
  template <class T>
  void add_rows(const Chains& c, const T* g, int64_t r, int64_t from, int64_t n, T* out) const {
    for (int32_t j = c.head[r]; j >= 0; j = c.next[j]) {
      const T* x = g + j * u_.columns + from;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) out[i] += x[i];
    }
  }
  // Runs the rule on blocks of p, g's rows scattered into a small buffer: all rows change, moments decay.
  template <class T>
  void run_by_rows(const Call& call, const Tensors<T>& t, RuleLoop<T> loop, const StepArgs<T>& a) const {
    alignas(64) T g[kRowBlock];
    const Chains c = chain(call);
    const Slice s = call.share(u_.rows);
    const int64_t width = std::min(kRowBlock, u_.columns), many = std::max<int64_t>(1, kRowBlock / u_.columns);
    for (int64_t r = s.begin; r < s.end; r += many) {
      const int64_t m = std::min(many, s.end - r);
      for (int64_t from = 0; from < u_.columns; from += width) {
        const int64_t n = std::min(width, u_.columns - from);
        std::fill(g, g + m * n, T(0));
        for (int64_t k = 0; k < m; ++k) add_rows(c, t.g, r + k, from, n, g + k * n);
        apply(t, loop, r * u_.columns + from, m * n, g, a);
      }
    }
  }
  template <class T>
  void apply(const Tensors<T>& t, RuleLoop<T> loop, int64_t at, int64_t n, const T* g, const StepArgs<T>& a) const {
    T* s[kMostSlots];
    for (int k = 0; k < kMostSlots; ++k) s[k] = t.s[k] ? t.s[k] + at : nullptr;
    if (n > 0) loop(t.p + at, g, s, n, a);
  }
  template <class T>
  void run_widened(const Call& call, const Tensors<T>& t, RuleLoop<T> loop, Slice s, const StepArgs<T>& a) const {
    if constexpr (std::is_same_v<T, float>) {
      alignas(64) float g[kRowBlock];
      for (int64_t i = s.begin; i < s.end; i += kRowBlock) {
        const int64_t n = std::min(kRowBlock, s.end - i);
        widen(TENON_BF16, call.in<uint16_t>(TENON_UPDATE_G) + i, g, n);
        apply(t, loop, i, n, g, a);
      }
    }
  }
  // Whether a row without a gradient stays what it is.
  template <class T>
  bool keeps_other_rows(const Call& call, const Tensors<T>& t) const {
    const float lr = *call.in<float>(TENON_UPDATE_LR);
    return kind_ == UpdateKind::kSgd && lr >= 0 && std::isfinite(lr) && std::isfinite(t.scale);
  }
  // Runs the rule on the given rows alone. Threads share wide rows' columns, so that any rows are even work.
  template <class T>
  void run_given_rows(const Call& call, const Tensors<T>& t, RuleLoop<T> loop, const StepArgs<T>& a) const {
    alignas(64) T g[kRowBlock];
    const Chains c = chain(call);
    call.barrier();  // the chains of all rows are whole
    const bool by_columns = u_.columns >= 256;
    const Slice s = by_columns ? call.share(u_.columns, 16) : Slice{0, u_.columns};
    const Slice mine = by_columns ? Slice{0, u_.rows} : call.share(u_.rows);
    for (int64_t j = 0; j < u_.given_rows; ++j) {
      const int64_t r = row(call, j);
      if (r < mine.begin || r >= mine.end || c.head[r] != j) continue;
      for (int64_t from = s.begin; from < s.end; from += kRowBlock) {
        const int64_t n = std::min(kRowBlock, s.end - from);
        std::fill(g, g + n, T(0));
        add_rows(c, t.g, r, from, n, g);
        apply(t, loop, r * u_.columns + from, n, g, a);
      }
    }
  }
  // Rules that need norms see a dense gradient.
  template <class T>
  void scatter_dense(const Call& call, Tensors<T>& t) const {
    T* dense = reinterpret_cast<T*>(static_cast<uint8_t*>(call.scratch) + u_.dense);
    const Chains c = chain(call);
    const Slice s = call.share(u_.rows);
    std::fill(dense + s.begin * u_.columns, dense + s.end * u_.columns, T(0));
    for (int64_t r = s.begin; r < s.end; ++r) add_rows(c, t.g, r, 0, u_.columns, dense + r * u_.columns);
    call.barrier();
    t.g = dense;
  }

  // ---- one step ----

  double read_scalar(const Call& call, int operand) const {
    float wide;
    switch (u_.dtype) {
      case TENON_F64:
        return *call.in<double>(operand);
      case TENON_F32:
        return *call.in<float>(operand);
      default:
        widen(u_.dtype, call.in<uint16_t>(operand), &wide, 1);
        return wide;
    }
  }
  void write_scalar(const Call& call, int result, double value) const {
    const float f = static_cast<float>(value);
    switch (u_.dtype) {
      case TENON_F64:
        *call.out<double>(result) = value;
        break;
      case TENON_F32:
        *call.out<float>(result) = f;
        break;
      default:
        narrow(u_.dtype, &f, call.out<uint16_t>(result), 1);
    }
  }

  // The numbers of this step; nadam's h[0] is its q.
  template <class T>
  StepArgs<T> step_args(const Call& call, const Tensors<T>& t, double* h) const {
    const double lr = *call.in<float>(TENON_UPDATE_LR),
                 step = static_cast<double>(*call.in<int64_t>(TENON_UPDATE_STEP)) + 1;
    rule_->prepare(u_.hyper, lr, step, h);
    StepArgs<T> a{t.scale, {}};
    for (int k = 0; k < 8; ++k) a.h[k] = static_cast<T>(h[k]);
    return a;
  }

  template <class T>
  void run_rule(const Call& call, const Tensors<T>& t) const {
    double h[8] = {};
    if (kind_ == UpdateKind::kNadam) h[0] = read_scalar(call, TENON_UPDATE_SLOTS + 2);
    const StepArgs<T> a = step_args(call, t, h);
    RuleLoop<T> loop;
    if constexpr (std::is_same_v<T, float>)
      loop = rule_->f32;
    else
      loop = rule_->f64;
    if (!u_.given_rows) {
      const Slice s = own(call);
      if (u_.half_gradient)
        run_widened(call, t, loop, s, a);
      else
        apply(t, loop, s.begin, s.end - s.begin, t.g + s.begin, a);
    } else if (keeps_other_rows(call, t)) {
      run_given_rows(call, t, loop, a);
    } else {
      run_by_rows(call, t, loop, a);
    }
    if (kind_ == UpdateKind::kNadam) {
      call.barrier();  // every thread has read q
      if (call.index == 0) write_scalar(call, 3, h[0]);
    }
  }
  template <class T>
  void run(const Call& call) const {
    if (u_.gate && !*call.in<uint8_t>(TENON_UPDATE_GATE)) return keep(call);
    const double lr = *call.in<float>(TENON_UPDATE_LR),
                 step = static_cast<double>(*call.in<int64_t>(TENON_UPDATE_STEP)) + 1;
    Tensors<T> t = open_all<T>(call);
    if (pointwise()) {
      run_rule(call, t);
    } else {
      if (u_.given_rows) scatter_dense(call, t);
      if (kind_ == UpdateKind::kLamb)
        run_lamb(u_, call, t, lr, step);
      else
        run_adafactor(u_, call, t, lr, step);
    }
    close_all<T>(call);
  }

  const Update& u_;
  const UpdateKind kind_;
  const PointwiseRule* const rule_;
};

}  // namespace

void UpdateRunner::operator()(const Call& call) const { Pass{*this}(call); }

void UpdateRunner::run_product(const Call& call, const ProductGradient& product) const {
  Pass{*this}.run_product(call, product);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
