#include "import/onnx/rules/spelled_out.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "op/rules.h"

namespace tenon::onnx {
namespace {

const Node* maker(Call& c, Tensor x, std::string_view op) {
  const Node* node = c.graph().defining_node(x.id());
  return node && node->op == op ? node : nullptr;
}

Tensor operand(Call& c, const Node& node, size_t i) { return Tensor(&c.graph(), node.operands[i]); }

// A number of the file that is no weight, to the digits that exporters print.
bool is_number(Call& c, Tensor x, double number) {
  if (x.rank() != 0 || !maker(c, x, "constant")) return false;
  const Array* known = c.walk.find_known(x);
  return known && std::fabs(known->item() - number) < 1e-6 * number;
}

bool is_activation(Call& c, Tensor y, Activation act, Tensor x) {
  const Node* node = maker(c, y, "activation");
  return node && operand(c, *node, 0).id() == x.id() && activation_of(AttrReader(node->attrs)) == act;
}

// op(x, number), in either order where that is the same; or none.
Tensor beside_number(Call& c, Tensor y, std::string_view op, double number) {
  const Node* node = maker(c, y, op);
  if (!node) return {};
  const Tensor first = operand(c, *node, 0), second = operand(c, *node, 1);
  if (is_number(c, second, number)) return first;
  return op != "div" && is_number(c, first, number) ? second : Tensor();
}

// The x of 1 + erf(x / sqrt 2).
Tensor argument_of_cdf(Call& c, Tensor y) {
  const Tensor error = beside_number(c, y, "add", 1);
  const Node* erf = error ? maker(c, error, "erf") : nullptr;
  if (!erf) return {};
  const Tensor t = operand(c, *erf, 0), x = beside_number(c, t, "div", std::numbers::sqrt2);
  return x ? x : beside_number(c, t, "mul", 1 / std::numbers::sqrt2);
}

// The factors of a b, which may be products themselves.
std::vector<Tensor> factors(Call& c, Tensor a, Tensor b) {
  std::vector<Tensor> out;
  for (const Tensor t : {a, b}) {
    const Node* product = maker(c, t, "mul");
    if (product)
      out.push_back(operand(c, *product, 0)), out.push_back(operand(c, *product, 1));
    else
      out.push_back(t);
  }
  return out;
}

Tensor gelu_of(Call& c, Tensor a, Tensor b) {
  const std::vector<Tensor> all = factors(c, a, b);
  if (all.size() != 3) return {};
  for (const Tensor cdf : all) {
    const Tensor x = argument_of_cdf(c, cdf);
    if (!x) continue;
    const auto is_x = [&](Tensor t) { return t.id() == x.id(); };
    const auto is_half = [&](Tensor t) { return is_number(c, t, 0.5); };
    if (std::any_of(all.begin(), all.end(), is_x) && std::any_of(all.begin(), all.end(), is_half))
      return activation(x, Activation::kGelu);
  }
  return {};
}

}  // namespace

Tensor biased_product(Call& c, Tensor a, Tensor b) {
  for (const auto& [y, bias] : {std::pair(a, b), std::pair(b, a)}) {
    const Node* reshape_node = maker(c, y, "reshape");
    const Tensor plane = reshape_node ? operand(c, *reshape_node, 0) : y;
    const Node* product = maker(c, plane, "dot");
    if (!product || plane.rank() != 2 || bias.rank() != 1 || bias.dtype() != y.dtype()) continue;
    if (bias.dim(0) != plane.dim(1) || y.dim(-1) != plane.dim(1)) continue;
    const AttrReader how(product->attrs);
    if (how.flag("ta") || how.flag("tb") || plane.dtype() != operand(c, *product, 0).dtype()) continue;
    const Tensor sum = dot_bias_act(operand(c, *product, 0), operand(c, *product, 1), bias, {}, Activation::kNone, 0,
                                    {.precision = c.walk.precision()});
    return reshape_node ? reshape(sum, y.shape()) : sum;
  }
  return {};
}

Tensor spelled_out_activation(Call& c, Tensor a, Tensor b) {
  if (!is_float(a.dtype())) return {};
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    if (is_activation(c, y, Activation::kSigmoid, x)) return activation(x, Activation::kSilu);
    if (is_activation(c, y, Activation::kHardSigmoid, x)) return activation(x, Activation::kHardSwish);
  }
  return gelu_of(c, a, b);
}

}  // namespace tenon::onnx
