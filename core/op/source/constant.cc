#include "op/rules.h"

namespace tenon {
namespace constant_op {

void shape_rule(Infer& c) {
  const Type type{c.dtype("dtype"), Shape(c.list("shape"))};
  const int64_t size = static_cast<int64_t>(c.bytes("value").size());
  c.expect(type.dtype != DType::kNone, "attribute 'dtype' is no dtype");
  c.expect(size == type.bytes() || size == dtype_bytes(type.dtype), "value has ", size, " bytes, expected ",
           type.bytes(), " for ", type.str(), " or ", dtype_bytes(type.dtype), " for one element");
  c.result(type);
}

}  // namespace constant_op

extern const OpDef kConstant;
constexpr OpDef kConstant = {"constant", constant_op::shape_rule, nullptr, nullptr};

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
