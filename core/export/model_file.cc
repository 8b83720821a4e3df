#include "export/model_file.h"

#include "base/strings.h"
#include "exported_model.pb.h"

namespace tenon {
namespace {

struct PutAttr {
  exported::Attribute& to;
  const std::vector<int64_t>& each;
  void put(exported::PerRows& number, int64_t base, size_t i) const {
    number.set_base(base);
    if (i < each.size()) number.set_each(each[i]);
  }
  void operator()(int64_t v) const { put(*to.mutable_integer(), v, 0); }
  void operator()(double v) const { to.set_real(v); }
  void operator()(bool v) const { to.set_boolean(v); }
  void operator()(DType v) const { to.set_dtype(static_cast<int>(v)); }
  void operator()(Enum v) const { to.set_enumerator(v.number); }
  void operator()(const std::string& v) const { to.set_data(v); }
  void operator()(const std::vector<int64_t>& v) const {
    to.mutable_list();
    for (size_t i = 0; i < v.size(); ++i) put(*to.mutable_list()->add_values(), v[i], i);
  }
};

void put(const PortableValue& value, exported::Value& to) {
  to.set_dtype(static_cast<int>(value.dtype));
  for (const PerRows& dim : value.dims) {
    exported::PerRows& number = *to.add_dims();
    number.set_base(dim.base);
    number.set_each(dim.each);
  }
}

void put(const PortableNode& node, exported::Node& to) {
  to.set_op(node.op);
  to.set_version(node.version);
  to.set_name(node.name);
  for (const int operand : node.operands) to.add_operands(operand);
  for (const int result : node.results) to.add_results(result);
  for (const PortableAttr& attr : node.attrs) {
    exported::Attribute& one = *to.add_attributes();
    one.set_name(attr.name);
    std::visit(PutAttr{one, attr.each}, attr.value);
  }
}

void put(const std::string& name, int value, bool variable, exported::Named& to) {
  to.set_name(name);
  to.set_value(value);
  to.set_variable(variable);
}

void put(const PortableGraph& graph, exported::Graph& to) {
  for (const PortableValue& value : graph.values) put(value, *to.add_values());
  for (const PortableInput& input : graph.inputs) put(input.name, input.value, input.variable, *to.add_inputs());
  for (const PortableNode& node : graph.nodes) put(node, *to.add_nodes());
  for (const PortableResult& result : graph.results) put(result.name, result.value, false, *to.add_results());
}

void put(const ServingValue& value, exported::ServingValue& to) {
  to.set_name(value.name);
  to.set_kind(static_cast<int>(value.kind));
  to.set_tensor(value.tensor);
  PortableValue type{value.type.dtype, {}};
  for (const int64_t size : value.type.shape.dims()) type.dims.push_back({size, 0});
  put(type, *to.mutable_type());
}

void put(const ServingSignature& signature, exported::Signature& to) {
  to.set_key(signature.key);
  to.set_method_name(signature.method_name);
  for (const ServingValue& value : signature.inputs) put(value, *to.add_inputs());
  for (const ServingValue& value : signature.outputs) put(value, *to.add_outputs());
}

void put(const ExportedImages& images, exported::Images& to) {
  to.set_feature(images.feature);
  to.set_height(images.height);
  to.set_width(images.width);
  to.set_channels(images.channels);
  to.set_range(static_cast<int>(images.range));
  to.set_resize(static_cast<int>(images.resize));
  to.set_alpha(static_cast<int>(images.alpha));
  to.set_background(images.background[0] << 16 | images.background[1] << 8 | images.background[2]);
}

}  // namespace

std::string to_bytes(const ModelFile& model) {
  exported::Model out;
  out.set_format(kModelFormat);
  put(model.graph, *out.mutable_graph());
  for (const ServingSignature& signature : model.signatures) put(signature, *out.add_signatures());
  if (model.images) put(*model.images, *out.mutable_images());
  return out.SerializeAsString();
}

}  // namespace tenon
