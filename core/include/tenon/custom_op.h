// Ops that are none of Tenon's, in model code by their names: what a device's vendor has a kernel for.
//
//   Tensor softsign(Tensor x) {
//     return custom_op("acme.softsign", {x}, {}, {x.type()},
//                      {.gradient =
//                           [](const CustomGradient& g) { return Tensors{g.gradients[0] / square(1 + abs(g.inputs[0]))}; },
//                       .decomposition = [](const Tensors& in) { return Tensors{in[0] / (1 + abs(in[0]))}; }})[0];
//   }
//
// A device is asked whether it has the op as it is asked for Tenon's own. One that has not gets the decomposition in
// its place; without a decomposition the model does not run there, and the error says which op and which node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// An attribute of a node: a number, a flag, a dtype, bytes or a list.
struct CustomAttribute {
  std::string name;
  std::variant<int64_t, double, bool, DType, std::string, std::vector<int64_t>> value;
};

// What a gradient is made of. Absent inputs are empty tensors, and so are gradients of results on which the loss does
// not depend.
struct CustomGradient {
  Tensors inputs, results;
  Tensors gradients;  // of the loss by each result
};

// Functions of tensors. They are kept as long as a graph has the node, and called when a model is traced and compiled,
// on the thread that does so: what they capture is copied, and they capture no tensors. They make no variables, draw no
// numbers and exchange nothing with other units.
struct CustomRules {
  // The gradient by each input, empty where none flows. Without it the decomposition is differentiated.
  std::function<Tensors(const CustomGradient&)> gradient = {};
  // The results, of the types that were said. Of inputs with dynamic dimensions it always takes the op's place.
  std::function<Tensors(const Tensors& inputs)> decomposition = {};
};

// A node of that op, version 1, and its results, of the types that are given. The name begins with the vendor's and has
// a dot in it: "acme.softsign", lower-case letters, digits and _. Name and attributes say all that the op does: two
// nodes that agree in them, inputs and types may become one. Inputs may be empty tensors but for one, absent to the
// device. Of several units each computes its own. Throws Error for a name, attribute or type that cannot be; where a
// gradient is wanted, for a node that has neither function; and for a function that gives another number of tensors or
// other types.
Tensors custom_op(std::string_view name, const Tensors& inputs, const std::vector<CustomAttribute>& attributes,
                  const std::vector<Type>& results, CustomRules rules = {});

}  // namespace tenon
