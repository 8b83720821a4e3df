#include "export/saved_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "export/tensorflow/graph_writer.h"
#include "export/tensorflow/image/image_files.h"
#include "export/tensorflow/saved_weights.h"
#include "op/op.h"

namespace tenon {
namespace tensorflow {
namespace {

// The version of the ops and attributes that are written; TensorFlow 2.12 and later have all of them.
constexpr int kProducer = 1395;
constexpr const char* kVersion = "2.12.0";

TensorInfo tensor_info(const Ref& ref, DataType dtype, const std::vector<int64_t>& dims) {
  TensorInfo info;
  info.set_name(ref.find(':') == std::string::npos ? ref + ":0" : ref);
  info.set_dtype(dtype);
  *info.mutable_tensor_shape() = shape_proto(dims);
  return info;
}

std::vector<int64_t> any_rows(const PortableValue& type) {
  std::vector<int64_t> dims;
  for (const PerRows& dim : type.dims) dims.push_back(dim.each != 0 ? -1 : dim.base);
  return dims;
}

// Signatures with the same inputs share one copy of what they need of the graph.
struct Part {
  std::vector<const ServingSignature*> signatures;
  std::set<std::string> inputs;
};

std::vector<Part> parts_of(const std::vector<ServingSignature>& signatures) {
  std::vector<Part> parts;
  for (const ServingSignature& signature : signatures) {
    std::set<std::string> inputs;
    for (const ServingValue& input : signature.inputs) inputs.insert(input.tensor);
    auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.inputs == inputs; });
    if (same == parts.end()) same = parts.insert(parts.end(), Part{{}, inputs});
    same->signatures.push_back(&signature);
  }
  return parts;
}

bool is_taken_apart(const PortableNode& node) {
  const tenon::OpDef* op = find_op(node.op, node.version);
  return op && !op->primitive() && !writes_whole(node);
}

class ModelWriter {
 public:
  explicit ModelWriter(const SavedModelContents& contents)
      : contents_(contents),
        meta_(*model_.add_meta_graphs()),
        nodes_(meta_.mutable_graph_def()->mutable_node()),
        weights_(&nodes_, contents.frozen) {}

  // Throws Error.
  SavedModel run() {
    model_.set_saved_model_schema_version(1);
    auto& about = *meta_.mutable_meta_info_def();
    about.add_tags("serve");
    about.set_tensorflow_version(kVersion);
    about.set_stripped_default_attrs(true);
    meta_.mutable_graph_def()->mutable_versions()->set_producer(kProducer);
    const std::vector<Part> parts = parts_of(contents_.signatures);
    for (const Part& part : parts) write(part, parts.size() == 1 ? "" : part.signatures[0]->key + "/");
    if (!lacking_.empty())
      throw Error(Status(Code::kUnsupported, cat("TensorFlow's graph cannot have ", lacking_.size(),
                                                 " nodes of the model: ", join_first(lacking_, 20, "; "))));
    weights_.finish(meta_);
    return std::move(model_);
  }

 private:
  // Inputs of a part by their tensors: what is fed, and what nodes read.
  struct Fed {
    Ref tensor;      // a placeholder, or decoded images
    Ref files = {};  // the placeholder of images' files
  };

  // The input of one of the signatures that stands for the tensor in this way; nullptr: there is none.
  static const ServingValue* input_of(const Part& part, const std::string& tensor, ServingValue::Kind kind) {
    for (const ServingSignature* signature : part.signatures)
      for (const ServingValue& input : signature->inputs)
        if (input.tensor == tensor && input.kind == kind) return &input;
    return nullptr;
  }

  Fed write_input(const Part& part, const std::string& tensor, const std::string& scope) {
    const ServingValue* image = input_of(part, tensor, ServingValue::Kind::kImage);
    const ServingValue* given = input_of(part, tensor, ServingValue::Kind::kTensor);
    const PortableValue type = type_of(given ? *given : *image);
    const Fields fields = {type_field("dtype", type.dtype), shape_field("shape", any_rows(type))};
    if (!image) return {nodes_.add_named(scope + tensor, "Placeholder", {}, fields)};
    if (!contents_.images) fail("the input '", image->name, "' is an image, and how images are read is not said");
    Fed fed;
    fed.files = nodes_.add_named(scope + image->name, "Placeholder", {},
                                 {type_field("dtype", DT_STRING), shape_field("shape", {-1})});
    nodes_.set_scope(scope + "decode");
    FunctionDefLibrary& library = *meta_.mutable_graph_def()->mutable_library();
    fed.tensor = decoded_images(nodes_, library, fed.files, *contents_.images);
    nodes_.set_scope({});
    if (given) fed.tensor = nodes_.add_named(scope + tensor, "PlaceholderWithDefault", {fed.tensor}, fields);
    return fed;
  }

  // What the graph says of it; one that the graph does not use has the rows of a batch.
  PortableValue type_of(const ServingValue& given) const {
    for (const PortableInput& input : contents_.graph.inputs)
      if (!input.variable && input.name == given.tensor)
        return contents_.graph.values[static_cast<size_t>(input.value)];
    PortableValue out{given.type.dtype, {{0, 1}}};
    for (const int64_t dim : given.type.shape) out.dims.push_back({dim, 0});
    return out;
  }

  // The results that these signatures need, whole ops where TensorFlow has them.
  PortableGraph graph_of(const Part& part) const {
    std::vector<std::string> results;
    for (const ServingSignature* signature : part.signatures)
      for (const ServingValue& output : signature->outputs) results.push_back(output.tensor);
    PortableGraph part_graph = part_of(contents_.graph, results);
    const bool is_whole = std::none_of(part_graph.nodes.begin(), part_graph.nodes.end(), is_taken_apart);
    return is_whole ? part_graph : decomposed(part_graph, writes_whole).take();
  }

  void write(const Part& part, const std::string& scope) {
    std::map<std::string, Fed> fed;
    RowNumbers rows(&nodes_);
    for (const std::string& tensor : part.inputs) fed[tensor] = write_input(part, tensor, scope);
    for (const ServingValue& input : part.signatures[0]->inputs)
      rows.take_feature(fed[input.tensor].tensor, type_of(input));
    const PortableGraph graph = graph_of(part);
    const auto input = [&](const PortableInput& in, const PortableValue& type) {
      if (in.variable) return weights_.value(in.name, type);
      const auto found = fed.find(in.name);
      if (found == fed.end()) fail("the signature '", part.signatures[0]->key, "' has no input for '", in.name, "'");
      return found->second.tensor;
    };
    const std::vector<Ref> values = write_graph(graph, input, scope, nodes_, rows, lacking_);
    if (!lacking_.empty()) return;
    for (const ServingSignature* signature : part.signatures) write_signature(*signature, graph, values, fed);
  }

  void write_signature(const ServingSignature& signature, const PortableGraph& graph, const std::vector<Ref>& values,
                       const std::map<std::string, Fed>& fed) {
    SignatureDef& def = (*meta_.mutable_signature_def())[signature.key];
    def.set_method_name(signature.method_name);
    for (const ServingValue& input : signature.inputs) {
      const Fed& from = fed.at(input.tensor);
      const PortableValue type = type_of(input);
      (*def.mutable_inputs())[input.name] = input.kind == ServingValue::Kind::kImage
                                                ? tensor_info(from.files, DT_STRING, {-1})
                                                : tensor_info(from.tensor, data_type(type.dtype), any_rows(type));
    }
    for (const ServingValue& output : signature.outputs)
      (*def.mutable_outputs())[output.name] = write_output(signature, output, graph, values);
  }

  TensorInfo write_output(const ServingSignature& signature, const ServingValue& output, const PortableGraph& graph,
                          const std::vector<Ref>& values) {
    for (const PortableResult& result : graph.results) {
      if (result.name != output.tensor) continue;
      const PortableValue& type = graph.values[static_cast<size_t>(result.value)];
      const Ref& value = values[static_cast<size_t>(result.value)];
      const std::string name = cat(signature.key, "/", output.name);
      if (output.kind == ServingValue::Kind::kLabel)
        return tensor_info(label(value, type, name), DT_STRING, any_rows(type));
      const Ref named = nodes_.add_named(name, "Identity", {value}, {type_field("T", type.dtype)});
      return tensor_info(named, data_type(type.dtype), any_rows(type));
    }
    fail("the signature '", signature.key, "' has no result for '", output.name, "'");
  }

  // The name of each class, its number in text where it has none.
  Ref label(const Ref& ids, const PortableValue& type, const std::string& name) {
    nodes_.set_scope(name);
    const Field t = type_field("T", type.dtype);
    const Ref number = nodes_.add("AsString", {ids}, {t});
    Ref out = number;
    if (!contents_.labels.empty()) {
      const Ref zero = nodes_.scalar(type.dtype, 0);
      const Ref inside = nodes_.add(
          "LogicalAnd",
          {nodes_.add("GreaterEqual", {ids, zero}, {t}),
           nodes_.add("Less", {ids, nodes_.scalar(type.dtype, static_cast<double>(contents_.labels.size()))}, {t})},
          {});
      const Ref named = nodes_.add(
          "GatherV2", {labels(), nodes_.add("SelectV2", {inside, ids, zero}, {t}), nodes_.whole(0)},
          {type_field("Tparams", DT_STRING), type_field("Tindices", type.dtype), type_field("Taxis", DT_INT32)});
      out = nodes_.add("SelectV2", {inside, named, number}, {type_field("T", DT_STRING)});
    }
    nodes_.set_scope({});
    return nodes_.add_named(name, "Identity", {out}, {type_field("T", DT_STRING)});
  }

  Ref labels() {
    if (labels_.empty()) labels_ = nodes_.constant(string_proto(contents_.labels));
    return labels_;
  }

  const SavedModelContents& contents_;
  SavedModel model_;
  MetaGraphDef& meta_;
  NodeWriter nodes_;
  Weights weights_;
  std::vector<std::string> lacking_;
  Ref labels_;
};

// The same bytes each time.
std::string to_bytes(const SavedModel& model) {
  if (model.ByteSizeLong() > static_cast<size_t>(kMostGraphBytes))
    fail("TensorFlow's graph: ", model.ByteSizeLong(), " bytes, expected at most ", kMostGraphBytes);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!model.SerializeToCodedStream(&coded)) fail("TensorFlow's graph: the message cannot be written");
  }
  return bytes;
}

}  // namespace
}  // namespace tensorflow

Result<std::string> saved_model(const SavedModelContents& contents) {
  try {
    return tensorflow::to_bytes(tensorflow::ModelWriter(contents).run());
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace tenon
