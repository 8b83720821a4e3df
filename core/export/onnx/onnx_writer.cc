#include "export/onnx/onnx_writer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/strings.h"
#include "export/narrow_values.h"
#include "export/onnx/onnx_node_rules.h"
#include "op/op.h"
#include "op/rules.h"

namespace tenon {
namespace onnx::out {
namespace {

constexpr int64_t kIrVersion = 8, kOperatorSet = 18;
constexpr int64_t kMostBytes = (int64_t{1} << 31) - 1;  // protocol buffers end there

// Weights as initializers, each once in every order that is asked for.
class Weights : public WeightWriter {
 public:
  Weights(NodeWriter* nodes, const OnnxContents& contents) : nodes_(nodes), contents_(contents) {}

  Ref plain(const std::string& name, const Type& type) {
    types_[name] = type;
    return turned(name, identity(static_cast<size_t>(type.shape.rank())));
  }

  // A weight that nothing reads in the graph's own order is written in the other one alone; see finish().
  Ref turned(const std::string& name, const Ints& perm) override {
    const bool is_plain = std::is_sorted(perm.begin(), perm.end());
    const auto [at, is_new] = refs_.try_emplace({name, perm});
    if (is_new) at->second = nodes_->unique(is_plain ? name : cat(name, ":", join(perm, "")));
    return at->second;
  }

  // Those that nodes read.
  void finish(const GraphProto& graph) {
    std::set<std::string> read;
    for (const NodeProto& node : graph.node()) read.insert(node.input().begin(), node.input().end());
    for (const auto& [key, ref] : refs_)
      if (read.contains(ref)) nodes_->initializer(ref, value(key.first, key.second));
  }

 private:
  TensorProto value(const std::string& name, const Ints& perm) {
    const Type& type = types_.at(name);
    if (!contents_.variable) return {};
    const Array found = contents_.variable(name).take();
    if (!(found.type() == type)) fail("variable '", name, "' is ", found.type().str(), ", expected ", type.str());
    bytes_ += type.bytes();
    if (bytes_ > kMostBytes) fail("ONNX's model: weights of more than ", kMostBytes, " bytes");
    Ints dims;
    for (const int64_t axis : perm) dims.push_back(type.shape[static_cast<int>(axis)]);
    const std::string bytes = in_order(found, perm, dims);
    TensorProto out;
    out.set_data_type(data_type(type.dtype));
    out.mutable_dims()->Add(dims.begin(), dims.end());
    out.set_raw_data(bytes);
    return out;
  }

  static std::string in_order(const Array& value, const Ints& perm, const Ints& dims) {
    const auto* from = reinterpret_cast<const char*>(value.bytes().data());
    if (std::is_sorted(perm.begin(), perm.end())) return {from, value.bytes().size()};
    const auto width = static_cast<size_t>(dtype_bytes(value.type().dtype));
    Ints stride(perm.size(), static_cast<int64_t>(width)), place(perm.size(), 0), step;
    for (int axis = static_cast<int>(perm.size()) - 2; axis >= 0; --axis)
      stride[static_cast<size_t>(axis)] = stride[static_cast<size_t>(axis) + 1] * value.type().shape[axis + 1];
    for (const int64_t axis : perm) step.push_back(stride[static_cast<size_t>(axis)]);
    std::string out;
    out.reserve(value.bytes().size());
    for (int64_t at = 0; out.size() < value.bytes().size();) {
      out.append(from + at, width);
      for (size_t axis = perm.size(); axis-- > 0;) {
        at += step[axis];
        if (++place[axis] < dims[axis]) break;
        at -= step[axis] * std::exchange(place[axis], 0);
      }
    }
    return out;
  }

  NodeWriter* nodes_;
  const OnnxContents& contents_;
  std::map<std::string, Type> types_;
  std::map<std::pair<std::string, Ints>, Ref> refs_;
  int64_t bytes_ = 0;
};

bool has_rule(const PortableNode& node) { return find_rule(node.op) != nullptr; }

bool is_taken_apart(const PortableNode& node) {
  const OpDef* op = find_op(node.op, node.version);
  return op && !op->primitive() && !has_rule(node);
}

class ModelWriter {
 public:
  explicit ModelWriter(const OnnxContents& contents)
      : contents_(contents),
        proto_(*model_.mutable_graph()),
        nodes_(&proto_),
        rows_(&nodes_),
        weights_(&nodes_, contents) {}

  // Throws Error.
  ModelProto run() {
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("tenon");
    model_.add_opset_import()->set_version(kOperatorSet);
    proto_.set_name("model");
    const PortableGraph graph = needed();
    std::vector<Written> values(graph.values.size());
    write_inputs(graph, values);
    write_nodes(graph, values);
    if (!lacking_.empty())
      throw Error(Status(Code::kUnsupported, cat("ONNX's graph cannot have ", lacking_.size(),
                                                 " nodes of the model: ", join_first(lacking_, 20, "; "))));
    write_outputs(graph, values);
    drop_unread();
    weights_.finish(proto_);
    if (!contents_.labels.empty()) {
      StringStringEntryProto& labels = *model_.add_metadata_props();
      labels.set_key("labels");
      labels.set_value(nlohmann::json(contents_.labels).dump());
    }
    return std::move(model_);
  }

 private:
  PortableGraph needed() const {
    std::vector<std::string> results;
    for (const ServingValue& output : contents_.signature.outputs) results.push_back(output.tensor);
    PortableGraph graph = part_of(contents_.graph, results);
    const bool is_whole = std::none_of(graph.nodes.begin(), graph.nodes.end(), is_taken_apart);
    return is_whole ? graph : decomposed(graph, has_rule).take();
  }

  // Inputs and outputs of bf16 are f32: most who run the model have no arrays of it.
  static DType outside(DType dtype) { return dtype == DType::kBF16 ? DType::kF32 : dtype; }

  // "batch" stands for the rows.
  static void describe(ValueInfoProto& info, const Ref& name, const PortableValue& type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(data_type(outside(type.dtype)));
    tensor.mutable_shape();  // of a scalar, too
    for (const PerRows& dim : type.dims) {
      auto& to = *tensor.mutable_shape()->add_dim();
      if (dim.each == 0)
        to.set_dim_value(dim.base);
      else
        to.set_dim_param(dim == PerRows{0, 1} ? "batch" : cat(dim.base, " + ", dim.each, " batch"));
    }
  }

  // Inputs that the graph does not use are the model's all the same, with the rows of a batch.
  void write_inputs(const PortableGraph& graph, std::vector<Written>& values) {
    for (const ServingValue& input : contents_.signature.inputs) {
      PortableValue type{input.type.dtype, {{0, 1}}};
      for (const int64_t dim : input.type.shape) type.dims.push_back({dim, 0});
      const Ref name = nodes_.unique(input.name);
      for (const PortableInput& in : graph.inputs) {
        if (in.variable || in.name != input.tensor) continue;
        type = graph.values[static_cast<size_t>(in.value)];
        Ref& fed = values[static_cast<size_t>(in.value)].ours = name;
        if (outside(type.dtype) != type.dtype)
          fed = nodes_.add("Cast", {name}, {number_field("to", data_type(type.dtype))});
      }
      describe(*proto_.add_input(), name, type);
      rows_.take_input(name, type);
    }
    for (const ServingValue& output : contents_.signature.outputs) outputs_[output.name] = nodes_.unique(output.name);
    for (const PortableInput& in : graph.inputs)
      if (in.variable)
        values[static_cast<size_t>(in.value)] = {
            weights_.plain(in.name, graph.values[static_cast<size_t>(in.value)].at(0)), {}, in.name};
  }

  void write_nodes(const PortableGraph& graph, std::vector<Written>& values) {
    const NarrowValues narrow(graph);
    for (const PortableNode& node : graph.nodes) {
      nodes_.set_scope(node.name);
      try {
        const NodeRule* rule = find_rule(node.op);
        if (!rule) throw Lacking{"ONNX has no op for it"};
        NodeScribe scribe(graph, node, rule->onnx, values, nodes_, rows_, weights_);
        if (!node.results.empty()) scribe.set_narrow(narrow.has(node.results[0]));
        const std::vector<Written> results = rule->rule(scribe);
        for (size_t r = 0; r < node.results.size(); ++r)
          if (node.results[r] >= 0) values[static_cast<size_t>(node.results[r])] = results.at(r);
      } catch (const Lacking& lack) {
        lacking_.push_back(cat(node.op, " '", node.name, "': ", lack.why));
      }
    }
    nodes_.set_scope({});
  }

  void write_outputs(const PortableGraph& graph, std::vector<Written>& values) {
    for (const ServingValue& output : contents_.signature.outputs) {
      if (output.kind != ServingValue::Kind::kTensor) continue;
      for (const PortableResult& result : graph.results) {
        if (result.name != output.tensor) continue;
        const PortableValue& type = graph.values[static_cast<size_t>(result.value)];
        Written& value = values[static_cast<size_t>(result.value)];
        if (value.only_first())
          value.ours = nodes_.add("Transpose", {value.first}, {list_field("perm", last_order(type.dims.size()))});
        const Ref& name = outputs_.at(output.name);
        if (outside(type.dtype) != type.dtype)
          nodes_.add_named(name, "Cast", {value.ours}, {number_field("to", data_type(outside(type.dtype)))});
        else
          nodes_.add_named(name, "Identity", {value.ours});
        describe(*proto_.add_output(), name, type);
      }
    }
  }

  // Nodes and constants that nothing reads.
  void drop_unread() {
    std::set<std::string> read;
    for (const ValueInfoProto& output : proto_.output()) read.insert(output.name());
    google::protobuf::RepeatedPtrField<NodeProto> kept;
    for (int n = proto_.node_size() - 1; n >= 0; --n) {
      NodeProto& node = *proto_.mutable_node(n);
      const auto is_read = [&](const std::string& result) { return read.contains(result); };
      if (std::none_of(node.output().begin(), node.output().end(), is_read)) continue;
      read.insert(node.input().begin(), node.input().end());
      *kept.Add() = std::move(node);
    }
    std::reverse(kept.begin(), kept.end());
    proto_.mutable_node()->Swap(&kept);
    auto& constants = *proto_.mutable_initializer();
    const auto is_unread = [&](const TensorProto& tensor) { return !read.contains(tensor.name()); };
    constants.erase(std::remove_if(constants.begin(), constants.end(), is_unread), constants.end());
  }

  const OnnxContents& contents_;
  std::map<std::string, Ref> outputs_;
  ModelProto model_;
  GraphProto& proto_;
  NodeWriter nodes_;
  RowNumbers rows_;
  Weights weights_;
  std::vector<std::string> lacking_;
};

std::string to_bytes(const ModelProto& model) {
  if (model.ByteSizeLong() > static_cast<size_t>(kMostBytes))
    fail("ONNX's model: ", model.ByteSizeLong(), " bytes, expected at most ", kMostBytes);
  std::string bytes;
  if (!model.SerializeToString(&bytes)) fail("ONNX's model: the message cannot be written");
  return bytes;
}

}  // namespace
}  // namespace onnx::out

Result<std::string> onnx_model(const OnnxContents& contents) {
  try {
    return onnx::out::to_bytes(onnx::out::ModelWriter(contents).run());
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace tenon
