#include "export/tensorflow/graph_def.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "op/rules.h"
#include "tenon/tensorflow_types.h"

namespace tenon::tensorflow {

DataType data_type(DType dtype) { return static_cast<DataType>(tensorflow_number(dtype)); }

TensorShapeProto shape_proto(const std::vector<int64_t>& dims) {
  TensorShapeProto shape;
  for (const int64_t dim : dims) shape.add_dim()->set_size(dim);
  return shape;
}

namespace {

template <class Set>
Field field_of(std::string name, const Set& set) {
  Field field{std::move(name), {}};
  set(field.second);
  return field;
}

}  // namespace

Field type_field(std::string name, DataType type) {
  return field_of(std::move(name), [&](AttrValue& v) { v.set_type(type); });
}
Field type_field(std::string name, DType dtype) { return type_field(std::move(name), data_type(dtype)); }
Field flag_field(std::string name, bool value) {
  return field_of(std::move(name), [&](AttrValue& v) { v.set_b(value); });
}
Field number_field(std::string name, int64_t value) {
  return field_of(std::move(name), [&](AttrValue& v) { v.set_i(value); });
}
Field real_field(std::string name, double value) {
  return field_of(std::move(name), [&](AttrValue& v) { v.set_f(static_cast<float>(value)); });
}
Field text_field(std::string name, std::string_view value) {
  return field_of(std::move(name), [&](AttrValue& v) { v.set_s(std::string(value)); });
}
Field list_field(std::string name, const std::vector<int64_t>& values) {
  return field_of(std::move(name),
                  [&](AttrValue& v) { v.mutable_list()->mutable_i()->Add(values.begin(), values.end()); });
}
Field shape_field(std::string name, const std::vector<int64_t>& dims) {
  return field_of(std::move(name), [&](AttrValue& v) { *v.mutable_shape() = shape_proto(dims); });
}
Field function_field(std::string name, std::string_view function) {
  return field_of(std::move(name), [&](AttrValue& v) { v.mutable_func()->set_name(std::string(function)); });
}

namespace {

template <class T>
T number_in(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// One element for the whole shape.
void set_splat(TensorProto& tensor, DType dtype, std::string_view bytes) {
  switch (dtype) {
    case DType::kF32:
      return tensor.add_float_val(number_in<float>(bytes));
    case DType::kF64:
      return tensor.add_double_val(number_in<double>(bytes));
    case DType::kBF16:
    case DType::kF16:
      return tensor.add_half_val(number_in<uint16_t>(bytes));
    case DType::kI32:
      return tensor.add_int_val(number_in<int32_t>(bytes));
    case DType::kI64:
      return tensor.add_int64_val(number_in<int64_t>(bytes));
    case DType::kU8:
      return tensor.add_int_val(number_in<uint8_t>(bytes));
    case DType::kBool:
      return tensor.add_bool_val(bytes[0] != 0);
    case DType::kNone:
      return;
  }
}

}  // namespace

TensorProto tensor_proto(DType dtype, const std::vector<int64_t>& dims, std::string_view bytes) {
  TensorProto tensor;
  tensor.set_dtype(data_type(dtype));
  *tensor.mutable_tensor_shape() = shape_proto(dims);
  if (static_cast<int64_t>(bytes.size()) == dtype_bytes(dtype))
    set_splat(tensor, dtype, bytes);
  else
    tensor.set_tensor_content(std::string(bytes));
  return tensor;
}

TensorProto string_proto(const std::vector<std::string>& values) {
  TensorProto tensor;
  tensor.set_dtype(DT_STRING);
  *tensor.mutable_tensor_shape() = shape_proto({static_cast<int64_t>(values.size())});
  for (const std::string& value : values) tensor.add_string_val(value);
  return tensor;
}

TensorProto string_scalar(std::string_view value) {
  TensorProto tensor;
  tensor.set_dtype(DT_STRING);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(std::string(value));
  return tensor;
}

std::string node_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '/' || c == '-';
    name += plain ? c : '_';
  }
  const bool starts = !name.empty() && (std::isalnum(static_cast<unsigned char>(name[0])) || name[0] == '.');
  return starts ? name : "n" + name;
}

void NodeWriter::set_scope(std::string_view scope) { scope_ = scope.empty() ? "" : node_name(scope) + "/"; }

std::string NodeWriter::unique(std::string name) {
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  if (names_.insert(lower(name)).second) return name;
  int& next = next_[lower(name)];
  for (;;)
    if (std::string other = cat(name, "_", ++next); names_.insert(lower(other)).second) return other;
}

Ref NodeWriter::add(std::string_view op, const std::vector<Ref>& inputs, Fields fields, std::string_view result) {
  return add_named(scope_ + std::string(op), op, inputs, std::move(fields), result);
}

Ref NodeWriter::add_named(std::string_view name, std::string_view op, const std::vector<Ref>& inputs, Fields fields,
                          std::string_view result) {
  NodeDef& node = *nodes_->Add();
  node.set_name(unique(node_name(name)));
  node.set_op(std::string(op));
  for (const Ref& input : inputs) node.add_input(input);
  for (Field& field : fields) (*node.mutable_attr())[field.first] = std::move(field.second);
  return in_function_ ? cat(node.name(), ":", result, ":0") : node.name();
}

Ref NodeWriter::result(const Ref& first, int k, std::string_view name) const {
  return in_function_ ? cat(node_of(first), ":", name, ":0") : cat(first, ":", k);
}

Ref NodeWriter::constant(TensorProto value) {
  Fields fields = {type_field("dtype", value.dtype()), {"value", {}}};
  *fields[1].second.mutable_tensor() = std::move(value);
  return add("Const", {}, std::move(fields));
}

Ref NodeWriter::shared(const std::string& key, const TensorProto& value) {
  const auto [at, made] = shared_.try_emplace(key);
  if (made) at->second = constant(value);
  return at->second;
}

Ref NodeWriter::ints(const std::vector<int64_t>& values) {
  TensorProto tensor;
  tensor.set_dtype(DT_INT32);
  *tensor.mutable_tensor_shape() = shape_proto({static_cast<int64_t>(values.size())});
  for (const int64_t value : values) tensor.add_int_val(static_cast<int32_t>(value));
  return shared(cat("[", join(values), "]"), tensor);
}

Ref NodeWriter::whole(int64_t value) {
  return shared(cat(value), tensor_proto(DType::kI32, {}, element(DType::kI32, static_cast<double>(value))));
}

Ref NodeWriter::scalar(DType dtype, double value) {
  const std::string bytes = element(dtype, value);
  return shared(cat(dtype_name(dtype), " ", bytes), tensor_proto(dtype, {}, bytes));
}

}  // namespace tenon::tensorflow
