#include "export/tensorflow/image/image_nodes.h"

namespace tenon::tensorflow {

FunctionDef& add_function(FunctionDefLibrary& library, const char* name, const std::vector<FunctionArgument>& in,
                          const std::vector<FunctionArgument>& out) {
  FunctionDef& function = *library.add_function();
  OpDef& signature = *function.mutable_signature();
  signature.set_name(name);
  const auto add = [](OpDef::ArgDef& to, const FunctionArgument& from) {
    to.set_name(from.name);
    to.set_type(from.type);
  };
  for (const FunctionArgument& argument : in) add(*signature.add_input_arg(), argument);
  for (const FunctionArgument& argument : out) add(*signature.add_output_arg(), argument);
  return function;
}

Ref ImageNodes::binary(std::string_view op, const Ref& a, const Ref& b, DataType type) {
  return nodes_.add(op, {a, b}, {type_field("T", type)}, "z");
}

Ref ImageNodes::cast(const Ref& x, DataType from, DataType to) {
  return nodes_.add("Cast", {x}, {type_field("SrcT", from), type_field("DstT", to), flag_field("Truncate", false)},
                    "y");
}

Ref ImageNodes::reshape(const Ref& x, DataType type, const Ref& shape) {
  return nodes_.add("Reshape", {x, shape}, {type_field("T", type), type_field("Tshape", DT_INT32)});
}

Ref ImageNodes::shape_of(const Ref& x, DataType type) {
  return nodes_.add("Shape", {x}, {type_field("T", type), type_field("out_type", DT_INT32)});
}

Ref ImageNodes::part(const Ref& list, int64_t begin, int64_t end) {
  return nodes_.add("StridedSlice", {list, nodes_.ints({begin}), nodes_.ints({end}), nodes_.ints({1})},
                    {type_field("T", DT_INT32), type_field("Index", DT_INT32), number_field("begin_mask", 0),
                     number_field("end_mask", end == 0), number_field("ellipsis_mask", 0),
                     number_field("new_axis_mask", 0), number_field("shrink_axis_mask", 0)});
}

Ref ImageNodes::concat(const Ref& a, const Ref& b, DataType type, int64_t axis) {
  return nodes_.add("ConcatV2", {a, b, nodes_.whole(axis)},
                    {number_field("N", 2), type_field("T", type), type_field("Tidx", DT_INT32)});
}

Ref ImageNodes::gather(const Ref& x, DataType type, const Ref& indices, int64_t axis) {
  return nodes_.add("GatherV2", {x, indices, nodes_.whole(axis)},
                    {type_field("Tparams", type), type_field("Tindices", DT_INT32), type_field("Taxis", DT_INT32),
                     number_field("batch_dims", 0)});
}

Ref ImageNodes::vector(const std::vector<float>& values) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return nodes_.constant(tensor_proto(DType::kF32, {static_cast<int64_t>(values.size())}, bytes));
}

}  // namespace tenon::tensorflow
