#include "export/onnx/graph_proto.h"

#include "base/strings.h"
#include "op/rules.h"

namespace tenon::onnx::out {
namespace {

Field field_of(std::string name, AttributeProto::AttributeType type) {
  Field field;
  field.set_name(std::move(name));
  field.set_type(type);
  return field;
}

}  // namespace

Field number_field(std::string name, int64_t value) {
  Field field = field_of(std::move(name), AttributeProto::INT);
  field.set_i(value);
  return field;
}

Field real_field(std::string name, double value) {
  Field field = field_of(std::move(name), AttributeProto::FLOAT);
  field.set_f(static_cast<float>(value));
  return field;
}

Field text_field(std::string name, std::string_view value) {
  Field field = field_of(std::move(name), AttributeProto::STRING);
  field.set_s(std::string(value));
  return field;
}

Field list_field(std::string name, const std::vector<int64_t>& values) {
  Field field = field_of(std::move(name), AttributeProto::INTS);
  field.mutable_ints()->Add(values.begin(), values.end());
  return field;
}

Field reals_field(std::string name, const std::vector<double>& values) {
  Field field = field_of(std::move(name), AttributeProto::FLOATS);
  for (const double value : values) field.add_floats(static_cast<float>(value));
  return field;
}

int32_t data_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return TensorProto::FLOAT;
    case DType::kBF16:
      return TensorProto::BFLOAT16;
    case DType::kF16:
      return TensorProto::FLOAT16;
    case DType::kF64:
      return TensorProto::DOUBLE;
    case DType::kI32:
      return TensorProto::INT32;
    case DType::kI64:
      return TensorProto::INT64;
    case DType::kU8:
      return TensorProto::UINT8;
    case DType::kBool:
      return TensorProto::BOOL;
    case DType::kNone:
      break;
  }
  return TensorProto::UNDEFINED;
}

TensorProto tensor_proto(DType dtype, const std::vector<int64_t>& dims, std::string_view bytes) {
  TensorProto tensor;
  tensor.set_data_type(data_type(dtype));
  size_t elements = 1;
  for (const int64_t dim : dims) {
    tensor.add_dims(dim);
    elements *= static_cast<size_t>(dim);
  }
  std::string& raw = *tensor.mutable_raw_data();
  const bool fills = bytes.size() == static_cast<size_t>(dtype_bytes(dtype));
  raw.reserve(fills ? elements * bytes.size() : bytes.size());
  for (size_t i = 0; i < (fills ? elements : 1); ++i) raw += bytes;
  return tensor;
}

void NodeWriter::set_scope(std::string_view scope) { scope_ = scope.empty() ? "" : cat(scope, "/"); }

Ref NodeWriter::unique(std::string name) {
  if (names_.insert(name).second) return name;
  int& next = next_[name];
  for (;;)
    if (std::string other = cat(name, "_", ++next); names_.insert(other).second) return other;
}

std::vector<Ref> NodeWriter::add_all(std::string_view op, const std::vector<Ref>& inputs, Fields fields, int results) {
  const Ref name = unique(cat(scope_, op));
  std::vector<Ref> out = {name};
  for (int r = 1; r < results; ++r) out.push_back(unique(cat(name, ":", r)));
  NodeProto& node = *graph_->add_node();
  node.set_name(name);
  node.set_op_type(std::string(op));
  for (const Ref& input : inputs) node.add_input(input);
  for (const Ref& result : out) node.add_output(result);
  for (Field& field : fields) *node.add_attribute() = std::move(field);
  return out;
}

void NodeWriter::add_named(const Ref& name, std::string_view op, const std::vector<Ref>& inputs, Fields fields) {
  NodeProto& node = *graph_->add_node();
  node.set_name(name);
  node.set_op_type(std::string(op));
  for (const Ref& input : inputs) node.add_input(input);
  node.add_output(name);
  for (Field& field : fields) *node.add_attribute() = std::move(field);
}

void NodeWriter::initializer(const Ref& name, TensorProto value) {
  value.set_name(name);
  *graph_->add_initializer() = std::move(value);
}

Ref NodeWriter::constant(TensorProto value) {
  const Ref name = unique(cat(scope_, "constant"));
  initializer(name, std::move(value));
  return name;
}

Ref NodeWriter::shared(const std::string& name, TensorProto value) {
  const auto [at, made] = shared_.try_emplace(value.SerializeAsString());
  if (made) {
    at->second = unique(name);
    initializer(at->second, std::move(value));
  }
  return at->second;
}

Ref NodeWriter::ints(const std::vector<int64_t>& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
  return shared(cat("[", join(values), "]"), tensor_proto(DType::kI64, {static_cast<int64_t>(values.size())}, bytes));
}

Ref NodeWriter::whole(int64_t value) {
  const std::string_view bytes(reinterpret_cast<const char*>(&value), sizeof value);
  return shared(cat(value), tensor_proto(DType::kI64, {}, bytes));
}

Ref NodeWriter::scalar(DType dtype, double value) {
  return shared(cat(dtype_name(dtype), " ", value), tensor_proto(dtype, {}, element(dtype, value)));
}

}  // namespace tenon::onnx::out
