// Messages become plain data. Nothing of the file is believed.
#include <algorithm>

#include "base/file/file.h"
#include "base/strings.h"
#include "checkpoint/within_memory.h"
#include "import/onnx/file/copy.h"
#include "import/onnx/file/onnx_model_file.h"
#include "import/onnx/file/order.h"
#include "import/onnx/file/scan.h"
#include "import/onnx/file/tensor_data.h"
#include "onnx.pb.h"
#include "tenon/text.h"

namespace tenon::onnx {
namespace {

std::string domain_of(const std::string& name) { return name == "ai.onnx" ? "" : name; }

class Parse {
 public:
  explicit Parse(ExternalFiles& files) : files_(files) {}

  Status graph(GraphProto& from, GraphData& to) {
    for (TensorProto& tensor : *from.mutable_initializer()) {
      TENON_ASSIGN(TensorData data, tensor_of(tensor, files_));
      to.initializers.push_back(std::move(data));
    }
    if (from.sparse_initializer_size() > 0) return invalid("has sparse initializers, which Tenon has not");
    for (const auto* values : {&from.input(), &from.output()})
      for (const ValueInfoProto& value : *values) {
        TENON_TRY(check_name(value.name(), "an input or output"));
        for (const auto& dim : value.type().tensor_type().shape().dim())
          TENON_TRY(check_name(dim.dim_param(), "a dimension"));
      }
    std::map<std::string_view, int> given;
    for (const TensorData& data : to.initializers) given[data.name] = 1;
    for (const ValueInfoProto& value : from.input())
      if (given.count(value.name()) == 0) to.inputs.push_back(value_of(value));
    for (const ValueInfoProto& value : from.output()) to.outputs.push_back(value_of(value));
    return nodes(*from.mutable_node(), to.nodes);
  }

  template <class List>
  Status nodes(List& from, std::vector<NodeData>& to) {
    to.reserve(static_cast<size_t>(from.size()));
    for (NodeProto& node : from) {
      to.emplace_back();
      TENON_TRY(take(node, to.back()));
      node.Clear();
    }
    return {};
  }

  Status attr(AttributeProto& from, AttrData& to) {
    using Kind = AttrData::Kind;
    to.name = from.name();
    to.refers_to = from.ref_attr_name();
    const auto type = from.type() != AttributeProto::UNDEFINED ? from.type() : guessed(from);
    switch (type) {
      case AttributeProto::FLOAT:
        return to.kind = Kind::kReal, to.reals = {from.f()}, Status();
      case AttributeProto::INT:
        return to.kind = Kind::kInteger, to.integers = {from.i()}, Status();
      case AttributeProto::STRING:
        return to.kind = Kind::kText, to.texts = {from.s()}, Status();
      case AttributeProto::FLOATS:
        return to.kind = Kind::kReals, to.reals.assign(from.floats().begin(), from.floats().end()), Status();
      case AttributeProto::INTS:
        return to.kind = Kind::kIntegers, to.integers.assign(from.ints().begin(), from.ints().end()), Status();
      case AttributeProto::STRINGS:
        return to.kind = Kind::kTexts, to.texts.assign(from.strings().begin(), from.strings().end()), Status();
      case AttributeProto::TENSOR: {
        if (!to.refers_to.empty() && !from.has_t()) return to.kind = Kind::kTensor, Status();
        TENON_ASSIGN(TensorData data, tensor_of(*from.mutable_t(), files_));
        to.kind = Kind::kTensor;
        to.tensor = std::make_shared<const TensorData>(std::move(data));
        return {};
      }
      case AttributeProto::GRAPH: {
        GraphData body;
        TENON_TRY(graph(*from.mutable_g(), body));
        to.kind = Kind::kGraph;
        to.graph = std::make_shared<const GraphData>(std::move(body));
        return {};
      }
      default:
        return {};
    }
  }

  static ValueData value_of(const ValueInfoProto& from) {
    ValueData out;
    out.name = from.name();
    if (!from.has_type() || !from.type().has_tensor_type()) return out;
    const TypeProto::Tensor& tensor = from.type().tensor_type();
    out.element = static_cast<Element>(tensor.elem_type());
    out.has_shape = tensor.has_shape();
    for (const auto& dim : tensor.shape().dim())
      out.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? DimData{dim.dim_value(), ""}
                                                                     : DimData{-1, dim.dim_param()});
    return out;
  }

 private:
  // Files of the first versions say no type.
  static AttributeProto::AttributeType guessed(const AttributeProto& from) {
    if (from.has_f()) return AttributeProto::FLOAT;
    if (from.has_i()) return AttributeProto::INT;
    if (from.has_s()) return AttributeProto::STRING;
    if (from.has_t()) return AttributeProto::TENSOR;
    if (from.has_g()) return AttributeProto::GRAPH;
    if (from.floats_size() > 0) return AttributeProto::FLOATS;
    if (from.strings_size() > 0) return AttributeProto::STRINGS;
    return AttributeProto::INTS;
  }

  static Status check_names(const NodeProto& node) {
    TENON_TRY(check_name(node.op_type(), "an op"));
    TENON_TRY(check_name(node.domain(), "a domain"));
    TENON_TRY(check_name(node.name(), "a node"));
    for (const auto* values : {&node.input(), &node.output()})
      for (const std::string& value : *values) TENON_TRY(check_name(value, "a value"));
    return {};
  }

  Status take(NodeProto& from, NodeData& to) {
    TENON_TRY(check_names(from));
    to.op = std::move(*from.mutable_op_type());
    to.domain = domain_of(from.domain());
    to.name = std::move(*from.mutable_name());
    to.inputs.assign(std::make_move_iterator(from.mutable_input()->begin()),
                     std::make_move_iterator(from.mutable_input()->end()));
    to.outputs.assign(std::make_move_iterator(from.mutable_output()->begin()),
                      std::make_move_iterator(from.mutable_output()->end()));
    for (AttributeProto& one : *from.mutable_attribute()) {
      to.attrs.emplace_back();
      const Status status = attr(one, to.attrs.back());
      if (!status.ok())
        return Status(status.code(), cat(to.str(), ": attribute '", abbreviated(one.name()), "': ", status.message()));
    }
    return {};
  }

  ExternalFiles& files_;
};

// Exporters of scikit-learn import a domain once for each part of a pipeline: the newest counts.
template <class List>
Opsets opsets_of(const List& from) {
  Opsets out;
  for (const OperatorSetIdProto& set : from) {
    int64_t& version = out[domain_of(set.domain())];
    version = std::max<int64_t>(version, set.version());
  }
  return out;
}

Status take_functions(ModelProto& from, Parse& parse, OnnxFile& to) {
  for (FunctionProto& function : *from.mutable_functions()) {
    FunctionData data;
    TENON_TRY(check_name(function.name(), "a function"));
    data.inputs.assign(function.input().begin(), function.input().end());
    data.outputs.assign(function.output().begin(), function.output().end());
    data.opsets = opsets_of(function.opset_import());
    for (AttributeProto& one : *function.mutable_attribute_proto()) {
      data.defaults.emplace_back();
      TENON_TRY(parse.attr(one, data.defaults.back()));
    }
    TENON_TRY(parse.nodes(*function.mutable_node(), data.nodes));
    TENON_TRY(put_in_order(data));
    const std::string key = domain_of(function.domain()) + ":" + function.name();
    if (!to.functions.emplace(key, std::move(data)).second)
      return invalid("defines the function '", abbreviated(function.name()), "' twice");
  }
  return {};
}

Result<OnnxFile> parsed(std::string bytes, const std::string& path, const std::string& directory) {
  TENON_TRY(scan_model(bytes));
  ModelProto model;
  if (!model.ParseFromString(bytes)) return invalid("it is no ONNX model");
  std::string().swap(bytes);
  if (!model.has_graph()) return invalid("it has no graph");
  OnnxFile out;
  out.path = path;
  out.ir_version = model.ir_version();
  out.producer = model.producer_name();
  out.opsets = opsets_of(model.opset_import());
  ExternalFiles files(directory);
  Parse parse(files);
  TENON_TRY(take_functions(model, parse, out));
  TENON_TRY(parse.graph(*model.mutable_graph(), out.graph));
  model.Clear();
  TENON_TRY(put_in_order(out.graph));
  return out;
}

Status named(const Status& status, const std::string& path) {
  return Status(status.code(), terminal_text(cat("ONNX file '", path, "': ", status.message())));
}

}  // namespace

Result<OnnxFile> parse_file(std::string bytes, const std::string& path) {
  Result<OnnxFile> out = within_memory(
      "read", path, [&] { return parsed(std::move(bytes), path, path.empty() ? std::string() : directory_of(path)); });
  return out.ok() ? std::move(out) : named(out.status(), path);
}

Result<OnnxFile> open_file(const std::string& path) {
  TENON_ASSIGN(std::string bytes, read_file(path, kMostMessageBytes));
  return parse_file(std::move(bytes), path);
}

Result<TensorData> open_tensor(const std::string& path) {
  TENON_ASSIGN(std::string bytes, read_file(path, kMostMessageBytes));
  TensorProto tensor;
  if (!tensor.ParseFromString(bytes)) return named(invalid("it is no tensor"), path);
  ExternalFiles none("");
  Result<TensorData> out = tensor_of(tensor, none);
  return out.ok() ? std::move(out) : named(out.status(), path);
}

const AttrData* NodeData::attr(std::string_view wanted) const {
  for (const AttrData& one : attrs)
    if (one.name == wanted) return &one;
  return nullptr;
}

std::string NodeData::str() const {
  std::string label = name;
  for (size_t i = 0; label.empty() && i < outputs.size(); ++i) label = outputs[i];
  return cat(domain.empty() ? "" : abbreviated(domain, 40) + ".", abbreviated(op, 40), " '", abbreviated(label), "'");
}

}  // namespace tenon::onnx
