// The layers of a functional model in the order in which Keras lists them, and what each is connected to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layer/object/symbol.h"

namespace tenon {

struct OrderedLayer {
  std::string key;                         // of the layer, the same for all that it is called on
  std::vector<const Symbol::Node*> calls;  // in the order in which they were made
};

struct ModelOrder {
  std::vector<OrderedLayer> layers;
  bool branching = false;  // not one behind the other, each called once
};

// `key_of` names the layer of a node.
ModelOrder order_of(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs,
                    const std::function<std::string(const Symbol::Node&)>& key_of);

}  // namespace tenon
