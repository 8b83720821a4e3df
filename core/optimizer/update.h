// The inside of Update, and the built-in optimizers' way to make one: an op of the backends.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "op/op.h"
#include "optimizer/dealt.h"
#include "optimizer/optimizer_names.h"
#include "tenon/optimizers.h"

namespace tenon {

// Tensors of the variable's own dtype, and operands as the update ops take them (op/update/update_rules.h).
struct Update::Inside {
  Graph& graph;
  const OptimizerNames& names;
  const std::string& optimizer;  // for messages
  std::string name;              // of the variable
  Tensor value;                  // after weight decay
  Tensor gradient, rate, step;
  const Dealt* dealt =
      nullptr;          // where value, gradient and slots of its shape are this replica's part; null: all of them
  Tensor scale, gate;   // absent: 1, true
  bool decays = false;  // weight decay does not leave it out
  std::map<std::string, Tensor, std::less<>> slots = {};
  Tensor next = {};  // that was assigned, of the shape that `value` has

  const Shape& shape() const { return dealt ? dealt->whole() : value.shape(); }  // of the variable
  Tensor slot(std::string_view slot, const Type& type, double initial);
};

// `next` where the gate is true or absent, else `old`.
Tensor gated(Tensor gate, Tensor next, Tensor old);

struct FusedUpdate {
  struct Slot {
    std::string name;  // the checkpoint's suffix: "Adam"
    double initial = 0;
    bool scalar = false;  // rank 0, as Nadam's running product
  };
  std::string op;  // "adam_update"
  Attrs attrs;
  std::vector<Slot> slots;  // adafactor_update makes its own
};
void update_by_op(const FusedUpdate& fused, Update& update);

// Whether one of the regular expressions is found in the name. Throws Error, naming `what`, where one is none.
bool any_found(const std::vector<std::string>& patterns, const std::string& name, std::string_view what);

}  // namespace tenon
