#include "rounding.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "tenon/op/names.h"
#include "tenon/op/table.h"

namespace tpu {
namespace {

using pool_grad = tenon::op::max_pool_grad;
using tenon::plugin::GraphView;
using tenon::plugin::NodeView;
using tenon::plugin::Rewrite;
using tenon::plugin::Rewritten;
using Ids = std::vector<uint32_t>;

constexpr float kSmallestNormal = 0x1p-126f;

bool has_epilogue(std::string_view op) { return op == "dot_bias_act" || op == "conv_bias_act"; }
bool is_product(std::string_view op) {
  return op == "dot" || op == "conv" || op == "conv_grad_input" || op == "conv_grad_filter" || has_epilogue(op);
}
// Rounds nodes of the version that is known here: what another means is the backend's below to say.
bool rounds(const NodeView& node) {
  return node.version() == 1 && is_product(node.op()) && node.in(0).dtype() == TENON_F32;
}

// Ops that only move values: what comes out went in, and is no new subnormal.
bool only_moves(const NodeView& node) {
  if (node.op() == "scatter") return node.enumerator("kind") == TENON_SCATTER_SET;
  const tenon::op::Row* row = tenon::op::find(node.op());
  return row && row->values != tenon::op::Values::kComputed;
}

class Rounding {
 public:
  explicit Rounding(const GraphView& graph) : graph_(graph), rewrite_(graph) { find_placements(); }

  Rewritten make() {
    bool any = false;
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) any = any || touches(graph_.node(i));
    if (!any) return {};
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      const NodeView node = graph_.node(i);
      if (rounds(node))
        add_product(node);
      else if (places_[i])
        add_placement(node);
      else if (flushes(node))
        add_flushed(node);
      else
        rewrite_.copy(node);
    }
    return rewrite_.finish();
  }

 private:
  // What an operand was made into.
  struct Made {
    std::array<uint32_t, 3> terms{};
    int have = 0;
    uint32_t finite = 0;  // the first term, 0 where it is not finite
    uint32_t left = 0;    // what the terms so far do not cover
  };

  // Whether its bf16 results may be subnormal, which a TPU does not have.
  static bool flushes(const NodeView& node) {
    return !only_moves(node) && node.results() == 1 && node.has_result(0) && node.out(0).dtype() == TENON_BF16;
  }
  static bool touches(const NodeView& node) { return rounds(node) || flushes(node); }

  // A max-pool's gradient puts each element in one place where windows do not overlap, so it may as well be rounded before,
  // while there are fewer: where products of one pass read it and nothing else does.
  void find_placements() {
    places_.resize(graph_.n_nodes());
    std::vector<bool> only_products(graph_.n_values(), true);
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      const NodeView node = graph_.node(i);
      for (int k = 0; k < node.operands(); ++k)
        if (node.has(k) && !(k < 2 && rounds(node) && terms_of(node) == 1)) only_products[node.operand_id(k)] = false;
    }
    for (uint32_t i = 0; i < graph_.n_results(); ++i) only_products[graph_.result(i).value] = false;
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      const NodeView node = graph_.node(i);
      places_[i] = node.op() == "max_pool_grad" && node.in(pool_grad::dy).dtype() == TENON_F32 &&
                   only_products[node.result_id(pool_grad::out::dx)] &&
                   node.list("window").vec() == node.list("strides").vec();
    }
  }
  void add_placement(const NodeView& node) {
    const uint32_t result = rewrite_.value(node.result_id(pool_grad::out::dx));
    const uint32_t x = rewrite_.value(node.operand_id(pool_grad::x)), y = rewrite_.value(node.operand_id(pool_grad::y));
    const uint32_t dy = terms(node.operand_id(pool_grad::dy), 1, node).terms[0];
    last_ = &rewrite_.add(node.op(), {x, y, dy}, {result}, node, node.version());
    copy_attributes(node);
    Made& made = terms_[node.result_id(0)];
    made.terms[0] = result;
    made.have = 1;
  }

  int terms_of(const NodeView& node) const {
    const int32_t precision = has_epilogue(node.op()) ? 0 : node.enumerator("precision");
    return precision >= TENON_PRECISION_HIGHEST ? 3 : precision == TENON_PRECISION_HIGH ? 2 : 1;
  }

  std::vector<int64_t> dims(const Ids& like) const { return graph_.value(like[0]).dims().vec(); }

  uint32_t number(int32_t dtype, float value) {
    uint32_t& id = numbers_[{dtype, value}];
    if (id) return id - 1;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint16_t narrow = static_cast<uint16_t>(bits >> 16);  // these numbers are bf16 exactly
    id = 1 + (dtype == TENON_BF16 ? rewrite_.constant(dtype, {}, &narrow, sizeof narrow)
                                  : rewrite_.constant(dtype, {}, &value, sizeof value));
    return id - 1;
  }

  uint32_t emit(std::string_view op, const Ids& operands, int32_t dtype, uint32_t like, const NodeView& origin) {
    const uint32_t y = rewrite_.fresh(dtype, graph_.value(like).dims().vec());
    last_ = &rewrite_.add(op, operands, {y}, origin);
    return y;
  }

  // Subnormals become zeros of their sign; `x` is of `like`'s shape.
  uint32_t flushed(uint32_t x, int32_t dtype, uint32_t like, const NodeView& origin) {
    const uint32_t size = emit("abs", {x}, dtype, like, origin);
    const uint32_t small = emit("compare", {size, number(dtype, kSmallestNormal)}, TENON_BOOL, like, origin);
    last_->attr_enum("kind", TENON_COMPARE_LT);
    const uint32_t zero = emit("mul", {x, number(dtype, 0)}, dtype, like, origin);
    return emit("select", {small, zero, x}, dtype, like, origin);
  }

  uint32_t rounded(uint32_t x, uint32_t like, const NodeView& origin) {
    const uint32_t narrow = emit("cast", {x}, TENON_BF16, like, origin);
    last_->attr_dtype("to", TENON_BF16);
    const uint32_t wide = emit("cast", {narrow}, TENON_F32, like, origin);
    last_->attr_dtype("to", TENON_F32);
    return flushed(wide, TENON_F32, like, origin);
  }

  // `x` where `term` is finite, else 0.
  uint32_t where_finite(uint32_t term, uint32_t x, uint32_t like, const NodeView& origin) {
    const uint32_t size = emit("abs", {term}, TENON_F32, like, origin);
    const uint32_t finite = emit("compare", {size, number(TENON_F32, __builtin_inff())}, TENON_BOOL, like, origin);
    last_->attr_enum("kind", TENON_COMPARE_LT);
    return emit("select", {finite, x, number(TENON_F32, 0)}, TENON_F32, like, origin);
  }

  // The first `count` terms of operand `old`, made once for all its users.
  const Made& terms(uint32_t old, int count, const NodeView& user) {
    Made& made = terms_[old];
    if (made.have == 0) made.left = rewrite_.value(old);
    for (; made.have < count; ++made.have) {
      if (made.have) take_away(made, made.terms[static_cast<size_t>(made.have - 1)], old, user);
      made.terms[static_cast<size_t>(made.have)] = rounded(made.left, old, user);
    }
    return made;
  }
  // A term is subtracted from what is left. What is not finite has no later terms, and takes no part in their products.
  void take_away(Made& made, uint32_t term, uint32_t old, const NodeView& user) {
    const uint32_t difference = emit("sub", {made.left, term}, TENON_F32, old, user);
    made.left = where_finite(term, difference, old, user);
    if (made.have == 1) made.finite = where_finite(term, term, old, user);
  }

  void copy_attributes(const NodeView& node) {
    for (int i = 0; i < node.attributes(); ++i) last_->attr(graph_, node.attribute(i));
  }

  uint32_t product(const NodeView& node, uint32_t a, uint32_t b) {
    const uint32_t y = emit(node.op(), {a, b}, TENON_F32, node.result_id(0), node);
    copy_attributes(node);
    return y;
  }

  void add_product(const NodeView& node) {
    const int count = terms_of(node);
    // The first two operands of every product, whatever they are called.
    const Made a = terms(node.operand_id(0), count, node), b = terms(node.operand_id(1), count, node);
    if (count == 1) return add_with_operands(node, a.terms[0], b.terms[0]);
    uint32_t rest = sum(product(node, a.finite, b.terms[1]), product(node, a.terms[1], b.finite), node);
    if (count == 3) {
      const uint32_t small = sum(product(node, a.terms[1], b.terms[1]), product(node, a.finite, b.terms[2]), node);
      rest = sum(sum(small, product(node, a.terms[2], b.finite), node), rest, node);
    }
    rewrite_.add("add", {rest, product(node, a.terms[0], b.terms[0])}, {rewrite_.value(node.result_id(0))}, node);
  }
  uint32_t sum(uint32_t a, uint32_t b, const NodeView& node) {
    return emit("add", {a, b}, TENON_F32, node.result_id(0), node);
  }

  void add_with_operands(const NodeView& node, uint32_t a, uint32_t b) {
    Ids operands{a, b};
    for (int k = 2; k < node.operands(); ++k) operands.push_back(rewrite_.value(node.operand_id(k)));
    last_ = &rewrite_.add(node.op(), operands, {rewrite_.value(node.result_id(0))}, node, node.version());
    copy_attributes(node);
  }

  void add_flushed(const NodeView& node) {
    Ids operands;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(rewrite_.value(node.operand_id(k)));
    const uint32_t old = node.result_id(0);
    const uint32_t y = rewrite_.fresh(TENON_BF16, graph_.value(old).dims().vec());
    last_ = &rewrite_.add(node.op(), operands, {y}, node, node.version());
    copy_attributes(node);
    const uint32_t size = emit("abs", {y}, TENON_BF16, old, node);
    const uint32_t small = emit("compare", {size, number(TENON_BF16, kSmallestNormal)}, TENON_BOOL, old, node);
    last_->attr_enum("kind", TENON_COMPARE_LT);
    const uint32_t zero = emit("mul", {y, number(TENON_BF16, 0)}, TENON_BF16, old, node);
    rewrite_.add("select", {small, zero, y}, {rewrite_.value(old)}, node);
  }

  GraphView graph_;
  Rewrite rewrite_;
  tenon::plugin::GraphBuilder* last_ = nullptr;  // the node added last: attributes go to it
  std::unordered_map<uint32_t, Made> terms_;
  std::vector<bool> places_;                               // of each node: rounded before instead of after
  std::map<std::pair<int32_t, float>, uint32_t> numbers_;  // 1 + id
};

}  // namespace

bool hides_dots(const NodeView& node) {
  for (const char* op : {"attention", "attention_grad", "lstm", "lstm_grad", "gru", "gru_grad"})
    if (node.op() == op) return true;
  return has_epilogue(node.op()) && node.in(0).dtype() == TENON_F32 &&
         node.enumerator("precision") > TENON_PRECISION_DEFAULT;
}

Rewritten round_operands(const GraphView& graph) { return Rounding(graph).make(); }

}  // namespace tpu
