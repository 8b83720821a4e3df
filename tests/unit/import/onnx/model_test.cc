// ONNX models as functions: what they give, how they train, what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/onnx.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/import/onnx/made_file.h"

namespace tenon {
namespace {

OnnxModel opened(const MadeFile& made, OnnxOptions options = {}) {
  const TemporaryDirectory directory;
  return import_onnx(made.write(directory.path()), std::move(options)).take();
}

std::vector<float> run(const OnnxModel& model, const Arrays& inputs, Strategy strategy = Strategy("cpu")) {
  return strategy.function(model)(inputs).all().begin()->second.to<float>();
}

// y = softmax(relu(x hidden' + bias) head + bias2)
MadeFile classifier() {
  MadeFile made;
  made.input("x", {-1, 2});
  made.floats("hidden.weight", {2, 2}, {1, 2, 3, -4});  // [out, in]
  made.floats("hidden.bias", {2}, {0.5, 1});
  made.floats("head.weight", {2, 3}, {1, 0, -1, 2, 1, 0});
  made.floats("head.bias", {3}, {0, 1, 0});
  onnx::NodeProto& gemm = made.node("Gemm", {"x", "hidden.weight", "hidden.bias"}, {"h"}, "hidden");
  MadeFile::attr(gemm, "transB", 1);
  made.node("Relu", {"h"}, {"r"}, "act");
  made.node("MatMul", {"r", "head.weight"}, {"m"}, "head");
  made.node("Add", {"m", "head.bias"}, {"logits"}, "bias");
  made.node("Softmax", {"logits"}, {"y"}, "answer");
  made.output("y", {-1, 3});
  return made;
}

// x = [1, 1]: h = [3.5, 0], r = [3.5, 0], logits = [3.5, 1, -3.5].
TEST(OnnxModel, GivesWhatItsNodesSay) {
  const OnnxModel model = opened(classifier());
  const Array x({1.0f, 1.0f}, {1, 2});
  const double a = std::exp(3.5), b = std::exp(1.0), c = std::exp(-3.5);
  const std::vector<float> y = run(model, {{"x", x}});
  EXPECT_NEAR(y[0], a / (a + b + c), 1e-6);
  EXPECT_NEAR(y[1], b / (a + b + c), 1e-6);
  Strategy strategy("cpu");
  Function logits = strategy.function([&](const Features& in) { return Outputs{{"l", model.logits(in)}}; });
  EXPECT_EQ(logits({{"x", x}})["l"].to<float>(), (std::vector<float>{3.5, 1, -3.5}));
}

TEST(OnnxModel, SaysWhatItTakesAndGives) {
  const OnnxModel model = opened(classifier());
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].dims, (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(model.outputs()[0].name, "y");
  ASSERT_EQ(model.variables().size(), 4u);
  EXPECT_EQ(model.variables()[0].name, "hidden.weight");
  EXPECT_EQ(model.ops()[0], (std::pair<std::string, int64_t>{"Add", 1}));
  EXPECT_EQ(model.features()[0].type.str(), "f32[2]");
}

// The loss of class 0 by the logits is p - [1,0,0]; a step of 0.1 takes that from the bias.
TEST(OnnxModel, TrainsWithTheFilesValuesAndNames) {
  const OnnxModel model = opened(classifier());
  Strategy strategy("cpu");
  Function train = strategy.function(
      [&](const Features& in) {
        const CrossEntropy ce = softmax_cross_entropy_per_example(model.logits(in), in["label"]);
        const Tensor loss = reduce_mean(ce.loss);
        minimize(SGD(0.1), loss);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  const double a = std::exp(3.5), b = std::exp(1.0), c = std::exp(-3.5), sum = a + b + c;
  const Results r = train({{"x", Array({1.0f, 1.0f}, {1, 2})}, {"label", Array(std::vector<int32_t>{0})}});
  EXPECT_NEAR(r["loss"].item(), -std::log(a / sum), 1e-6);
  const std::vector<float> bias = strategy.read<float>("head.bias");
  EXPECT_NEAR(bias[0], -0.1 * (a / sum - 1), 1e-6);
  EXPECT_NEAR(bias[1], 1 - 0.1 * b / sum, 1e-6);
  EXPECT_EQ(strategy.read("hidden.weight").shape(), Shape({2, 2}));
}

TEST(OnnxModel, FrozenVariablesStay) {
  const OnnxModel model = opened(classifier(), {.scope = "base", .freeze = "^hidden"});
  Strategy strategy("cpu");
  Function train = strategy.function(
      [&](const Features& in) {
        const Tensor loss = reduce_mean(square(model.logits(in)));
        minimize(SGD(0.1), loss);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  (void)train({{"x", Array({1.0f, 1.0f}, {1, 2})}});
  EXPECT_EQ(strategy.read<float>("base/hidden.weight"), (std::vector<float>{1, 2, 3, -4}));
  EXPECT_NE(strategy.read<float>("base/head.bias"), (std::vector<float>{0, 1, 0}));
  EXPECT_FALSE(model.variables()[0].trainable);
  EXPECT_TRUE(model.variables()[3].trainable);
}

TEST(OnnxModel, OptionsThatChangeNothingAreErrors) {
  const TemporaryDirectory directory;
  const std::string path = classifier().write(directory.path()), where = "ONNX file '" + path + "': ";
  EXPECT_EQ(import_onnx(path, {.freeze = "hiden.bias"}).status().message(),
            where +
                "freeze: 'hiden.bias' is found in no variable's name; variables are 'hidden.weight', "
                "'hidden.bias', 'head.weight', 'head.bias'; did you mean 'hidden.bias'?; no node that reads one "
                "has it in its name");
  EXPECT_EQ(import_onnx(path, {.freeze = "("}).status().message().find(where + "freeze: "), 0u);
  EXPECT_EQ(import_onnx(path, {.dims = {{"batches", 3}}}).status().message(),
            where + "no input has an open dimension 'batches' behind axis 0; the file leaves none open by a name");
  EXPECT_EQ(import_onnx(path, {.dims = {{"batch", 3}}}).status().message(),
            where +
                "dimension 'batch' is axis 0 of input 'x', which counts the rows, of which any number may come; of the "
                "other axes the file leaves none open by a name");
  MadeFile fixed;
  fixed.input("x", {4, 2});
  fixed.node("Relu", {"x"}, {"y"});
  fixed.output("y", {4, 2});
  const std::string other = fixed.write(directory.path(), "fixed.onnx");
  EXPECT_EQ(import_onnx(other, {.dims = {{"q", 3}}}).status().message(),
            "ONNX file '" + other +
                "': no input has an open dimension 'q' behind axis 0; the file leaves none open by a name");
  EXPECT_EQ(import_onnx(other, {.freeze = "x"}).status().message(),
            "ONNX file '" + other + "': freeze: 'x' is found in no variable's name; there is no variable");
}

TEST(OnnxModel, VariablesAreFoundByTheNodesThatReadThem) {
  MadeFile made;
  made.input("x", {-1, 2});
  made.floats("val_7", {2, 2}, {1, 2, 3, 4});
  made.floats("val_8", {2, 3}, {1, 2, 3, 4, 5, 6});
  made.node("Transpose", {"val_7"}, {"turned"}, "turn");
  made.node("MatMul", {"x", "turned"}, {"h"}, "/layer1/fc");
  made.node("MatMul", {"h", "val_8"}, {"y"}, "/layer2/fc");
  made.output("y", {-1, 3});
  const OnnxModel model = opened(made, {.freeze = "layer1"});
  ASSERT_EQ(model.variables().size(), 2u);
  EXPECT_EQ(model.variables()[0].nodes, (std::vector<std::string>{"turn", "/layer1/fc"}));
  EXPECT_FALSE(model.variables()[0].trainable);
  EXPECT_TRUE(model.variables()[1].trainable);
  const auto found = [&](const char* expression) {
    std::string names;
    for (const OnnxVariable& v : model.variables_found_by(expression).take()) names += v.name + " ";
    return names;
  };
  EXPECT_EQ(found("fc$"), "val_7 val_8 ");
  EXPECT_EQ(found("layer2"), "val_8 ");
  EXPECT_EQ(found("_7$"), "val_7 ");
  EXPECT_EQ(found("nothing"), "");
  EXPECT_FALSE(model.variables_found_by("(").ok());
}

TEST(OnnxModel, LogitsAreTheOutputWithoutItsSoftmaxWhereThereIsNoDenseLayer) {
  MadeFile made;
  made.input("x", {-1, 2, 1, 1});
  made.node("GlobalAveragePool", {"x"}, {"p"});
  made.node("Softmax", {"p"}, {"s"});
  made.node("Flatten", {"s"}, {"y"});
  made.output("y", {-1, 2});
  const OnnxModel model = opened(made);
  EXPECT_FALSE(model.has_head());
  EXPECT_TRUE(opened(classifier()).has_head());
  Strategy strategy("cpu");
  Function logits = strategy.function([&](const Features& in) { return Outputs{{"l", model.logits(in)}}; });
  EXPECT_EQ(logits({{"x", Array({3.0f, -5.0f}, {1, 2, 1, 1})}})["l"].to<float>(), (std::vector<float>{3, -5}));
}

TEST(OnnxModel, TheHeadIsReplaced) {
  const OnnxModel model = opened(classifier(), {.replace_head = 5});
  Strategy strategy("cpu");
  const Results r = strategy.function(model)({{"x", Array({1.0f, 1.0f, 2.0f, 0.0f}, {2, 2})}});
  EXPECT_EQ(r["y"].shape(), Shape({2, 5}));
  EXPECT_EQ(strategy.read("head/kernel").shape(), Shape({2, 5}));
  MadeFile none;
  none.input("x", {-1, 2});
  none.node("Relu", {"x"}, {"y"});
  none.output("y", {-1, 2});
  const TemporaryDirectory directory;
  EXPECT_NE(import_onnx(none.write(directory.path()), {.replace_head = 5}).status().message().find("no dense layer"),
            std::string::npos);
}

// One image of one channel, [[1,2,3],[4,5,6],[7,8,9]], and two 2x2 kernels: sums of the diagonal, and of the other.
TEST(OnnxModel, KernelsLieAsOursDo) {
  MadeFile made;
  made.input("x", {-1, 1, 3, 3});
  made.floats("w", {2, 1, 2, 2}, {1, 0, 0, 1, 0, 1, 1, 0});
  made.node("Conv", {"x", "w"}, {"y"});
  made.output("y", {-1, 2, 2, 2});
  const OnnxModel model = opened(made);
  Strategy strategy("cpu");
  const Array x({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f}, {1, 1, 3, 3});
  EXPECT_EQ(run(model, {{"x", x}}, strategy), (std::vector<float>{6, 8, 12, 14, 6, 8, 12, 14}));
  EXPECT_EQ(strategy.read("w").shape(), Shape({2, 2, 1, 2}));
  EXPECT_EQ(strategy.read<float>("w"), (std::vector<float>{1, 0, 0, 1, 0, 1, 1, 0}));
}

// y of 2 (x - mean) / deviation + 1. With two channels no weight is one number alone.
MadeFile batch_norm_file(bool training_mode, int64_t channels = 2) {
  const auto each = [&](float value) { return std::vector<float>(static_cast<size_t>(channels), value); };
  MadeFile made(15);
  made.input("x", {-1, channels});
  made.floats("gamma", {channels}, each(2));
  made.floats("beta", {channels}, each(1));
  made.floats("mean", {channels}, each(5));
  made.floats("var", {channels}, each(4));
  onnx::NodeProto& bn = made.node("BatchNormalization", {"x", "gamma", "beta", "mean", "var"}, {"y"}, "bn");
  auto& eps = *bn.add_attribute();
  eps.set_name("epsilon");
  eps.set_type(onnx::AttributeProto::FLOAT);
  eps.set_f(0);
  if (training_mode) MadeFile::attr(bn, "training_mode", 1);
  made.output("y", {-1, channels});
  return made;
}

const std::vector<float> kByRunningMoments = {-3, -1, -1, 3};  // 5 and a deviation of 2
const std::vector<float> kByBatchsMoments = {-1, -1, 3, 3};    // means 2, 5, deviations 1, 2

// As PyTorch exports a model that is to be trained further.
TEST(OnnxModel, BatchNormOfAFileInTrainingModePredictsByItsRunningMoments) {
  const MadeFile made = batch_norm_file(true);
  const Array x({1.0f, 3.0f, 3.0f, 7.0f}, {2, 2});
  EXPECT_EQ(run(opened(made), {{"x", x}}), kByRunningMoments);
  EXPECT_EQ(run(opened(made, {.modes_of_file = true}), {{"x", x}}), kByBatchsMoments);
  Strategy frozen("cpu");
  Function still = frozen.function(opened(made, {.freeze = "gamma"}), {.mode = Mode::kTrain});
  EXPECT_EQ(still({{"x", x}})["y"].to<float>(), kByRunningMoments);
  EXPECT_EQ(frozen.read<float>("mean"), (std::vector<float>{5, 5}));
}

TEST(OnnxModel, BatchNormOfOneChannelPredictsByItsRunningMomentsToo) {
  const Array x({1.0f, 3.0f, 3.0f, 7.0f}, {4, 1});
  EXPECT_EQ(run(opened(batch_norm_file(true, 1)), {{"x", x}}), kByRunningMoments);
}

TEST(OnnxModel, BatchNormHasTheBatchsMomentsWhereItTrains) {
  const MadeFile made = batch_norm_file(false);
  const Array x({1.0f, 3.0f, 3.0f, 7.0f}, {2, 2});
  const OnnxModel model = opened(made);
  EXPECT_EQ(run(model, {{"x", x}}), kByRunningMoments);
  Strategy strategy("cpu");
  Function train = strategy.function(model, {.mode = Mode::kTrain});
  EXPECT_EQ(train({{"x", x}})["y"].to<float>(), kByBatchsMoments);
  const std::vector<float> mean = strategy.read<float>("mean"), var = strategy.read<float>("var");
  EXPECT_NEAR(mean[0], 0.9 * 5 + 0.1 * 2, 1e-6);
  EXPECT_NEAR(var[1], 0.9 * 4 + 0.1 * 4, 1e-6);
  Strategy frozen("cpu");
  Function still = frozen.function(opened(made, {.freeze = "gamma"}), {.mode = Mode::kTrain});
  EXPECT_EQ(still({{"x", x}})["y"].to<float>(), kByRunningMoments);
}

// As PyTorch exports x.view(x.size(0), -1).
TEST(OnnxModel, ShapesAreKnownForAnyNumberOfRows) {
  MadeFile made;
  made.input("x", {-1, 2, 3});
  made.ints("zero", {}, {0});
  made.ints("first", {1}, {0});
  made.ints("rest", {1}, {-1});
  made.node("Shape", {"x"}, {"shape"});
  made.node("Gather", {"shape", "zero"}, {"rows"});
  made.node("Unsqueeze", {"rows", "first"}, {"rows1"});
  onnx::NodeProto& concat = made.node("Concat", {"rows1", "rest"}, {"target"});
  MadeFile::attr(concat, "axis", 0);
  made.node("Reshape", {"x", "target"}, {"y"});
  made.output("y", {-1, 6});
  const OnnxModel model = opened(made);
  Strategy strategy("cpu");
  Function f = strategy.function(model);
  EXPECT_EQ(f({{"x", Array({DType::kF32, {4, 2, 3}})}})["y"].shape(), Shape({4, 6}));
  EXPECT_EQ(f({{"x", Array({DType::kF32, {1, 2, 3}})}})["y"].shape(), Shape({1, 6}));
}

TEST(OnnxModel, NumbersThatShapesNeedAreAskedFor) {
  MadeFile made;
  made.input("x", {6});
  made.input("target", {2}, 7);
  made.node("Reshape", {"x", "target"}, {"y"}, "turn");
  made.output("y", {-1, -1});
  const OnnxModel model = opened(made);
  const Array x({DType::kF32, {6}}), target(std::vector<int64_t>{2, 3});
  Strategy strategy("cpu");
  try {
    (void)strategy.function(model)({{"x", x}, {"target", target}});
    ADD_FAILURE() << "a shape that is not known was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), "ONNX file '" + model.path() +
                            "': ONNX node Reshape 'turn': needs numbers of the input 'target' before the step runs; "
                            "OnnxOptions.values gives them");
  }
  EXPECT_EQ(model.wanted(), "target");
  const OnnxModel fixed = model.with({.values = {{"target", target}}}).take();
  EXPECT_EQ(fixed.inputs().size(), 1u);
  EXPECT_EQ(strategy.function(fixed)({{"x", x}})["y"].shape(), Shape({2, 3}));
}

TEST(OnnxModel, AllNodesWithoutARuleAreListedAtOnce) {
  MadeFile made;
  made.input("x", {2});
  made.node("Frobnicate", {"x"}, {"a"}, "one");
  made.node("Frobnicate", {"a"}, {"b"}, "two");
  made.node("Gadget", {"b"}, {"y"}, "three").set_domain("com.example");
  made.node("Unneeded", {"b"}, {"z"}, "four");
  made.output("y", {2});
  const TemporaryDirectory directory;
  const std::string path = made.write(directory.path());
  EXPECT_EQ(import_onnx(path).status().message(), "ONNX file '" + path +
                                                      "': 3 nodes of ops that Tenon does not know: Frobnicate (opset "
                                                      "18) 'one', 'two'; com.example.Gadget (opset 1) 'three'");
  const OnnxModel model = import_onnx(path, {.take_unknown = true}).take();
  EXPECT_EQ(model.unknown_ops(), (std::vector<std::pair<std::string, int64_t>>{{"Frobnicate (opset 18)", 2},
                                                                               {"com.example.Gadget (opset 1)", 1}}));
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_THROW((void)run(model, {{"x", Array({DType::kF32, {2}})}}), Error);
}

TEST(OnnxModel, LineBreaksOfNamesAreEscapedInMessages) {
  MadeFile made;
  made.input("x", {2});
  made.node("Frob\nnicate", {"x"}, {"y"}, "one\ntwo");
  made.output("y", {2});
  const TemporaryDirectory directory;
  const std::string path = made.write(directory.path());
  EXPECT_EQ(import_onnx(path).status().message(),
            "ONNX file '" + path + "': 1 node of ops that Tenon does not know: Frob\\nnicate (opset 18) 'one\\ntwo'");
}

TEST(OnnxModel, WhatAnOldOpsetLacksNamesTheOpset) {
  for (const int64_t opset : {6, 7}) {
    MadeFile made(opset);
    made.input("x", {2, 3});
    made.floats("w", {2}, {1, 2});
    MadeFile::attr(made.node("Add", {"x", "w"}, {"y"}, "sum"), "broadcast", 1);
    made.output("y", {2, 3});
    try {
      (void)run(opened(made), {{"x", Array({DType::kF32, {2, 3}})}});
      ADD_FAILURE() << "shapes that do not fit were taken";
    } catch (const Error& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("ONNX node Add 'sum': "), std::string::npos) << message;
      EXPECT_EQ(message.find("; it is of opset 6, and the oldest that Tenon takes whole is 7") != std::string::npos,
                opset == 6)
          << message;
    }
  }
}

TEST(OnnxModel, AnOutputThatIsListedTwiceIsNamed) {
  MadeFile made = classifier();
  made.output("y", {-1, 3});
  const TemporaryDirectory directory;
  const std::string path = made.write(directory.path());
  EXPECT_EQ(import_onnx(path).status().message(), "ONNX file '" + path + "': output 'y' is listed twice");
}

TEST(OnnxModel, ATensorThatNoMemoryHoldsNamesItsNode) {
  MadeFile made;
  made.input("x", {1, 2});
  made.ints("times", {2}, {1, int64_t{1} << 40});
  made.node("Tile", {"x", "times"}, {"y"}, "again");
  made.output("y", {-1, -1});
  const OnnxModel model = opened(made);
  try {
    (void)run(model, {{"x", Array({DType::kF32, {1, 2}})}});
    ADD_FAILURE() << "8 TiB were taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), "ONNX file '" + model.path() +
                            "': ONNX node Tile 'again': its result 'y' is f32[1,2199023255552], which no memory holds");
  }
}

TEST(OnnxModel, WhatANodeRefusesNamesIt) {
  MadeFile made;
  made.input("x", {-1, 2});
  made.floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  made.node("MatMul", {"x", "w"}, {"y"}, "product");
  made.output("y", {-1, 2});
  try {
    (void)run(opened(made), {{"x", Array({DType::kF32, {1, 2}})}});
    ADD_FAILURE() << "shapes that do not fit were taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("ONNX node MatMul 'product': "), std::string::npos) << e.what();
  }
  const OnnxModel model = opened(made);
  try {
    (void)run(model, {{"x", Array({DType::kF32, {1, 5}})}});
    ADD_FAILURE() << "an input of another shape was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), "ONNX file '" + model.path() + "': input 'x' is f32[1,5], expected f32[batch,2]");
  }
}

// The file, or a run of it, is refused in a line that names the op and says this.
void expect_refused(const MadeFile& made, const Shape& x, const std::string& op, const std::string& why) {
  try {
    (void)run(opened(made), {{"x", Array({DType::kF32, x})}});
    ADD_FAILURE() << op << " was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("ONNX node " + op), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
  }
}

TEST(OnnxModel, ATensorOfStringsThatANodeAddsIsNamed) {
  MadeFile made;
  made.input("x", {2});
  onnx::TensorProto& words = *made.graph().add_initializer();
  words.set_name("words");
  words.set_data_type(8);
  words.add_dims(2);
  for (const char* word : {"a", "b"}) words.add_string_data(word);
  made.node("Add", {"x", "words"}, {"y"}, "sum");
  made.output("y", {2});
  expect_refused(made, {2}, "Add 'sum': ", "'words' is string[2], expected real numbers or booleans");
}

// A node that runs a body whose inputs are i, go and those of `carried`, and whose outputs are `outputs`.
onnx::GraphProto& add_loop(onnx::GraphProto& graph, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& results, const std::vector<std::string>& carried,
                           const std::vector<std::string>& outputs) {
  onnx::NodeProto& loop = *graph.add_node();
  loop.set_op_type("Loop");
  for (const std::string& name : inputs) loop.add_input(name);
  for (const std::string& name : results) loop.add_output(name);
  auto& attr = *loop.add_attribute();
  attr.set_name("body");
  attr.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attr.mutable_g();
  for (const char* name : {"i", "go"}) body.add_input()->set_name(name);
  for (const std::string& name : carried) body.add_input()->set_name(name);
  for (const std::string& name : outputs) body.add_output()->set_name(name);
  return body;
}

void add_to(onnx::GraphProto& body, const char* op, const std::vector<std::string>& inputs, const char* output) {
  onnx::NodeProto& n = *body.add_node();
  n.set_op_type(op);
  for (const std::string& input : inputs) n.add_input(input);
  n.add_output(output);
}

TEST(OnnxModel, LoopsOfAKnownNumberOfTurnsAreUnrolled) {
  MadeFile made;
  made.input("x", {2});
  made.ints("turns", {}, {3});
  onnx::GraphProto& body = add_loop(made.graph(), {"turns", "", "x"}, {"y", "each"}, {"v"}, {"go2", "v2", "v2copy"});
  add_to(body, "Identity", {"go"}, "go2");
  add_to(body, "Add", {"v", "x"}, "v2");  // x of the graph around
  add_to(body, "Identity", {"v2"}, "v2copy");
  made.output("y", {2});
  made.output("each", {3, 2});
  Strategy strategy("cpu");
  const Results r = strategy.function(opened(made))({{"x", Array({1.0f, 2.0f})}});
  EXPECT_EQ(r["y"].to<float>(), (std::vector<float>{4, 8}));
  EXPECT_EQ(r["each"].to<float>(), (std::vector<float>{2, 4, 3, 6, 4, 8}));
}

// A loop without a number of turns goes on while its condition holds: it does not end where we would stop.
TEST(OnnxModel, LoopsWithoutEndAreRefused) {
  MadeFile made;
  made.input("x", {2});
  onnx::GraphProto& body = add_loop(made.graph(), {"", "", "x"}, {"y"}, {"v"}, {"go", "v"});
  add_to(body, "Identity", {"v"}, "w");
  made.output("y", {2});
  expect_refused(made, {2}, "Loop", "a loop of more than 100000 turns");
}

TEST(OnnxModel, LoopsInLoopsOfManyNodesAreRefused) {
  MadeFile made;
  made.input("x", {2});
  made.ints("turns", {}, {1000});
  onnx::GraphProto& outer = add_loop(made.graph(), {"turns", "", "x"}, {"y"}, {"v"}, {"go", "w"});
  onnx::GraphProto& inner = add_loop(outer, {"turns", "", "v"}, {"w"}, {"u"}, {"go", "u"});
  add_to(inner, "Identity", {"u"}, "t");
  made.output("y", {2});
  expect_refused(made, {2}, "Loop", "its loops have more than 524288 nodes");
}

TEST(OnnxModel, WindowsOfAnUnknownPaddingAreRefused) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    MadeFile made;
    made.input("x", {1, 1, 4, 4});
    onnx::NodeProto& pool = made.node(op, {"x"}, {"y"});
    MadeFile::attr(pool, "kernel_shape", std::vector<int64_t>{2, 2});
    onnx::AttributeProto& pad = *pool.add_attribute();
    pad.set_name("auto_pad");
    pad.set_type(onnx::AttributeProto::STRING);
    pad.set_s("SAME");
    made.output("y", {1, 1, 3, 3});
    expect_refused(made, {1, 1, 4, 4}, op, "auto_pad 'SAME', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
}

}  // namespace
}  // namespace tenon
