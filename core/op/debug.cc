#include "tenon/debug.h"

#include "base/strings.h"
#include "graph/graph.h"
#include "tenon/status.h"

namespace tenon {
namespace {

std::string name_of_tensor(Tensor x, std::string_view function) {
  if (!x) fail(function, ": there is no tensor");
  const Graph& graph = *x.graph();
  const Node* node = graph.defining_node(x.id());
  return node ? node->name : graph.inputs[static_cast<size_t>(graph.values[static_cast<size_t>(x.id())].index)].name;
}

}  // namespace

Tensor print(Tensor x, std::string_view name) {
  const std::string from = name_of_tensor(x, "print");
  x.graph()->watches.push_back({x.id(), name.empty() ? from : std::string(name), false});
  return x;
}

Tensor check_numerics(Tensor x, std::string_view message) {
  const std::string from = name_of_tensor(x, "check_numerics");
  if (!is_float(x.dtype())) fail("check_numerics: '", from, "' is ", x.type().str(), ", expected floats");
  x.graph()->watches.push_back(
      {x.id(), cat(message, message.empty() ? "'" : " ('", from, message.empty() ? "'" : "')"), true});
  return x;
}

}  // namespace tenon
