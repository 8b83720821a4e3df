// What stands in saved_model.pb. That TensorFlow computes the right numbers with it is seen by share/interop/check_saved_models.py.
#include "export/saved_model.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "saved_model.pb.h"

namespace tenon {
namespace {

using tensorflow::MetaGraphDef;
using tensorflow::NodeDef;
using Kind = ServingValue::Kind;

constexpr PerRows kRows{0, 1};

// x f32[rows, 3], the weights w f32[3, 2] under this name, y = x w.
PortableGraph product(const std::string& weights = "dense/kernel") {
  PortableGraph graph;
  graph.values = {{DType::kF32, {kRows, {3, 0}}}, {DType::kF32, {{3, 0}, {2, 0}}}, {DType::kF32, {kRows, {2, 0}}}};
  graph.inputs = {{"x", 0, false}, {weights, 1, true}};
  graph.nodes = {{"dot", "dense/dot", 1, {0, 1}, {2}, {}}};
  graph.results = {{"y", 2}};
  return graph;
}

int add_value(PortableGraph& graph, const PortableValue& value) {
  graph.values.push_back(value);
  return static_cast<int>(graph.values.size()) - 1;
}

ServingSignature signature(const std::string& key, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs) {
  ServingSignature out{key, "tensorflow/serving/predict", {}, {}};
  for (const std::string& name : inputs) out.inputs.push_back({name, Kind::kTensor, name, {DType::kF32, {3}}});
  for (const std::string& name : outputs) out.outputs.push_back({name, Kind::kTensor, name, {DType::kF32, {2}}});
  return out;
}

// Shorter to write: what is written of a graph with the one signature, and the parsed message.
struct Written {
  Result<std::string> bytes{Status()};
  tensorflow::SavedModel model;

  explicit Written(const PortableGraph& graph, std::vector<ServingSignature> signatures = {},
                   const std::optional<ExportedImages>& images = {}, const std::vector<std::string>& labels = {},
                   std::function<Result<Array>(const std::string&)> frozen = {}) {
    if (signatures.empty()) signatures = {signature("serving_default", {"x"}, {"y"})};
    bytes = saved_model({graph, signatures, images, labels, std::move(frozen)});
    if (bytes.ok() && !model.ParseFromString(*bytes)) ADD_FAILURE() << "it is no SavedModel";
  }
  const MetaGraphDef& meta() const {
    static const MetaGraphDef none;
    return model.meta_graphs_size() == 1 ? model.meta_graphs(0) : none;
  }
  std::string message() const { return bytes.ok() ? "" : bytes.status().message(); }

  const NodeDef& node(const std::string& reference) const {
    static const NodeDef none;
    for (const NodeDef& node : meta().graph_def().node())
      if (node.name() == reference.substr(0, reference.find(':'))) return node;
    ADD_FAILURE() << "there is no node '" << reference << "'";
    return none;
  }
  std::vector<std::string> of_op(const std::string& op) const {
    std::vector<std::string> names;
    for (const NodeDef& node : meta().graph_def().node())
      if (node.op() == op) names.push_back(node.name());
    return names;
  }
  std::vector<int> ints(const std::string& reference) const {
    const auto& values = node(reference).attr().at("value").tensor().int_val();
    return {values.begin(), values.end()};
  }
  // "Mul(StridedSlice(Shape(x)),2)": of arithmetic on shapes.
  std::string formula(const std::string& reference) const {
    const NodeDef& n = node(reference);
    if (n.op() == "Placeholder") return n.name();
    if (n.op() == "Const") return std::to_string(ints(reference).at(0));
    std::string text = n.op() + "(";
    const int shown = n.op() == "StridedSlice" ? 1 : n.input_size();
    for (int i = 0; i < shown; ++i) text += (i ? "," : "") + formula(n.input(i));
    return text + ")";
  }
};

TEST(SavedModel, SaysWhatItsSignaturesTake) {
  const Written w(product());
  ASSERT_EQ(w.message(), "");
  EXPECT_EQ(w.model.saved_model_schema_version(), 1);
  EXPECT_EQ(w.meta().meta_info_def().tags(0), "serve");
  const auto& s = w.meta().signature_def().at("serving_default");
  EXPECT_EQ(s.method_name(), "tensorflow/serving/predict");
  const auto& x = s.inputs().at("x");
  EXPECT_EQ(x.name(), "x:0");
  EXPECT_EQ(x.dtype(), tensorflow::DT_FLOAT);
  ASSERT_EQ(x.tensor_shape().dim_size(), 2);
  EXPECT_EQ(x.tensor_shape().dim(0).size(), -1);
  EXPECT_EQ(x.tensor_shape().dim(1).size(), 3);
  EXPECT_EQ(s.outputs().at("y").tensor_shape().dim(1).size(), 2);
  EXPECT_EQ(w.node(w.node(s.outputs().at("y").name()).input(0)).op(), "MatMul");
}

TEST(SavedModel, RestoresVariablesByTheirNames) {
  const Written w(product("a layer/kernel"));
  ASSERT_EQ(w.message(), "");
  const auto& saver = w.meta().saver_def();
  EXPECT_EQ(w.node(saver.filename_tensor_name()).op(), "PlaceholderWithDefault");
  const NodeDef& all = w.node(saver.restore_op_name());
  ASSERT_EQ(all.input_size(), 1);
  const NodeDef& assign = w.node(all.input(0).substr(1));
  EXPECT_EQ(assign.op(), "AssignVariableOp");
  EXPECT_EQ(w.node(assign.input(0)).op(), "VarHandleOp");
  const NodeDef& restore = w.node(assign.input(1));
  EXPECT_EQ(restore.input(0), saver.filename_tensor_name().substr(0, saver.filename_tensor_name().size() - 2));
  EXPECT_EQ(w.node(restore.input(1)).attr().at("value").tensor().string_val(0), "a layer/kernel");
  EXPECT_EQ(w.meta().collection_def().at("variables").bytes_list().value_size(), 1);
}

TEST(SavedModel, FrozenHasConstantsAndNothingToRestore) {
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const Written w(product(), {}, {}, {}, [&](const std::string&) -> Result<Array> { return Array(weights, {3, 2}); });
  ASSERT_EQ(w.message(), "");
  EXPECT_FALSE(w.meta().has_saver_def());
  EXPECT_TRUE(w.of_op("VarHandleOp").empty());
  const std::string& bytes = w.node("dense/kernel").attr().at("value").tensor().tensor_content();
  EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(weights.data()), 24));
  const Written failed(product(), {}, {}, {},
                       [&](const std::string&) -> Result<Array> { return Status(Code::kUnavailable, "it is gone"); });
  EXPECT_EQ(failed.message(), "it is gone");
}

// Two broadcasts to [2 rows + 1, 2], each of a scalar.
TEST(SavedModel, SizesThatDependOnTheRowsAreArithmeticOnAShapeMadeOnce) {
  PortableGraph graph = product();
  const PortableAttr shape{"shape", std::vector<int64_t>{1, 2}, {2, 0}};
  for (const char* name : {"first", "second"}) {
    const int scalar = add_value(graph, {DType::kF32, {}}), wide = add_value(graph, {DType::kF32, {{1, 2}, {2, 0}}});
    graph.nodes.push_back({"reduce",
                           std::string("sum of ") + name,
                           1,
                           {0},
                           {scalar},
                           {{"axes", std::vector<int64_t>{0, 1}, {}}, {"kind", Enum{0}, {}}}});
    graph.nodes.push_back({"broadcast", name, 1, {scalar}, {wide}, {shape, {"dims", std::vector<int64_t>{}, {}}}});
    graph.results.push_back({name, wide});
  }
  const Written w(graph, {signature("serving_default", {"x"}, {"first", "second"})});
  ASSERT_EQ(w.message(), "");
  const std::vector<std::string> broadcasts = w.of_op("BroadcastTo");
  ASSERT_EQ(broadcasts.size(), 2u);
  const std::string& size = w.node(broadcasts[0]).input(1);
  EXPECT_EQ(w.formula(size), "Pack(AddV2(Mul(StridedSlice(Shape(x)),2),1),2)");
  EXPECT_EQ(w.node(broadcasts[1]).input(1), size);
  EXPECT_EQ(w.of_op("Shape").size(), 1u);
}

// TensorFlow's arithmetic repeats what is narrow beside what is whole, but not two narrow ones to something wider than both.
TEST(SavedModel, RepeatsOnlyWhatArithmeticDoesNotRepeat) {
  PortableGraph graph = product();
  const PortableValue whole = graph.values[2];
  const auto broadcast = [&](const std::string& name) {
    const int scalar = add_value(graph, {DType::kF32, {}}), wide = add_value(graph, whole);
    graph.nodes.push_back(
        {"constant",
         name + " of",
         1,
         {},
         {scalar},
         {{"value", std::string(4, '\1'), {}}, {"shape", std::vector<int64_t>{}, {}}, {"dtype", DType::kF32, {}}}});
    graph.nodes.push_back({"broadcast",
                           name,
                           1,
                           {scalar},
                           {wide},
                           {{"shape", std::vector<int64_t>{0, 2}, {1, 0}}, {"dims", std::vector<int64_t>{}, {}}}});
    return wide;
  };
  const auto sum = [&](int a, int b) {
    const int result = add_value(graph, whole);
    graph.nodes.push_back({"add", "sum", 1, {a, b}, {result}, {}});
    return result;
  };
  const int beside_whole = sum(broadcast("a"), 2);
  graph.results = {{"y", beside_whole}};
  const Written narrow(graph);
  ASSERT_EQ(narrow.message(), "");
  EXPECT_EQ(narrow.of_op("BroadcastTo").size(), 0u);
  graph.results = {{"y", sum(beside_whole, sum(broadcast("b"), broadcast("c")))}};
  const Written two(graph);
  ASSERT_EQ(two.message(), "");
  EXPECT_EQ(two.of_op("BroadcastTo").size(), 1u);
  graph.results = {{"y", broadcast("d")}};
  EXPECT_EQ(Written(graph).of_op("BroadcastTo").size(), 1u);
}

TEST(SavedModel, AReshapeFindsItsOneUnknownSize) {
  PortableGraph graph = product();
  const int flat = add_value(graph, {DType::kF32, {{0, 2}}});
  graph.nodes.push_back({"reshape", "flat", 1, {2}, {flat}, {{"shape", std::vector<int64_t>{0}, {2}}}});
  graph.results = {{"flat", flat}};
  const Written w(graph, {signature("serving_default", {"x"}, {"flat"})});
  ASSERT_EQ(w.message(), "");
  EXPECT_EQ(w.ints(w.node(w.of_op("Reshape").at(0)).input(1)), (std::vector<int>{-1}));
  EXPECT_TRUE(w.of_op("Shape").empty());
}

TEST(SavedModel, ListsAllThatTensorFlowLacks) {
  PortableGraph graph = product();
  for (const char* name : {"first", "second"}) {
    const int drawn = add_value(graph, {DType::kF32, {{2, 0}}});
    graph.nodes.push_back({"random", name, 1, {0, 0}, {drawn}, {}});
    graph.results.push_back({name, drawn});
  }
  const Written w(graph, {signature("serving_default", {"x"}, {"y", "first", "second"})});
  EXPECT_EQ(w.bytes.status().code(), Code::kUnsupported);
  EXPECT_EQ(w.message(),
            "TensorFlow's graph cannot have 2 nodes of the model: random 'first': TensorFlow's graph has no op for it; "
            "random "
            "'second': TensorFlow's graph has no op for it");
}

TEST(SavedModel, GivesNodesNamesThatTensorFlowTakes) {
  PortableGraph graph = product();
  graph.nodes[0].name = "a product: x*w";
  const int next = add_value(graph, graph.values[2]);
  graph.nodes.push_back({"neg", "A product: x/w", 1, {2}, {next}, {}});
  graph.results = {{"y", next}};
  const Written w(graph);
  ASSERT_EQ(w.message(), "");
  std::set<std::string> names;
  for (const NodeDef& node : w.meta().graph_def().node()) {
    EXPECT_TRUE(names.insert(node.name()).second) << node.name();
    EXPECT_EQ(node.name().find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"),
              std::string::npos)
        << node.name();
  }
}

TEST(SavedModel, SignaturesOfOtherInputsNeedNothingElse) {
  PortableGraph graph = product();
  const int z = add_value(graph, {DType::kF32, {kRows, {2, 0}}}),
            sum = add_value(graph, {DType::kF32, {kRows, {2, 0}}});
  graph.inputs.push_back({"z", z, false});
  graph.nodes.push_back({"add", "sum", 1, {2, z}, {sum}, {}});
  graph.results.push_back({"sum", sum});
  const Written w(graph, {signature("both", {"x", "z"}, {"sum"}), signature("one", {"x"}, {"y"})});
  ASSERT_EQ(w.message(), "");
  EXPECT_EQ(w.of_op("Placeholder"), (std::vector<std::string>{"both/x", "both/z", "one/x"}));
  EXPECT_EQ(w.of_op("VarHandleOp").size(), 1u);
  EXPECT_EQ(Written(graph, {signature("one", {"x"}, {"sum"})}).message(), "the signature 'one' has no input for 'z'");
  EXPECT_EQ(Written(graph, {signature("one", {"x"}, {"w"})}).message(), "the signature 'one' has no result for 'w'");
}

// image f32[rows, 4, 5, 3] and class numbers i32[rows], as tensors and as files.
TEST(SavedModel, ImagesComeFromFilesOrAsTensors) {
  PortableGraph graph;
  graph.values = {{DType::kF32, {kRows, {4, 0}, {5, 0}, {3, 0}}}, {DType::kI32, {kRows}}};
  graph.inputs = {{"image", 0, false}};
  const PortableValue numbers{DType::kF32, {kRows}};
  const int mean = add_value(graph, numbers);
  graph.nodes = {
      {"reduce", "mean", 1, {0}, {mean}, {{"axes", std::vector<int64_t>{1, 2, 3}, {}}, {"kind", Enum{0}, {}}}},
      {"cast", "cast", 1, {mean}, {1}, {{"to", DType::kI32, {}}}}};
  graph.results = {{"classid", 1}};
  ServingSignature files{"serving_default", "tensorflow/serving/predict", {}, {}};
  files.inputs = {{"image_bytes", Kind::kImage, "image", {DType::kF32, {4, 5, 3}}}};
  files.outputs = {{"class", Kind::kLabel, "classid", {DType::kI32, {}}}};
  ServingSignature tensors = files;
  tensors.key = "tensor";
  tensors.inputs[0] = {"image", Kind::kTensor, "image", {DType::kF32, {4, 5, 3}}};
  const ExportedImages how{.height = 4, .width = 5};
  const Written w(graph, {files, tensors}, how, {"daisy", "rose"});
  ASSERT_EQ(w.message(), "");
  const auto& both = w.meta().signature_def();
  EXPECT_EQ(both.at("serving_default").inputs().at("image_bytes").dtype(), tensorflow::DT_STRING);
  EXPECT_EQ(both.at("serving_default").inputs().at("image_bytes").tensor_shape().dim(0).size(), -1);
  EXPECT_EQ(both.at("serving_default").outputs().at("class").dtype(), tensorflow::DT_STRING);
  const NodeDef& image = w.node(both.at("tensor").inputs().at("image").name());
  EXPECT_EQ(image.op(), "PlaceholderWithDefault");
  EXPECT_EQ(w.node(image.input(0)).op(), "TensorListStack");
  EXPECT_EQ(w.meta().graph_def().library().function_size(), 4);
  EXPECT_EQ(Written(graph, {files}).message(),
            "the input 'image_bytes' is an image, and how images are read is not said");
  ExportedImages gray = how;
  gray.channels = 1;
  gray.alpha = Alpha::kBlend;
  EXPECT_NE(Written(graph, {files}, gray).message().find("expected 3 channels"), std::string::npos);
}

TEST(SavedModel, OfTheSameModelHasTheSameBytes) {
  PortableGraph graph = product();
  for (int k = 0; k < 20; ++k) graph.results.push_back({"y" + std::to_string(k), 2});
  std::vector<std::string> outputs;
  for (const PortableResult& result : graph.results) outputs.push_back(result.name);
  const std::vector<ServingSignature> signatures = {signature("serving_default", {"x"}, outputs)};
  EXPECT_EQ(*Written(graph, signatures).bytes, *Written(graph, signatures).bytes);
}

}  // namespace
}  // namespace tenon
