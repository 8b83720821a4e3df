#include "fuse/patterns.h"
#include "tenon/op/names.h"

namespace tenon::cpu {
namespace {

// Rows of a matrix that are taken by i32 indices, and what lies between them and who reads them.
struct TakenRows {
  NodeView gather;
  std::optional<NodeView> reshape;
};

std::optional<TakenRows> rows_behind(const Matching& m, const NodeView& attention, int operand) {
  std::optional<NodeView> maker = m.sole_maker(attention.operand_id(operand), attention), reshape;
  if (maker && maker->op() == "reshape") {
    reshape = maker;
    maker = m.sole_maker(reshape->operand_id(op::reshape::x), *reshape);
  }
  if (!maker || maker->op() != "gather" || maker->i64("axis") != 0 || maker->i64("batch") != 0) return {};
  const plugin::ValueView rows = maker->in(op::gather::x), index = maker->in(op::gather::i);
  const plugin::ValueView keys = attention.in(operand);
  if (rows.rank() != 2 || index.dtype() != TENON_I32 || rows.dim(1) != keys.dim(2) * keys.dim(3)) return {};
  return TakenRows{*maker, reshape};
}

void add_attention(const NodeView& attention, const NodeView& keys, const NodeView& values, Rewrite& to) {
  plugin::GraphBuilder& fused = to.add(
      "cpu.attention_rows",
      {to.operand(attention, op::attention::q), to.operand(keys, op::gather::x), to.operand(values, op::gather::x),
       to.operand(attention, op::attention::bias), to.operand(keys, op::gather::i)},
      {to.result(attention, op::attention::out::y), to.result(attention, op::attention::out::lse)}, attention);
  copy_attributes(fused, attention);
  fused.attr_i64("length", attention.in(op::attention::k).dim(1))
      .attr_i64("heads", attention.in(op::attention::k).dim(2));
}

}  // namespace

// Attention of one query a head reads keys and values once, and may as well read them where they were taken from.
std::optional<Match> attention_of_rows(const Matching& m, const NodeView& attention) {
  using at = op::attention;
  if (attention.in(at::q).dim(1) != 1 || attention.f64("rate") > 0 || attention.flag("causal") || !is_f32(attention))
    return {};
  const std::optional<TakenRows> keys = rows_behind(m, attention, at::k), values = rows_behind(m, attention, at::v);
  if (!keys || !values || keys->gather.operand_id(op::gather::i) != values->gather.operand_id(op::gather::i)) return {};
  if (m.changes_between(keys->gather, attention) || m.changes_between(values->gather, attention)) return {};
  Match match({attention.index(), keys->gather.index(), values->gather.index()}, attention.index(),
              [=](Rewrite& to) { add_attention(attention, keys->gather, values->gather, to); });
  for (const TakenRows* rows : {&*keys, &*values})
    if (rows->reshape) match.nodes.push_back(rows->reshape->index());
  return match;
}

}  // namespace tenon::cpu
