// What the optimizer updates share: operands, gate, gradients given by rows, dtypes. tenon/abi/optimizer.h
// is the contract. All updates work in place on the results; an operand that lies elsewhere is copied first.
#pragma once

#include "kernels/dtype.h"
#include "tenon/abi/optimizer.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int kMostSlots = 3;

struct Hyper {
  double b1, b2, eps, wd, mu, rho, l1, l2_reg, shrink, beta, lr_power, eps1, eps2;
  bool nesterov, amsgrad, centered;
};

// The update of one node, decided at compile time.
struct Update {
  Hyper hyper;
  int32_t dtype;               // of p
  bool half_gradient = false;  // p is f32, g bf16: widened block by block
  int64_t n;                   // elements of p
  int64_t rows, columns;       // p as a matrix: its first dimension, all others
  bool scale, gate;
  int64_t given_rows = 0;  // rows of g; 0: g is dense
  bool wide_rows = false;  // row numbers are i64
  bool slot[kMostSlots];
  int64_t slot_elements[kMostSlots];
  uint64_t buffer[2 + kMostSlots];                         // offsets in scratch of widened p, g, slots (bf16, f16)
  uint64_t chains = 0;                                     // of head[rows], next[given_rows]
  uint64_t dense = 0;                                      // of g scattered, for rules that need all of it
  uint64_t extra = 0;                                      // the rule's own
  int64_t batch = 1, matrix_rows = 1, matrix_columns = 1;  // p's last two dimensions (adafactor)
};

// One thread's operands in working precision: float, or double for f64.
template <class T>
struct Tensors {
  T* p;
  const T* g;  // dense, or the given rows
  T* s[kMostSlots];
  T scale;
};

// Pointwise rules: hyperparameters of one step, and the loop over n elements, in place.
template <class T>
struct StepArgs {
  T scale;
  T h[8];
};
template <class T>
using RuleLoop = void (*)(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a);

struct PointwiseRule {
  void (*prepare)(const Hyper& hyper, double lr, double t, double* h);
  RuleLoop<float> f32;
  RuleLoop<double> f64;
};
// The gradient, rounded: as 0 is added to the product, the compiler takes it into no sum of the rule's.
template <class T>
inline __attribute__((always_inline)) T scaled(T scale, T g) {
  return scale * g + T(0);
}

// The rule of update op `op` with the node's attributes; nullptr: not pointwise (lamb, adafactor). nadam's h[0] comes in as q
// and goes out as the new q.
const PointwiseRule* pointwise_rule(std::string_view op, const NodeView& node);

// 1 - b^t
double one_minus_power(double b, double t);

template <class T>
void run_lamb(const Update& u, const Call& call, const Tensors<T>& t, double lr, double step);
template <class T>
void run_adafactor(const Update& u, const Call& call, const Tensors<T>& t, double lr, double step);
uint64_t lamb_scratch(const Update& u);
uint64_t adafactor_scratch(const Update& u);

}  // namespace tenon::cpu::TENON_CPU_ISA
