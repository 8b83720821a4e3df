// The inside of a Symbol.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tenon/model.h"

namespace tenon {

// An input, or a layer and what it is called on.
struct Symbol::Node {
  uint64_t number;  // in the order in which they were made
  std::optional<AnyLayer> layer;
  std::vector<Symbol> from;
  Type example = {};  // of an input; 0 where it has any size
  std::string name = {};
  std::vector<int> any_size = {};  // such axes of the example
  CallOptions options = {};        // of the layer's call
  bool is_any(int axis) const { return std::find(any_size.begin(), any_size.end(), axis) != any_size.end(); }
  std::string example_text() const;  // "i32[?]"
};

// The place of an Input() in a Sequential: it takes a batch of such examples and gives it as it is.
class InputLayer : public Layer {
 public:
  explicit InputLayer(Symbol input)
      : Layer(input.node().name.empty() ? "input_layer" : input.node().name), input_(std::move(input)) {}
  const Symbol& input() const { return input_; }
  Tensor call(Tensor x) override { return x; }

 private:
  Symbol input_;
};

}  // namespace tenon
