#include "op/rules.h"

namespace tenon {

extern const OpDef kConstant;
constexpr OpDef kConstant = {"constant"};

Tensor constant(Graph& graph, const Type& type, std::string_view bytes) {
  return emit(graph, "constant", {},
              {{"value", std::string(bytes)}, {"shape", type.shape.vec()}, {"dtype", type.dtype}})[0];
}

Tensor constant(const Array& value) {
  Graph* graph = graph_being_built();
  if (!graph) fail("constant: no function is being traced");
  return constant(*graph, value.type(), {reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size()});
}

}  // namespace tenon
