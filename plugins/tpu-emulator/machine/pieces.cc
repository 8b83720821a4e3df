#include "machine/pieces.h"

#include <algorithm>
#include <set>

#include "tenon/op/names.h"
#include "time/op_class.h"

namespace tpu {
namespace {

namespace op = tenon::op;
using tenon::plugin::GraphView;
using tenon::plugin::NodeView;
using tenon::plugin::ValueView;

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// Nodes whose results the graph's results need.
std::vector<char> live_nodes(const GraphView& graph) {
  std::vector<char> needed(graph.n_values(), 0), live(graph.n_nodes(), 0);
  for (uint32_t i = 0; i < graph.n_results(); ++i) needed[graph.result(i).value] = 1;
  for (uint32_t i = graph.n_nodes(); i-- > 0;) {
    const NodeView node = graph.node(i);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k) && needed[node.result_id(k)]) live[i] = 1;
    if (!live[i]) continue;
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k)) needed[node.operand_id(k)] = 1;
  }
  return live;
}

// Values lie as images do if convolutions or pools read or write some of as many dimensions, for as large a batch.
class Images {
 public:
  explicit Images(const GraphView& graph) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView node = graph.node(i);
      const std::string_view op = node.op();
      const bool convolution = starts_with(op, "conv");
      if (!convolution && op.find("_pool") == std::string_view::npos) continue;
      const ValueView image = node.in(0);
      batches_.insert({image.rank(), image.dim(0)});
      if (op == "conv_grad_filter")
        filters_.insert(node.out(op::conv_grad_filter::out::dw).dims().vec());
      else if (convolution)
        filters_.insert(node.in(op::conv::w).dims().vec());  // in one place in all of them
    }
  }

  bool has(const ValueView& value) const {
    return value.rank() >= 3 && batches_.count({value.rank(), value.dim(0)}) && !filters_.count(value.dims().vec());
  }

 private:
  std::set<std::pair<int, int64_t>> batches_;  // rank and first dimension
  std::set<std::vector<int64_t>> filters_;
};

// Whether the tiles of both lie alike: the minor dimension stays, and whole tiles above it.
bool same_tiles(const ValueView& a, const ValueView& b) {
  if (a.elements() <= 128 && b.elements() <= 128) return true;
  if (a.rank() == 0 || b.rank() == 0 || a.dim(-1) != b.dim(-1)) return false;
  const int64_t rows_a = a.rank() > 1 ? a.dim(-2) : 1, rows_b = b.rank() > 1 ? b.dim(-2) : 1;
  return rows_a == rows_b || (rows_a % 8 == 0 && rows_b % 8 == 0);
}

class Lowering {
 public:
  explicit Lowering(const GraphView& graph) : graph_(graph), program_(graph) {}

  StepGraph run() {
    values();
    const std::vector<char> live = live_nodes(graph_);
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
      if (live[i]) node(graph_.node(i));
    connect();
    return std::move(program_);
  }

 private:
  void values() {
    const Images images(graph_);
    const uint32_t n = graph_.n_values();
    for (uint32_t i = 0; i < n; ++i) {
      const ValueView value = graph_.value(i);
      program_.layouts.push_back(images.has(value) ? image_layout(value) : row_major_layout(value));
      program_.base.push_back(i);
    }
    program_.producer.assign(n, -1);
    program_.consumers.resize(n);
    program_.is_result.assign(n, 0);
    program_.input_of.assign(n, TENON_NONE);
    program_.alias_of.assign(n, TENON_NONE);
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) program_.input_of[graph_.input(i).value] = i;
  }

  void node(const NodeView& node) {
    const std::string_view op = node.op();
    if (op == "constant") return;
    if (op == "reshape" && same_tiles(node.in(0), node.out(0))) {
      program_.base[node.result_id(0)] = program_.base[node.operand_id(0)];
      return;
    }
    if (op == "batch_norm") return batch_norm(node);
    if (op == "batch_norm_grad") return batch_norm_grad(node);
    if (op == "bias_act_grad") return bias_act_grad(node);
    if (op == "all_reduce") {
      for (int k = 0; k < node.operands(); ++k) add(node, PieceKind::kCollective, 0, {k}, {k});
      return;
    }
    const OpClass known = op_class(node);
    Piece& piece = add(node, known.kind, known.vector_ops, all(node.operands()), all(node.results()));
    piece.dear = known.dear;
    piece.passes = known.passes;
    if (op == "dot_bias_act" || op == "conv_bias_act") piece.vector_ops = 1 + activation_ops(node.enumerator("act"));
    if (op == "max_pool" || op == "avg_pool" || op == "max_pool_grad" || op == "avg_pool_grad")
      for (int64_t n : node.list("window")) piece.vector_ops *= static_cast<double>(n);
  }

  // Means and variances ride on the convolution before; what they normalise is not written where it is read.
  void batch_norm(const NodeView& node) {
    using norm = op::batch_norm;
    add(node, PieceKind::kReduce, 3, {norm::x}, {norm::out::mean, norm::out::var});
    add(node, PieceKind::kElementwise, 4 + activation_ops(node.enumerator("act")), all(node.operands()),
        {norm::out::y});
    // The statistics come out of the first piece; the second reads them.
    for (int k : {norm::out::mean, norm::out::var}) program_.pieces.back().in.push_back(node.result_id(k));
  }

  // Where dresidual, the gradient behind the activation, is a result, all else is made from that.
  void batch_norm_grad(const NodeView& node) {
    using grad = op::batch_norm_grad;
    const bool has_dz = node.has_result(grad::out::dresidual);
    if (has_dz) add(node, PieceKind::kElementwise, 2, {grad::dy, grad::y}, {grad::out::dresidual});
    const auto reading = [&](PieceKind kind, double ops, const std::vector<int>& beside, const std::vector<int>& out) {
      Piece& piece = add(node, kind, ops, beside, out);
      piece.in.push_back(has_dz ? node.result_id(grad::out::dresidual) : node.operand_id(grad::dy));
      if (!has_dz && node.has(grad::y)) piece.in.push_back(node.operand_id(grad::y));
      return &piece;
    };
    reading(PieceKind::kReduce, 5, {grad::x, grad::mean, grad::var}, {grad::out::dgamma, grad::out::dbeta});
    Piece* dx = reading(PieceKind::kElementwise, 6, {grad::x, grad::gamma, grad::mean, grad::var}, {grad::out::dx});
    for (int k : {grad::out::dgamma, grad::out::dbeta}) dx->in.push_back(node.result_id(k));
  }

  void bias_act_grad(const NodeView& node) {
    using grad = op::bias_act_grad;
    add(node, PieceKind::kElementwise, 1 + activation_ops(node.enumerator("act")), {grad::g, grad::t}, {grad::out::dz});
    if (node.has_result(grad::out::dbias)) {
      add(node, PieceKind::kReduce, 1, {}, {grad::out::dbias});
      program_.pieces.back().in.push_back(node.result_id(grad::out::dz));
    }
  }

  static std::vector<int> all(int n) {
    std::vector<int> indices(static_cast<size_t>(n));
    for (int k = 0; k < n; ++k) indices[static_cast<size_t>(k)] = k;
    return indices;
  }

  Piece& add(const NodeView& node, PieceKind kind, double vector_ops, const std::vector<int>& in,
             const std::vector<int>& out) {
    Piece piece;
    piece.node = node.index();
    piece.kind = kind;
    piece.vector_ops = vector_ops;
    for (int k : in)
      if (node.has(k)) piece.in.push_back(node.operand_id(k));
    for (int k : out)
      if (node.has_result(k)) piece.out.push_back(node.result_id(k));
    program_.pieces.push_back(std::move(piece));
    return program_.pieces.back();
  }

  void connect() {
    for (size_t i = 0; i < program_.pieces.size(); ++i) {
      Piece& piece = program_.pieces[i];
      for (uint32_t& value : piece.in) value = program_.base[value];
      std::sort(piece.in.begin(), piece.in.end());
      piece.in.erase(std::unique(piece.in.begin(), piece.in.end()), piece.in.end());
      for (uint32_t value : piece.in) program_.consumers[value].push_back(static_cast<int>(i));
      for (uint32_t value : piece.out) program_.producer[value] = static_cast<int>(i);
    }
    for (uint32_t i = 0; i < graph_.n_results(); ++i) {
      const tenon_result& result = graph_.result(i);
      const uint32_t value = program_.base[result.value];
      program_.is_result[value] = 1;
      if (result.alias) program_.alias_of[value] = graph_.input(result.alias - 1).value;
    }
  }

  GraphView graph_;
  StepGraph program_;
};

}  // namespace

StepGraph lower(const GraphView& graph) { return Lowering(graph).run(); }

}  // namespace tpu
