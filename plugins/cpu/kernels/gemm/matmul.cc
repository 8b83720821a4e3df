// dot: a [P.., M, K] (ta: [P.., K, M]), b [P.., K, N] (tb: [P.., N, K]) -> [P.., M, N].
// dot_bias_act: act(dot(a, b) + bias [N] + residual [P.., M, N]).
// cpu.dot_dropout(a, b, [bias], seed, step, [residual]) -> dropout(act(a b + bias)) + residual, of a and b of rank 2.
#include "kernels/gemm/matmul.h"
#include "kernels/element/activation.h"
#include "kernels/element/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/narrow.h"
#include "kernels/gemm/pairs/split_product.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
GemmShape gemm_shape_of(const NodeView& node) {
  const plugin::ValueView a = node.in(op::dot_bias_act::a), c = node.out(0);
  GemmShape s;
  s.ta = node.flag("ta");
  s.tb = node.flag("tb");
  s.m = a.dim(s.ta ? -1 : -2);
  s.n = c.dim(-1);
  s.k = a.dim(s.ta ? -2 : -1);
  s.batch = c.elements() / (s.m * s.n);
  s.act = node.enumerator("act");
  s.alpha = static_cast<float>(node.f64("alpha"));
  return s;
}

namespace {

struct F32Product {
  GemmWork work;
  const char* algorithm;

  Kernel kernel() const {
    Kernel kernel = kernel_of(&work);
    kernel.algorithm = algorithm;
    return kernel;
  }
};

F32Product product_of(const NodeView& node) {
  const GemmShape shape = gemm_shape_of(node);
  if (const int terms = split_terms(shape, node.enumerator("precision")))
    return {split_product_work(shape, terms), terms == 2 ? "gemm of 2 bf16 terms" : "gemm of 3 bf16 terms"};
  const auto gemm = std::make_shared<Gemm>(shape);
  return {work_of<GemmData>(gemm, gemm->parts()), gemm->algorithm()};
}

Kernel make_f32(const NodeView& node) {
  const F32Product product = product_of(node);
  const bool bias = node.has(op::dot_bias_act::bias), residual = node.has(op::dot_bias_act::residual);
  Kernel kernel = product.kernel();
  kernel.run = [work = product.work, bias, residual](const Call& call) {
    work.run(call, {call.in(op::dot_bias_act::a), call.in(op::dot_bias_act::b),
                    bias ? call.in(op::dot_bias_act::bias) : nullptr,
                    residual ? call.in(op::dot_bias_act::residual) : nullptr, call.out(0)});
  };
  return kernel;
}

// One row of C in f64: rows of B (or their dot products) in the order of k.
void row_f64(const GemmShape& s, const double* a, const double* b, int64_t i, double* c) {
  for (int64_t j = 0; j < s.n; ++j) c[j] = 0;
  for (int64_t k = 0; k < s.k; ++k) {
    const double x = s.ta ? a[k * s.m + i] : a[i * s.k + k];
    const double* from = s.tb ? b + k : b + k * s.n;
    const int64_t step = s.tb ? s.k : 1;
    for (int64_t j = 0; j < s.n; ++j) c[j] += x * from[j * step];
  }
}

Kernel make_f64(const NodeView& node) {
  const GemmShape s = gemm_shape_of(node);
  const double alpha = node.f64("alpha");
  const bool bias = node.has(op::dot_bias_act::bias), residual = node.has(op::dot_bias_act::residual),
             to_f32 = node.out(0).dtype() == TENON_F32;
  Kernel kernel;
  kernel.threads = plugin::kAllThreads;
  kernel.thread_scratch_bytes = static_cast<uint64_t>(s.n) * sizeof(double);
  kernel.run = [=](const Call& call) {
    double* const row = static_cast<double*>(call.thread_scratch);
    const Slice part = call.share(s.batch * s.m);
    for (int64_t r = part.begin; r < part.end; ++r) {
      const int64_t p = r / s.m;
      row_f64(s, call.in<double>(op::dot_bias_act::a) + p * s.m * s.k,
              call.in<double>(op::dot_bias_act::b) + p * s.k * s.n, r % s.m, row);
      for (int64_t j = 0; j < s.n; ++j) {
        const double more = (bias ? call.in<double>(op::dot_bias_act::bias)[j] : 0) +
                            (residual ? call.in<double>(op::dot_bias_act::residual)[r * s.n + j] : 0);
        const double y = act_f64(s.act, row[j] + more, alpha);
        if (to_f32)
          call.out<float>(0)[r * s.n + j] = static_cast<float>(y);
        else
          call.out<double>(0)[r * s.n + j] = y;
      }
    }
  };
  return kernel;
}

plugin::Verdict accept_dot(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && !plugin::is_float(node.in(i).dtype()))
      return plugin::refuse(std::string("operands of dtype ") + plugin::dtype_name(node.in(i).dtype()));
  if (node.enumerator("act") > TENON_ACT_HARD_SWISH) return plugin::decompose();
  return plugin::take();
}

Kernel make_dot(const NodeView& node, const Env&) {
  if (node.in(op::dot_bias_act::a).dtype() == TENON_F64) return make_f64(node);
  if (node.in(op::dot_bias_act::a).dtype() == TENON_BF16) return make_pair_product(node);
  return narrowed(node, make_f32(node));
}

// Applies dropout to blocks of a product while they are in cache.
struct BlockDropout {
  DropoutRule rule;
  RandomStream stream;
  const float* residual;
  float* y;
  int64_t n;  // columns

  void apply(int64_t at, int64_t count) const {
    rule.apply(stream, at, y + at, residual ? residual + at : nullptr, y + at, count);
  }
  static void visit(const void* context, int64_t, const PointRun* runs, int64_t count, Slice columns) {
    const BlockDropout& d = *static_cast<const BlockDropout*>(context);
    const int64_t width = columns.end - columns.begin;
    for (int64_t i = 0; i < count; ++i) {
      if (width == d.n) {
        d.apply(runs[i].first * d.n, runs[i].length * d.n);
        continue;
      }
      for (int64_t r = runs[i].first; r < runs[i].first + runs[i].length; ++r) d.apply(r * d.n + columns.begin, width);
    }
  }
};

Kernel make_dot_dropout(const NodeView& node, const Env&) {
  if (node.in(own::dot_dropout::a).dtype() == TENON_BF16) return make_pair_product(node);
  const F32Product product = product_of(node);
  const DropoutRule rule = dropout_rule_of(node);
  const int64_t n = node.out(0).dim(-1), elements = node.out(0).elements();
  const bool bias = node.has(own::dot_dropout::bias), residual = node.has(own::dot_dropout::residual),
             by_blocks = product.work.parts > 0;
  Kernel kernel = product.kernel();
  kernel.run = [=, work = product.work](const Call& call) {
    float* const y = call.out(0);
    const BlockDropout dropout{rule,
                               RandomStream(*call.in<int64_t>(own::dot_dropout::seed),
                                            *call.in<int64_t>(own::dot_dropout::step), rule.id, rule.before),
                               residual ? call.in(own::dot_dropout::residual) : nullptr, y, n};
    const ResultVisitor visitor{&dropout, BlockDropout::visit};
    GemmData data{call.in(own::dot_dropout::a), call.in(own::dot_dropout::b),
                  bias ? call.in(own::dot_dropout::bias) : nullptr, nullptr, y};
    if (by_blocks) data.visitor = &visitor;
    work.run(call, data);
    if (by_blocks) return;
    call.barrier();
    const Slice s = call.share(elements, 64);
    if (s.begin < s.end) dropout.apply(s.begin, s.end - s.begin);
  };
  return kernel;
}

}  // namespace

void add_matmul(KernelTable& table) {
  table.add("dot", accept_dot, make_dot);
  table.add("dot_bias_act", accept_dot, make_dot);
  table.add_own("cpu.dot_dropout", make_dot_dropout);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
