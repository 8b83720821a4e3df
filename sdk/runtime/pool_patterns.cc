#include "tenon/plugin/pool_patterns.h"

#include <memory>

#include "tenon/op/names.h"

namespace tenon::plugin {
namespace {

using Node = std::optional<NodeView>;
using conv_of = op::conv_bias_act;  // conv has x and w in the same places
using unpool = op::max_pool_grad;
using grad_input_of = op::conv_grad_input;
using grad_filter_of = op::conv_grad_filter;

// A convolution whose map goes into a pool alone; the gradients are absent where nothing is trained.
struct Pooled {
  NodeView conv;
  Node pool, pool_grad, grad_input, grad_filter;
};

bool all_are(Span<int64_t> list, size_t n, int64_t value) {
  if (list.size() != n) return false;
  for (int64_t x : list)
    if (x != value) return false;
  return true;
}

// Two spatial dimensions in f32 or bf16, one group, at most a ReLU behind it.
bool is_plain(const NodeView& conv) {
  const ValueView y = conv.out(0);
  return (y.dtype() == TENON_F32 || y.dtype() == TENON_BF16) && conv.in(conv_of::x).dtype() == y.dtype() &&
         y.rank() == 4 && y.dim(1) >= 2 && y.dim(2) >= 2 && conv.i64("groups", 1) == 1 &&
         !conv.has(conv_of::residual) && conv.enumerator("act") <= TENON_ACT_RELU &&
         (conv.in(conv_of::w).dim(0) > 1 || conv.in(conv_of::w).dim(1) > 1);
}

bool is_half(const NodeView& pool, const ValueView& map, const ValueView& pooled) {
  return all_are(pool.list("window"), 2, 2) && all_are(pool.list("strides"), 2, 2) &&
         (pool.list("low").empty() || all_are(pool.list("low"), 2, 0)) && pooled.dim(1) == map.dim(1) / 2 &&
         pooled.dim(2) == map.dim(2) / 2;
}

// What a gradient has to have in common with its convolution.
bool same_geometry(const NodeView& a, const NodeView& b) {
  for (const char* name : {"strides", "low", "high", "dilation"})
    if (a.list(name).vec() != b.list(name).vec()) return false;
  return a.i64("groups", 1) == b.i64("groups", 1);
}

// Whether the map's gradient goes to the convolution's own gradients alone.
bool find_gradients(const Matching& m, Pooled& p) {
  if (p.pool_grad->operand_id(unpool::y) != p.pool->result_id(0)) return false;
  if (!is_half(*p.pool_grad, p.conv.out(0), p.pool->out(0))) return false;
  for (const uint32_t r : m.readers(p.pool_grad->result_id(0))) {
    if (r == TENON_NONE || !same_geometry(m.graph().node(r), p.conv)) return false;
    const NodeView reader = m.graph().node(r);
    if (reader.op() == "conv_grad_input" && !p.grad_input &&
        reader.operand_id(grad_input_of::w) == p.conv.operand_id(conv_of::w))
      p.grad_input = reader;
    else if (reader.op() == "conv_grad_filter" && !p.grad_filter &&
             reader.operand_id(grad_filter_of::x) == p.conv.operand_id(conv_of::x))
      p.grad_filter = reader;
    else
      return false;
  }
  return true;
}

std::optional<Pooled> find_pooled(const Matching& m, const NodeView& conv) {
  Pooled p{conv, {}, {}, {}, {}};
  const uint32_t map = conv.result_id(0);
  for (const uint32_t r : m.readers(map)) {
    if (r == TENON_NONE) return {};
    const NodeView reader = m.graph().node(r);
    if (reader.op() == "max_pool" && !p.pool && is_half(reader, conv.out(0), reader.out(0)))
      p.pool = reader;
    else if (reader.op() == "max_pool_grad" && !p.pool_grad && reader.operand_id(unpool::x) == map)
      p.pool_grad = reader;
    else
      return {};
  }
  if (!p.pool || (p.pool_grad && !find_gradients(m, p))) return {};
  return p;
}

// The pool is made with the convolution, its gradient with those that read it.
Match match_of(const Pooled& p, const std::string& prefix) {
  const auto winner = std::make_shared<uint32_t>(TENON_NONE);
  Match match({p.conv.index(), p.pool->index()}, p.conv.index(), [=](Rewrite& to) {
    const uint32_t pooled = to.result(*p.pool, 0);
    *winner = to.fresh(TENON_U8, p.pool->out(0).dims().vec());
    std::vector<uint32_t> operands{to.operand(p.conv, conv_of::x), to.operand(p.conv, conv_of::w)};
    if (p.conv.has(conv_of::bias)) operands.push_back(to.operand(p.conv, conv_of::bias));
    copy_attributes(to.add(prefix + ".conv_pool", operands, {pooled, *winner}, p.conv), p.conv);
  });
  if (p.pool_grad) match.nodes.push_back(p.pool_grad->index());
  const auto add = [&](const NodeView& grad, const Match::Emit& emit) {
    match.nodes.push_back(grad.index());
    match.parts.emplace_back(grad.index(), emit);
  };
  if (p.grad_input)
    add(*p.grad_input, [=](Rewrite& to) {
      const NodeView& g = *p.grad_input;
      copy_attributes(to.add(prefix + ".pooled_grad_input",
                             {to.operand(*p.pool_grad, unpool::dy), to.operand(g, grad_input_of::w), *winner},
                             {to.result(g, 0)}, g),
                      g);
    });
  if (p.grad_filter)
    add(*p.grad_filter, [=](Rewrite& to) {
      const NodeView& g = *p.grad_filter;
      copy_attributes(to.add(prefix + ".pooled_grad_filter",
                             {to.operand(g, grad_filter_of::x), to.operand(*p.pool_grad, unpool::dy), *winner},
                             {to.result(g, 0)}, g),
                      g);
    });
  return match;
}

}  // namespace

std::vector<Pattern> pool_patterns(const std::string& prefix, const std::function<bool(const NodeView&)>& suits) {
  const auto find = [=](const Matching& m, const NodeView& conv) -> std::optional<Match> {
    if (!is_plain(conv) || (suits && !suits(conv))) return {};
    const std::optional<Pooled> pooled = find_pooled(m, conv);
    return pooled ? std::optional(match_of(*pooled, prefix)) : std::nullopt;
  };
  return {{"conv", find}, {"conv_bias_act", find}};
}

}  // namespace tenon::plugin
