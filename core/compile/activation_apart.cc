// A product whose activation's gradient comes from the activation's argument is in a step's graph twice, and computed once:
//
//   y = dot_bias_act(a, b, ..; gelu)             z = dot_bias_act(a, b, ..; none)
//   z = dot_bias_act(a, b, ..; none)      ->     y = activation(z; gelu)
//
// A convolution alike.
#include <map>
#include <string>

#include "base/strings.h"
#include "compile/rewrite.h"
#include "op/decompose.h"
#include "op/rules.h"

namespace tenon {
namespace {

class ActivationApart {
 public:
  explicit ActivationApart(const Graph& from) : rewrite_(from) {
    for (const Node& node : from.nodes)
      if (has_activation(node) && activation_in(node) == Activation::kNone) bare_.emplace(key_of(node), &node);
  }

  Graph run() {
    return rewrite_.run([this](const Node& node, const Tensors& operands) { return visit(node, operands); });
  }

 private:
  static bool has_activation(const Node& node) { return node.op == "dot_bias_act" || node.op == "conv_bias_act"; }
  static Activation activation_in(const Node& node) { return activation_of(AttrReader(node.attrs)); }

  // All that z depends on.
  static std::string key_of(const Node& node) {
    std::string key = cat(node.op, "@", node.version);
    for (const ValueId v : node.operands) append(key, cat(" ", v));
    for (const Attr& a : node.attrs)
      if (a.name != "act" && a.name != "alpha") append(key, cat(" ", a.name, "=", to_text(a.value)));
    return key;
  }

  // The same product without an activation that stands after it; or nullptr.
  const Node* bare_after(const Node& node) const {
    if (!has_activation(node) || gradient_from_result(activation_in(node))) return nullptr;
    const auto found = bare_.find(key_of(node));
    return found != bare_.end() && found->second > &node ? found->second : nullptr;
  }

  Tensors visit(const Node& node, const Tensors& operands) {
    if (const auto done = computed_.find(&node); done != computed_.end()) return {done->second};
    const Node* bare = bare_after(node);
    if (!bare) return rewrite_.copy(node, operands);
    Node product = *bare;
    product.name = node.name, product.origin = node.origin, product.phase = node.phase;
    product.forward_of = node.forward_of;
    const Tensor z = computed_[bare] = rewrite_.copy(product, operands)[0];
    const Stamp stamp(rewrite_.to());
    rewrite_.to().phase = node.phase;
    rewrite_.to().forward_of = node.forward_of;
    rewrite_.to().origin = node.origin;
    rewrite_.to().set_scope(node.name);
    return {activation(z, activation_in(node), AttrReader(node.attrs).f64("alpha"))};
  }

  Rewrite rewrite_;
  std::map<std::string, const Node*> bare_;
  std::map<const Node*, Tensor> computed_;
};

}  // namespace

Graph set_activations_apart(const Graph& graph) { return ActivationApart(graph).run(); }

}  // namespace tenon
