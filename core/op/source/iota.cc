#include "op/rules.h"

namespace tenon {
namespace iota_op {

void shape_rule(Infer& c) {
  const Shape shape(c.list("shape"));
  const DType dtype = c.dtype("dtype");
  c.expect(is_float(dtype) || is_integer(dtype), "dtype is ", dtype_name(dtype), ", expected a float or integer");
  c.expect(c.i64("axis") >= 0 && c.i64("axis") < shape.rank(), "axis ", c.i64("axis"), " is out of range for ",
           shape.str());
  c.result(dtype, shape);
}

}  // namespace iota_op

extern const OpDef kIota;
constexpr OpDef kIota = {"iota", iota_op::shape_rule, nullptr, nullptr};

Tensor iota(Graph& graph, DType dtype, const Shape& shape, int64_t axis) {
  return emit(graph, "iota", {}, {{"shape", shape.vec()}, {"axis", axis}, {"dtype", dtype}})[0];
}

}  // namespace tenon
