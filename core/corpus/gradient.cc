#include "corpus/gradient.h"

#include <algorithm>

#include "base/strings.h"
#include "compile/compile.h"
#include "compile/rewrite.h"
#include "op/op.h"
#include "tenon/gradients.h"

namespace tenon::corpus {
namespace {

// A definition whose inputs stand in another order, with weights behind them.
class Differentiated {
 public:
  explicit Differentiated(const Definition& d) : d_(d) {
    // Once to see which inputs have a gradient.
    Graph graph;
    const Tensors x = add_inputs(graph, d.inputs);
    Tensors results = d.build(x);
    std::erase_if(results, [](const Tensor& r) { return !r || !is_float(r.dtype()); });
    Tensors weights;
    for (const Tensor& r : results) {
      weights_.push_back(uniform(r.dtype(), r.shape(), 100 + weights_.size(), 0.5, 1.5));
      weights.emplace_back(&graph, graph.add_input(r.type(), Role::kFeed, "w"));
    }
    Tensors floats;
    std::vector<size_t> index;
    for (size_t i = 0; i < x.size(); ++i)
      if (is_float(x[i].dtype())) floats.push_back(x[i]), index.push_back(i);
    const Tensors grads = gradients(loss(results, weights, false), floats);
    for (size_t k = 0; k < grads.size(); ++k)
      if (grads[k]) order_.push_back(index[k]);
    by_ = order_.size();
    if (by_ == 0) fail(d.op, " '", d.name, "': has no gradient");
    for (size_t i = 0; i < x.size(); ++i)
      if (std::find(order_.begin(), order_.begin() + static_cast<long>(by_), i) ==
          order_.begin() + static_cast<long>(by_))
        order_.push_back(i);
  }

  Inputs inputs() const {
    Inputs out;
    for (size_t i : order_) out.push_back(d_.inputs[i]);
    out.insert(out.end(), weights_.begin(), weights_.end());
    return out;
  }

  // The loss alone, or the gradients.
  Graph graph(bool backward, bool bent) const {
    Graph graph;
    const Tensors given = add_inputs(graph, inputs());
    Tensors x(d_.inputs.size());
    for (size_t k = 0; k < order_.size(); ++k) x[order_[k]] = given[k];
    Tensors results = d_.build(x);
    std::erase_if(results, [](const Tensor& r) { return !r || !is_float(r.dtype()); });
    const Tensor l = loss(results, Tensors(given.begin() + static_cast<long>(order_.size()), given.end()), bent);
    if (!backward)
      graph.results.push_back({l.id()});
    else
      for (const Tensor& g : gradients(l, Tensors(given.begin(), given.begin() + static_cast<long>(by_))))
        graph.results.push_back({g.id()});
    ask_for_f32(graph);
    return graph;
  }

 private:
  static Tensor loss(const Tensors& results, const Tensors& weights, bool bent) {
    Tensor sum;
    for (size_t k = 0; k < results.size(); ++k) {
      Tensor r = results[k];
      if (bent) r = add(r, mul(mul(r, r), scalar_like(r, 0.5)));
      r = mul(r, weights[k]);
      if (r.dtype() != DType::kF64) r = cast(r, DType::kF32);
      r = reduce_sum(r);
      sum = sum ? add(sum, cast(r, sum.dtype())) : r;
    }
    return sum;
  }

  const Definition& d_;
  std::vector<size_t> order_;  // of the definition's inputs
  size_t by_ = 0;              // how many of them are differentiated
  Inputs weights_;
};

// Whether the gradients depend on all inputs that the loss depends on.
bool uses_all(const Graph& backward, const Graph& forward) {
  return prune_inputs(simplify(backward)).inputs.size() == prune_inputs(simplify(forward)).inputs.size();
}

// Without the inputs that the other does not have either; names are those of add_inputs.
Graph restricted(const Graph& graph, const Graph& to) {
  Graph out = graph;
  out.inputs.clear();
  for (const GraphInput& kept : to.inputs)
    for (const GraphInput& input : graph.inputs)
      if (input.name == kept.name) {
        out.values[input.value].index = static_cast<int>(out.inputs.size());
        out.inputs.push_back(input);
      }
  return out;
}

}  // namespace

Case gradient_case(const Definition& definition) {
  const Differentiated all(definition);
  bool bent = false;
  if (!uses_all(all.graph(true, bent), all.graph(false, bent))) bent = true;
  Case c;
  c.kind = Case::kGradient;
  c.op = definition.op;
  c.name = definition.name;
  c.order = definition.order;
  const Graph backward = all.graph(true, bent), forward = all.graph(false, bent);
  if (!uses_all(backward, forward)) fail(c.op, " '", c.name, "': an input has no part in the gradient");
  Graph whole = prune_inputs(simplify(backward));
  const Inputs inputs = all.inputs();
  for (const GraphInput& input : whole.inputs) c.inputs.push_back(inputs[std::stoul(input.name.substr(1))].fill);
  Graph loss = lower_to_primitives(restricted(forward, whole));
  ask_for_f32(loss);
  c.forward = flat(loss);
  set_graphs(c, std::move(whole));
  return c;
}

}  // namespace tenon::corpus
