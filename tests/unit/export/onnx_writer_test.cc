// What is written of a model for ONNX: read as ONNX's readers do, by names, shapes and the order of axes.
#include "export/onnx/onnx_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "base/file/file.h"
#include "onnx.pb.h"
#include "tenon/export.h"
#include "tenon/layers.h"
#include "tenon/strategy.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

// Every initializer counts: f(i) = i.
struct OnnxFile {
  onnx::ModelProto model;

  OnnxFile(const TensorFunction& function, const std::vector<FeatureSpec>& features, ExportOptions options = {}) {
    TemporaryDirectory directory;
    Strategy strategy("cpu");
    Arrays zeros;
    for (const FeatureSpec& f : features) zeros.emplace(f.name, Array(f.batch_type(1)));
    strategy.function(function)(zeros);
    for (const auto& variable : strategy.variables()) {
      std::vector<float> numbers(static_cast<size_t>(variable.type.shape.elements()));
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
      strategy.write(variable.name, Array(numbers, variable.type.shape));
    }
    options.format = ExportFormat::kOnnx;
    const std::string path = directory / "model.onnx";
    EXPECT_EQ(export_function(strategy, function, features, path, options).take(), path);
    EXPECT_TRUE(model.ParseFromString(read_file(path, 1 << 24).take()));
  }

  const onnx::GraphProto& graph() const { return model.graph(); }
  std::vector<std::string> ops() const {
    std::vector<std::string> out;
    for (const onnx::NodeProto& node : graph().node()) out.push_back(node.op_type());
    return out;
  }
  const onnx::NodeProto& node(const std::string& op) const {
    return *std::find_if(graph().node().begin(), graph().node().end(),
                         [&](const auto& n) { return n.op_type() == op; });
  }
  const onnx::TensorProto& initializer(const std::string& name) const {
    return *std::find_if(graph().initializer().begin(), graph().initializer().end(),
                         [&](const auto& t) { return t.name() == name; });
  }
};

std::vector<int64_t> onnx_dims(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

std::vector<int64_t> ints_of(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& a : node.attribute())
    if (a.name() == name) return {a.ints().begin(), a.ints().end()};
  return {};
}

FeatureSpec onnx_image() { return {"image", {DType::kF32, {8, 6, 2}}}; }

TEST(OnnxWriter, TurnsImagesOnceAndWeightsInTheFile) {
  const OnnxFile written(
      [](const Features& in) {
        Tensor x =
            conv2d(in["image"], {.filters = 3, .kernel = {3, 2}, .strides = 2, .padding = same, .activation = relu});
        x = max_pool2d(x, 2);
        return Outputs{{"logits", last(dense(flatten(x), {.units = 5}))}};
      },
      {onnx_image()});
  EXPECT_EQ(written.ops(), (std::vector<std::string>{"Transpose", "Conv", "Relu", "MaxPool", "Transpose", "Reshape",
                                                     "Gemm", "Identity"}));
  const onnx::NodeProto& conv = written.node("Conv");
  EXPECT_EQ(ints_of(conv, "strides"), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(ints_of(conv, "pads"), (std::vector<int64_t>{0, 0, 1, 0}));  // TensorFlow's "SAME" of 8 by 3 and of 6 by 2
  const onnx::TensorProto& kernel = written.initializer(conv.input(1));
  EXPECT_EQ(onnx_dims(kernel), (std::vector<int64_t>{3, 2, 3, 2}));
  std::vector<float> numbers(36);
  ASSERT_EQ(kernel.raw_data().size(), 36 * sizeof(float));
  std::memcpy(numbers.data(), kernel.raw_data().data(), 36 * sizeof(float));
  // Element [o, i, y, x] was number ((y 2 + x) 2 + i) 3 + o.
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(numbers[1], 6);   // x = 1
  EXPECT_EQ(numbers[2], 12);  // y = 1
  EXPECT_EQ(numbers[6], 3);   // i = 1
  EXPECT_EQ(numbers[12], 1);  // o = 1
  EXPECT_EQ(numbers[35], 35);
}

// ONNX Runtime has Where of numbers alone.
TEST(OnnxWriter, ChoosesAmongBoolsByAndAndOr) {
  const OnnxFile written(
      [](const Features& in) {
        const Tensor on = compare(in["x"], zeros_like(in["x"]), CompareKind::kGt);
        const Tensor found = gather(reshape(on, {on.elements()}), in["which"], 0);
        return Outputs{{"y", last(cast(select(found, on, compare(in["x"], in["x"], CompareKind::kEq)), DType::kI32))}};
      },
      {{"x", {DType::kF32, {3}}}, {"which", {DType::kI32, {3}}}});
  const std::vector<std::string> ops = written.ops();
  for (const auto& [op, count] : std::map<std::string, int>{{"And", 4}, {"Or", 1}, {"Where", 1}})  // of indices
    EXPECT_EQ(std::count(ops.begin(), ops.end(), op), count) << op;
}

TEST(OnnxWriter, NamesRowsInputsOutputsAndClasses) {
  const OnnxFile written(
      [](const Features& in) {
        return Outputs{{"x", last(in["x"] * 2)}, {"y", last(in["x"] + 1)}};
      },
      {{"x", {DType::kF32, {3}}}}, {.labels = {"a", "b"}});
  EXPECT_EQ(written.model.opset_import(0).version(), 18);
  ASSERT_EQ(written.graph().input_size(), 1);
  EXPECT_EQ(written.graph().input(0).name(), "x");
  const auto& shape = written.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "batch");
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
  ASSERT_EQ(written.graph().output_size(), 2);
  EXPECT_EQ(written.graph().output(0).name(), "x_1");  // a name is one value's
  EXPECT_EQ(written.graph().output(1).name(), "y");
  ASSERT_EQ(written.model.metadata_props_size(), 1);
  EXPECT_EQ(written.model.metadata_props(0).key(), "labels");
  EXPECT_EQ(written.model.metadata_props(0).value(), "[\"a\",\"b\"]");
}

TEST(OnnxWriter, WritesNoMomentsThatNothingReads) {
  const OnnxFile written(
      [](const Features& in) {
        return Outputs{{"y", last(layer_normalization(in["x"], {.epsilon = 0.5}))}};
      },
      {{"x", {DType::kF32, {4}}}});
  EXPECT_EQ(written.ops(), (std::vector<std::string>{"LayerNormalization", "Identity"}));
}

TEST(OnnxWriter, GivesNumbersOfBf16AsF32) {
  const OnnxFile written(
      [](const Features& in) {
        return Outputs{{"y", last(cast(in["x"], DType::kBF16))}};
      },
      {{"x", {DType::kF32, {4}}}});
  EXPECT_EQ(written.ops(), (std::vector<std::string>{"Cast", "Cast"}));
  EXPECT_EQ(written.graph().output(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
}

std::string onnx_refusal(const TensorFunction& function, const std::string& path, ExportOptions options = {}) {
  Strategy strategy("cpu");
  const std::vector<FeatureSpec> features = {{"x", {DType::kF32, {4}}}};
  options.format = ExportFormat::kOnnx;
  return export_function(strategy, function, features, path, options).status().message();
}

Outputs angles(const Features& in) { return {{"y", last(atan2(in["x"], in["x"] + 1))}}; }
Outputs same_numbers(const Features& in) { return {{"y", last(in["x"])}}; }

TEST(OnnxWriter, WritesLogsumexpAsOneNode) {
  const OnnxFile written(
      [](const Features& in) {
        return Outputs{{"y", last(logsumexp(in["x"], {1}))}};
      },
      {{"x", {DType::kF32, {4}}}});
  EXPECT_EQ(written.ops(), (std::vector<std::string>{"ReduceLogSumExp", "Identity"}));
}

TEST(OnnxWriter, ListsWhatOnnxDoesNotHave) {
  TemporaryDirectory directory;
  EXPECT_EQ(onnx_refusal(angles, directory / "a.onnx"),
            "ONNX's graph cannot have 1 nodes of the model: atan2 'atan2': ONNX has no op for it");
  EXPECT_FALSE(file_bytes(directory / "a.onnx").ok());
}

TEST(OnnxWriter, AFileHasNoVersions) {
  TemporaryDirectory directory;
  const std::string path = directory / "a.onnx";
  EXPECT_EQ(onnx_refusal(same_numbers, path, {.version = 3}),
            "'" + path + "' is one file, without a version; expected a directory");
  EXPECT_EQ(onnx_refusal(same_numbers, path, {.keep = 3}),
            "'" + path + "' is one file, without others to keep; expected a directory");
  EXPECT_EQ(onnx_refusal(same_numbers, directory / "versions", {.version = 7}), "");
  EXPECT_TRUE(file_bytes(directory / "versions/7/model.onnx").ok());
}

}  // namespace
}  // namespace tenon
