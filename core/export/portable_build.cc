// A graph for any number of rows, built like model code: by the ops, which check all that it says.
#include <algorithm>

#include "base/strings.h"
#include "export/portable_graph.h"
#include "op/op.h"
#include "tenon/variables.h"

namespace tenon {
namespace {

class Builder {
 public:
  Builder(const PortableGraph& graph, const Features& features) : graph_(graph), values_(graph.values.size()) {
    find_rows(features);
    for (const PortableInput& input : graph.inputs)
      if (!input.variable) at(input.value) = feature(input, features);
    for (const PortableInput& input : graph.inputs)
      if (input.variable) at(input.value) = weight(input);
  }

  Outputs run() {
    for (const PortableNode& node : graph_.nodes) add(node);
    Outputs out;
    for (const PortableResult& result : graph_.results)
      out.add(result.name, {at(result.value), ResultMode::kLast, Joining::kRows});
    return out;
  }

 private:
  Tensor& at(int value) { return values_[static_cast<size_t>(value)]; }
  const PortableValue& value(int id) const { return graph_.values[static_cast<size_t>(id)]; }

  // The rows are told by the first feature that has them.
  void find_rows(const Features& features) {
    for (const PortableInput& input : graph_.inputs) {
      if (input.variable) continue;
      const Tensor given = features[input.name];
      like_ = given;
      const std::vector<PerRows>& dims = value(input.value).dims;
      const auto rows = std::find_if(dims.begin(), dims.end(), [](const PerRows& d) { return d.each != 0; });
      if (rows == dims.end() || given.rank() != static_cast<int>(dims.size())) continue;
      rows_ = (given.dim(static_cast<int>(rows - dims.begin())) - rows->base) / rows->each;
      return;
    }
    if (!like_) fail("an exported graph has no features");
  }

  Tensor feature(const PortableInput& input, const Features& features) const {
    const Tensor given = features[input.name];
    const Type expected = value(input.value).at(rows_);
    if (!(given.type() == expected))
      fail("input '", input.name, "' is ", given.type().str(), ", expected ", expected.str());
    return given;
  }

  Tensor weight(const PortableInput& input) const {
    const Type type = value(input.value).at(rows_);
    return variable(like_, input.name, type.shape, Initializer(), false, type.dtype);
  }

  void add(const PortableNode& portable) {
    Node node;
    node.op = portable.op;
    node.version = portable.version;
    node.name = portable.name;
    for (const PortableAttr& attr : portable.attrs) node.attrs.push_back({attr.name, attr.at(rows_)});
    Tensors operands;
    for (const int operand : portable.operands) operands.push_back(operand < 0 ? Tensor() : at(operand));
    const Tensors results = emit(*like_.graph(), std::move(node), operands);
    if (results.size() != portable.results.size())
      fail(portable.op, " '", portable.name, "': has ", results.size(), " results, the file says ",
           portable.results.size());
    for (size_t r = 0; r < results.size(); ++r) {
      const Type said = value(portable.results[r]).at(rows_);
      if (!(results[r].type() == said))
        fail(portable.op, " '", portable.name, "': gives ", results[r].type().str(), ", the file says ", said.str());
      at(portable.results[r]) = results[r];
    }
  }

  const PortableGraph& graph_;
  std::vector<Tensor> values_;
  Tensor like_;
  int64_t rows_ = 0;
};

}  // namespace

Outputs build(const PortableGraph& graph, const Features& features) { return Builder(graph, features).run(); }

}  // namespace tenon
