// The nodes of the elementwise ops: which are taken, and how blocks of their operands reach a loop.
#include "kernels/element/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/element/activation.h"
#include "own_nodes.h"
#include "tenon/op/names.h"
#include "tenon/op/table.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using plugin::ValueView;
using plugin::Verdict;

struct Walk {
  struct Operand {
    int64_t bytes = 0;   // of an element in memory
    int32_t half = 0;    // its dtype where it is to be widened
    bool splat = false;  // rank 0 beside a larger result
  };
  Loop loop = nullptr;
  LoopParams params;
  int64_t n = 0;
  int operands = 0;
  Operand in[3];
  Operand out;
  bool direct = true;  // nothing to widen or spread: one call of the loop does a share

  void run(const Call& call) const;
  void run_blocks(const Call& call, Slice s) const;
};

void fill(uint8_t* block, int64_t bytes, int64_t n) {
  for (int64_t done = 1; done < n; done *= 2)
    std::memcpy(block + done * bytes, block, static_cast<size_t>(std::min(done, n - done) * bytes));
}

void Walk::run_blocks(const Call& call, Slice s) const {
  alignas(64) uint8_t buffer[3][kBlock * 8];
  alignas(64) float rounded[kBlock];
  const void* p[3] = {};
  for (int k = 0; k < operands; ++k) {
    if (!in[k].splat) continue;
    const void* x = call.in<uint8_t>(k);
    if (in[k].half)
      widen(in[k].half, x, reinterpret_cast<float*>(buffer[k]), 1);
    else
      std::memcpy(buffer[k], x, static_cast<size_t>(in[k].bytes));
    fill(buffer[k], in[k].half ? 4 : in[k].bytes, std::min(kBlock, s.end - s.begin));
    p[k] = buffer[k];
  }
  for (int64_t i = s.begin; i < s.end; i += kBlock) {
    const int64_t m = std::min(kBlock, s.end - i);
    for (int k = 0; k < operands; ++k) {
      if (in[k].splat) continue;
      p[k] = call.in<uint8_t>(k) + i * in[k].bytes;
      if (!in[k].half) continue;
      widen(in[k].half, p[k], reinterpret_cast<float*>(buffer[k]), m);
      p[k] = buffer[k];
    }
    uint8_t* y = call.out<uint8_t>(0) + i * out.bytes;
    loop(p, out.half ? static_cast<void*>(rounded) : y, m, params);
    if (out.half) narrow(out.half, rounded, y, m);
  }
}

void Walk::run(const Call& call) const {
  const Slice s = call.share(n, kGrain);
  if (s.begin >= s.end) return;
  if (!direct) return run_blocks(call, s);
  const void* p[3] = {};
  for (int k = 0; k < operands; ++k) p[k] = call.in<uint8_t>(k) + s.begin * in[k].bytes;
  loop(p, call.out<uint8_t>(0) + s.begin * out.bytes, s.end - s.begin, params);
}

// widened: false where the loop moves or compares raw elements.
Kernel walk_kernel(const NodeView& node, Loop loop, bool widened, LoopParams params = {}) {
  const ValueView y = node.out(0);
  Walk w;
  w.loop = loop;
  w.params = params;
  w.n = y.elements();
  w.operands = node.operands();
  w.out = {plugin::dtype_bytes(y.dtype()), widened && is_half(y.dtype()) ? y.dtype() : 0, false};
  w.direct = !w.out.half;
  Kernel k;
  for (int i = 0; i < w.operands; ++i) {
    const ValueView x = node.in(i);
    w.in[i] = {plugin::dtype_bytes(x.dtype()), widened && is_half(x.dtype()) ? x.dtype() : 0, x.elements() < w.n};
    w.direct = w.direct && !w.in[i].half && !w.in[i].splat;
    if (!w.in[i].splat && w.in[i].bytes == w.out.bytes) k.in_place.push_back({i, 0});
  }
  k.threads = gang_for(w.n);
  k.run = [w](const Call& call) { w.run(call); };
  return k;
}

Loop arithmetic_loop(std::string_view op, int32_t dtype) {
  if (dtype == TENON_F64) return double_loop(op);
  return plugin::is_float(dtype) ? float_loop(op) : integer_loop(op, dtype);
}

// Operands from `first` on share dtype; every operand has the result's shape or rank 0.
Verdict check_operands(const NodeView& node, int operands, int first = 0) {
  if (node.operands() != operands || node.results() != 1)
    return refusal(node, "expected " + std::to_string(operands) + " operands and one result");
  for (int i = 0; i < operands; ++i) {
    if (!node.has(i)) return refusal(node, "operand " + std::to_string(i) + " is absent");
    const ValueView x = node.in(i);
    if (x.rank() != 0 && !same_shape(x, node.out(0)))
      return refusal(node, "operand " + std::to_string(i) + " has another shape than the result");
    if (i >= first && x.dtype() != node.in(first).dtype()) return refusal(node, "operands differ in dtype");
  }
  return plugin::take();
}

// REQUIRED: a row with arithmetic operands.
Verdict accept_arithmetic(const NodeView& node) {
  Verdict v = check_operands(node, op::arithmetic_operands(op::row(node.op())));
  if (v.answer != TENON_TAKE) return v;
  const int32_t dtype = node.in(0).dtype();
  if (!arithmetic_loop(node.op(), dtype)) return refusal(node, std::string("no ") + plugin::dtype_name(dtype));
  if (node.out(0).dtype() != dtype) return refusal(node, "the result has another dtype than the operands");
  return plugin::take();
}

Kernel make_arithmetic(const NodeView& node, const Env&) {
  return walk_kernel(node, arithmetic_loop(node.op(), node.in(0).dtype()), true);
}

Verdict accept_compare(const NodeView& node) {
  Verdict v = check_operands(node, 2);
  if (v.answer != TENON_TAKE) return v;
  if (!compare_loop(node.in(op::compare::a).dtype(), node.enumerator("kind"))) return refusal(node, "unknown kind");
  return node.out(0).dtype() == TENON_BOOL ? plugin::take() : refusal(node, "the result is not bool");
}
Kernel make_compare(const NodeView& node, const Env&) {
  return walk_kernel(node, compare_loop(node.in(op::compare::a).dtype(), node.enumerator("kind")), true);
}

Verdict accept_select(const NodeView& node) {
  Verdict v = check_operands(node, 3, 1);
  if (v.answer != TENON_TAKE) return v;
  if (node.in(op::select::c).dtype() != TENON_BOOL) return refusal(node, "the condition is not bool");
  return node.out(0).dtype() == node.in(op::select::a).dtype()
             ? plugin::take()
             : refusal(node, "the result has another dtype than the operands");
}
Kernel make_select(const NodeView& node, const Env&) {
  return walk_kernel(node, select_loop(node.out(0).dtype()), false);
}

// x or (g, t), floats
template <int kOperands>
Verdict accept_activation(const NodeView& node) {
  Verdict v = check_operands(node, kOperands);
  if (v.answer != TENON_TAKE) return v;
  const int32_t dtype = node.in(op::activation::x).dtype(), act = node.enumerator("act");
  if (!plugin::is_float(dtype) || node.out(0).dtype() != dtype)
    return refusal(node, "operands and result must be of one float dtype");
  if (act < 0 || act > TENON_ACT_HARD_SWISH) return refusal(node, "unknown activation " + std::to_string(act));
  return plugin::take();
}

void activation_f64(const void* const* in, void* out, int64_t n, const LoopParams& p) {
  const double* x = static_cast<const double*>(in[0]);
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(out)[i] = act_f64(p.act, x[i], p.alpha);
}
void activation_grad_f64(const void* const* in, void* out, int64_t n, const LoopParams& p) {
  const double *g = static_cast<const double*>(in[0]), *t = static_cast<const double*>(in[1]);
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(out)[i] = act_grad_f64(p.act, g[i], t[i], p.alpha);
}
template <int kAct>
void activation_f32(const void* const* in, void* out, int64_t n, const LoopParams& p) {
  act_loop(kAct)(static_cast<const float*>(in[0]), static_cast<float*>(out), n, static_cast<float>(p.alpha));
}
template <int kAct>
void activation_grad_f32(const void* const* in, void* out, int64_t n, const LoopParams& p) {
  act_grad_loop(kAct)(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), static_cast<float*>(out), n,
                      static_cast<float>(p.alpha));
}

Kernel make_activation(const NodeView& node, const Env&) {
  const LoopParams params{node.f64("alpha"), node.enumerator("act")};
  const Loop f32 = with_act(params.act, [](auto a) -> Loop { return activation_f32<a.value>; });
  return walk_kernel(node, node.in(op::activation::x).dtype() == TENON_F64 ? activation_f64 : f32, true, params);
}
Kernel make_activation_grad(const NodeView& node, const Env&) {
  const LoopParams params{node.f64("alpha"), node.enumerator("act")};
  const Loop f32 = with_act(params.act, [](auto a) -> Loop { return activation_grad_f32<a.value>; });
  return walk_kernel(node, node.in(op::activation_grad::g).dtype() == TENON_F64 ? activation_grad_f64 : f32, true,
                     params);
}

// cpu.mul_channels, cpu.add_channels (x [N, M.., C], v of N x C elements) -> y, f32: v is the same for all of an example's M.
template <bool kMul>
Kernel make_channels(const NodeView& node, const Env&) {
  const auto x = node.in(own::channels::x);
  const int64_t c = x.dim(-1), examples = x.dim(0), rows = x.elements() / c, of_example = rows / examples;
  Kernel k;
  k.threads = gang_for(x.elements());
  k.in_place = {{own::channels::x, 0}};
  k.run = [=](const Call& call) {
    const Slice mine = call.share(rows);
    const float *from = call.in(own::channels::x), *v = call.in(own::channels::v);
    float* const to = call.out(0);
    for (int64_t r = mine.begin; r < mine.end; ++r) {
      const float *a = from + r * c, *b = v + r / of_example * c;
      float* const y = to + r * c;
      TENON_INDEPENDENT
      for (int64_t i = 0; i < c; ++i) y[i] = kMul ? a[i] * b[i] : a[i] + b[i];
    }
  };
  return k;
}

}  // namespace

void add_elementwise(KernelTable& table) {
  for (const op::Row* row : op::kRows)
    if (op::arithmetic_operands(*row)) table.add(row->name, accept_arithmetic, make_arithmetic);
  table.add("compare", accept_compare, make_compare);
  table.add("select", accept_select, make_select);
  table.add("activation", accept_activation<1>, make_activation);
  table.add("activation_grad", accept_activation<2>, make_activation_grad);
  table.add_own("cpu.mul_channels", make_channels<true>);
  table.add_own("cpu.add_channels", make_channels<false>);
  add_cast(table);
  add_bias_act_grad(table);
  add_rounding(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
