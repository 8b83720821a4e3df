// What the core knows of an op beside its row of the table of ops and its rule of shapes (tenon/op/infer.h): decomposition
// and gradient.
//
// One op, one file: core/op/*/NAME.cc defines `extern const OpDef kOpName` of a row of tenon/op/table.h (an op and its
// gradient op may share a file). Rules throw tenon::Error through the context's fail(), which names the op and the node.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "graph/graph.h"
#include "tenon/op/enumerations.h"
#include "tenon/op/infer.h"
#include "tenon/op/names.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"
#include "tenon/tensor.h"

namespace tenon {

struct OpDef;

// The attributes of a node, read by name. Defaults are filled in before rules run, so reading an
// attribute of the signature never misses.
class AttrReader {
 public:
  explicit AttrReader(const Attrs& attrs) : attrs_(attrs) {}
  int64_t i64(std::string_view name) const { return get<int64_t>(name); }
  double f64(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  int enumerator(std::string_view name) const { return get<Enum>(name).number; }
  const std::vector<int64_t>& list(std::string_view name) const { return get<std::vector<int64_t>>(name); }
  const std::string& bytes(std::string_view name) const { return get<std::string>(name); }
  const Attrs& attrs() const { return attrs_; }

 private:
  template <class T>
  const T& get(std::string_view name) const {
    const AttrValue* value = find_attr(attrs_, name);
    const T* typed = value ? std::get_if<T>(value) : nullptr;
    if (!typed) fail("attribute '", name, "' is missing or of another type");
    return *typed;
  }
  const Attrs& attrs_;
};

// A node seen from outside, with tensors to go on with.
class NodeContext : public AttrReader {
 public:
  NodeContext(Graph& graph, const Attrs& attrs, Tensors in, Tensors out)
      : AttrReader(attrs), graph_(graph), in_(std::move(in)), out_(std::move(out)) {}
  Graph& graph() const { return graph_; }
  int operands() const { return static_cast<int>(in_.size()); }
  bool has(int i) const { return i < operands() && in_[i]; }
  // Operand i; an empty tensor when it is absent.
  Tensor in(int i) const { return i < operands() ? in_[i] : Tensor(); }
  const Tensors& inputs() const { return in_; }

 protected:
  Graph& graph_;
  Tensors in_, out_;
};

// Given to a decomposition, which returns one tensor a result.
class Decompose : public NodeContext {
 public:
  using NodeContext::NodeContext;
};

// Given to a gradient rule, which returns one tensor an operand (empty: no gradient flows there). A
// composite's rule that returns none at all passes: the decomposition is differentiated instead.
class Gradient : public NodeContext {
 public:
  Gradient(Graph& graph, const Attrs& attrs, Tensors in, Tensors out, Tensors grads, std::vector<bool> needed)
      : NodeContext(graph, attrs, std::move(in), std::move(out)),
        grads_(std::move(grads)),
        needed_(std::move(needed)) {}
  Tensor out(int i) const { return out_[i]; }
  // Gradient of result i; empty when nothing that is differentiated depends on it.
  Tensor g(int i) const { return grads_[i]; }
  // Whether anybody wants the gradient of operand i.
  bool needs(int i) const { return i < static_cast<int>(needed_.size()) && needed_[i]; }

 private:
  Tensors grads_;
  std::vector<bool> needed_;
};

// The signature of an op (tenon/op/signature.h), with the values that absent attributes have.
struct Signature {
  using Operand = op::Signature::Operand;
  struct Attribute {
    std::string name;
    std::string type;
    bool required = true;
    AttrValue missing;
    const op::Enumeration* numbers = nullptr;  // of an enum
  };
  std::vector<Operand> operands;
  std::vector<Attribute> attributes;
  std::vector<op::Signature::Result> results;
  op::ShapeRule shape_rule = nullptr;
};

// What the core does with an op beside its row of the table of ops (tenon/op/table.h), whose name it has: a name that has no
// row does not compile.
struct OpDef {
  using DecomposeRule = Tensors (*)(const Decompose&);
  using GradientRule = Tensors (*)(const Gradient&);

  constexpr OpDef(std::string_view op, DecomposeRule decompose = nullptr, GradientRule gradient = nullptr)
      : row(op::row(op)), name(row.name), decompose(decompose), gradient(gradient) {}

  const op::Row& row;
  std::string_view name;
  DecomposeRule decompose;  // null: a primitive
  GradientRule gradient;    // null: not differentiable (a primitive), or through its decomposition (a composite)
  int version = 1;

  bool primitive() const { return decompose == nullptr; }
};

// All ops, in the order of the documentation.
std::span<const OpDef* const> all_ops();
// nullptr when there is none of that name and version.
const OpDef* find_op(std::string_view name, int version = 1);
const Signature& signature_of(const OpDef& op);
// Whether other nodes can come in the node's place.
bool has_decomposition(const Node& node);

// Checks operands and attributes against the signature, fills in defaults and infers the results.
// Throws Error naming op and node.
std::vector<Type> infer(const Graph& graph, Node& node);
// The last step of it. REQUIRED: operands and attributes are those of the signature.
std::vector<Type> infer_by_rule(const Graph& graph, const Node& node, const Signature& signature);

// Adds a node with these operands, and with op, attributes and perhaps a name; its results.
Tensors emit(Graph& graph, Node node, const Tensors& operands);
// Adds a node and returns its results. `operands` may contain empty tensors for absent optional ones.
Tensors emit(Graph& graph, std::string_view op, const Tensors& operands, Attrs attrs = {}, std::string_view name = {});
// The same for an op of one result; the graph is that of the first operand that is there.
Tensor emit1(std::string_view op, const Tensors& operands, Attrs attrs = {}, std::string_view name = {});
Tensors emit_all(std::string_view op, const Tensors& operands, Attrs attrs = {}, std::string_view name = {});

// Every node: known op, operands defined before, types as inferred, unique name; results and aliases
// in range and of equal type.
Status verify(const Graph& graph);

}  // namespace tenon
