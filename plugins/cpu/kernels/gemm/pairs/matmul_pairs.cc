#include <optional>

#include "kernels/dtype.h"
#include "kernels/element/dropout.h"
#include "kernels/gemm/matmul.h"
#include "kernels/gemm/pairs/pair_words.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/norm/normalization.h"
#include "kernels/pairs.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// An operand of the epilogue, or the result, as f32.
struct Floats {
  int64_t elements = 0;  // 0: none, or f32 where it lies
  uint64_t at = 0;       // in scratch

  float* in(const Call& call) const { return reinterpret_cast<float*>(static_cast<uint8_t*>(call.scratch) + at); }
  void make(const Call& call, const uint16_t* from) const {
    const Slice s = call.share(elements, kGrain);
    if (s.begin < s.end) widen(TENON_BF16, from + s.begin, in(call) + s.begin, s.end - s.begin);
  }
};

// The epilogue of a stretch of sums: dropout(x) + residual, rounded once, or the norm and what follows it; shown to the
// visitor.
struct PairEnd {
  uint16_t* to;
  int64_t n;                     // columns
  const uint16_t* residual;      // or nullptr
  const DropoutRule* rule;       // or nullptr
  const RandomStream* stream;    // of the rule
  const ResultVisitor* visitor;  // or nullptr: of parts of so many rows
  int64_t part_rows;
  ColumnNorm norm;  // or none: of the sums
  Clip clip;        // of the norm

  // Elements [at, at + count) of the result.
  void apply(const float* x, int64_t at, int64_t count) const {
    if (!residual && !rule) return narrow(TENON_BF16, x, to + at, count);
    alignas(64) float sums[kBlock], more[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t m = std::min(kBlock, count - i);
      if (residual) widen(TENON_BF16, residual + at + i, more, m);
      if (rule)
        rule->apply(*stream, at + i, x + i, residual ? more : nullptr, sums, m);
      else
        for (int64_t j = 0; j < m; ++j) sums[j] = x[i + j] + more[j];
      narrow(TENON_BF16, sums, to + at + i, m);
    }
  }
  static void consume(const void* context, const float* c, int64_t ld, int64_t row, int64_t rows, int64_t column,
                      int64_t columns) {
    const PairEnd& end = *static_cast<const PairEnd*>(context);
    if (end.norm.scale)
      end.normalize(c, ld, row, rows, column, columns);
    else if (columns == end.n && ld == end.n)
      end.apply(c, row * end.n, rows * end.n);
    else
      for (int64_t i = 0; i < rows; ++i) end.apply(c + i * ld, (row + i) * end.n + column, columns);
    if (!end.visitor) return;
    const PointRun run{row, rows};
    end.visitor->visit(end.visitor->context, row / end.part_rows, &run, 1, {column, column + columns});
  }

 private:
  void normalize(const float* c, int64_t ld, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const SeeSubnormals here;
    const int64_t at = row * n + column;
    const ColumnNorm some = norm.at(column);
    normalize_sums(c, ld, residual ? reinterpret_cast<const Bfloat*>(residual) + at : nullptr, rows, columns, n,
                   some.mean, some.scale, some.shift, clip, reinterpret_cast<Bfloat*>(to) + at);
  }
};

struct PairDot {
  std::unique_ptr<Gemm> gemm;
  Words a, b;
  bool inside = false;  // the residual is added before the activation
  bool wide = false;    // bias and residual come as f32
  Clip clip;            // of a norm
  std::optional<DropoutRule> dropout;
  Floats bias_values, residual_values, result;
  uint64_t own_scratch = 0;
  bool consumed = false;  // the result is rounded block by block
  int64_t m = 0, n = 0;

  uint32_t threads() const { return gemm->threads(); }
  uint64_t scratch_bytes() const { return own_scratch + gemm->scratch_bytes(); }
  uint64_t thread_scratch_bytes() const { return gemm->thread_scratch_bytes(); }
  int64_t parts() const { return consumed ? ceil_div(m, gemm->block_rows()) : 0; }
  // Where it drops, operands 3 and 4 of the call are seed and step.
  void run(const Call& call, const GemmData& d) const;

 private:
  void run(const Call& call, const GemmData& d, const RandomStream* stream) const;
};

const uint16_t* halves(const float* p) { return reinterpret_cast<const uint16_t*>(p); }

void PairDot::run(const Call& call, const GemmData& d) const {
  if (!dropout) return run(call, d, nullptr);
  const RandomStream stream(*call.in<int64_t>(own::dot_dropout::seed), *call.in<int64_t>(own::dot_dropout::step),
                            dropout->id, dropout->before);
  run(call, d, &stream);
}

void PairDot::run(const Call& call, const GemmData& d, const RandomStream* stream) const {
  a.make(call, halves(d.a));
  b.make(call, halves(d.b));
  if (bias_values.elements > 0) bias_values.make(call, halves(d.bias));
  if (inside) residual_values.make(call, halves(d.residual));
  if (!a.ready() || !b.ready() || bias_values.elements > 0 || inside) call.barrier();
  Call inner = call;
  inner.scratch = static_cast<uint8_t*>(call.scratch) + own_scratch;
  const PairEnd end{reinterpret_cast<uint16_t*>(d.c),
                    n,
                    inside ? nullptr : halves(d.residual),
                    dropout ? &*dropout : nullptr,
                    stream,
                    d.visitor,
                    gemm->block_rows(),
                    d.norm,
                    clip};
  const GemmConsumer consumer{&end, PairEnd::consume, end.residual};
  const float* const given_bias = wide ? d.bias : nullptr;
  const float* const given_residual = wide ? d.residual : nullptr;
  {
    const FlushSubnormals here;
    gemm->run(inner, {a.of(call, halves(d.a)), b.of(call, halves(d.b)),
                      bias_values.elements > 0 ? bias_values.in(call) : given_bias,
                      inside ? residual_values.in(call) : given_residual, result.elements > 0 ? result.in(call) : d.c,
                      consumed ? &consumer : nullptr});
  }
  if (result.elements == 0) return;
  call.barrier();
  const Slice s = call.share(result.elements, kGrain);
  if (s.begin < s.end) end.apply(result.in(call) + s.begin, s.begin, s.end - s.begin);
}

// Words of B that are packed at once for a product by tiles whose result is rounded block by block: 1 MB.
constexpr int64_t kColumnsAtOnce = 256, kMostAtOnce = 256 * 1024;

// Blocks of the product, and how its operands come into them.
void plan_product(PairDot& dot, GemmShape s, bool round) {
  const bool even = s.k % 2 == 0;
  s.pairs = has_pair_products();
  s.widened = !s.pairs;
  s.k = s.pairs ? ceil_div(s.k, 2) : round_up(s.k, 2);
  for (int64_t& at : s.a_at) at /= 2;
  dot.gemm = std::make_unique<Gemm>(s);
  dot.consumed = round && s.batch == 1 && s.m > 1 && s.n > 1 && !s.ta && !dot.inside && !dot.gemm->splits() &&
                 (!has_tile_products() || s.k * std::min(s.n, kColumnsAtOnce) <= kMostAtOnce);
  if (dot.consumed) dot.gemm = std::make_unique<Gemm>(s, true);
  s.plain_a = dot.a.plain = even && dot.gemm->packs_a();
  s.plain_b = dot.b.plain = even && dot.gemm->packs_b();
  if (s.plain_a || s.plain_b) dot.gemm = std::make_unique<Gemm>(s, dot.consumed);
}

std::shared_ptr<PairDot> pair_dot(const GemmShape& s, bool bias, bool residual, bool round,
                                  std::optional<DropoutRule> dropout = {}) {
  const auto dot = std::make_shared<PairDot>();
  dot->a = {s.batch, s.ta ? s.k : s.m, s.ta ? s.m : s.k, s.ta};
  dot->b = {s.batch, s.tb ? s.n : s.k, s.tb ? s.k : s.n, !s.tb};
  dot->dropout = dropout;
  dot->inside = residual && !(round && (dropout || s.act == TENON_ACT_NONE));
  dot->m = s.m;
  dot->n = s.n;
  plan_product(*dot, s, round);
  if (bias) dot->bias_values.elements = s.n;
  if (dot->inside) dot->residual_values.elements = s.batch * s.m * s.n;
  if (round && !dot->consumed) dot->result.elements = s.batch * s.m * s.n;
  uint64_t at = 0;
  const auto place = [&at](uint64_t bytes) { return std::exchange(at, at + aligned_room(bytes)); };
  for (Words* w : {&dot->a, &dot->b}) w->at = place(w->bytes());
  for (Floats* f : {&dot->bias_values, &dot->residual_values, &dot->result})
    f->at = place(static_cast<uint64_t>(f->elements) * 4);
  dot->own_scratch = at;
  return dot;
}

}  // namespace

GemmWork pair_product_work(const GemmShape& given, const PairEpilogue& epilogue) {
  GemmShape shape = given;
  if (epilogue.norm) shape.act = TENON_ACT_NONE;
  const auto dot = pair_dot(shape, epilogue.bias, epilogue.residual, epilogue.round);
  dot->wide = epilogue.wide;
  if (epilogue.norm) dot->clip = Clip::of(given.act);
  return work_of<GemmData>(dot, dot->parts());
}

Kernel make_pair_product(const NodeView& node) {
  const bool drops = node.op() == "cpu.dot_dropout", bias = node.has(op::dot_bias_act::bias);
  const int added = drops ? 5 : 3;
  const bool residual = node.has(added);
  std::optional<DropoutRule> dropout;
  if (drops) dropout = dropout_rule_of(node);
  const auto dot = pair_dot(gemm_shape_of(node), bias, residual, node.out(0).dtype() == TENON_BF16, dropout);
  Kernel kernel = kernel_of(dot);
  kernel.algorithm = "gemm of bf16 pairs";
  kernel.run = [=](const Call& call) {
    dot->run(call,
             {call.in(op::dot_bias_act::a), call.in(op::dot_bias_act::b),
              bias ? call.in(op::dot_bias_act::bias) : nullptr, residual ? call.in(added) : nullptr, call.out(0)});
  };
  return kernel;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
