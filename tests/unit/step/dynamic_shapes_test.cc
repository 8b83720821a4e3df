// One program for batches and sentences of all sizes, held against a program that is compiled for each size.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/recurrent.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

// Numbers that look random, the same for the same seed.
std::vector<float> wave(int64_t count, int seed) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::sin(static_cast<float>(i * 7 + seed * 13) * 0.7f));
  return out;
}
std::vector<int32_t> classes(int64_t count, int32_t limit, int seed) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<int32_t>((i * 5 + i / 3 + seed) % limit));
  return out;
}

Outputs trained(Tensor loss, Tensor scores) {
  minimize(SGD({.learning_rate = 0.1, .momentum = 0.9}), loss);
  return {{"loss", loss}, {"scores", {scores, ResultMode::kEach, Joining::kRows}}};
}

Outputs dense_net(const Features& in) {
  const Tensor x = in["x"];
  const Tensor ratio = x / x;  // NaN where x is 0, as behind the rows
  const Tensor logits = dense(dense(x * ratio, {.units = 8, .activation = relu}), {.units = 4});
  return trained(sparse_categorical_crossentropy(in["y"], logits, {.from_logits = true}), softmax(logits));
}

Outputs image_net(const Features& in) {
  Tensor x = conv2d(in["x"], {.filters = 4, .kernel = 3, .padding = same, .use_bias = false});
  x = max_pool2d(relu(batch_normalization(x)));
  const Tensor logits = dense(global_average_pool2d(x), {.units = 4});
  return trained(sparse_categorical_crossentropy(in["y"], logits, {.from_logits = true}), softmax(logits));
}

Outputs sentence_net(const Features& in) {
  Tensor x = embedding(in["x"], {.input_dim = 11, .output_dim = 8});
  x = layer_normalization(x + multi_head_attention(x, x, {.num_heads = 2, .key_dim = 4}));
  const Tensor pooled = reduce_mean(x, {1}) + reduce_max(dense(x, {.units = 8, .activation = tanh}), {1});
  const Tensor logits = dense(pooled, {.units = 4});
  return trained(sparse_categorical_crossentropy(in["y"], logits, {.from_logits = true}), softmax(logits));
}

Outputs recurrent_net(const Features& in) {
  const Tensor x = embedding(in["x"], {.input_dim = 11, .output_dim = 8});
  const Tensor steps = lstm(x, {.units = 6, .return_sequences = true});
  const Tensor logits = dense(gru(steps, {.units = 5}), {.units = 4});
  return trained(sparse_categorical_crossentropy(in["y"], logits, {.from_logits = true}), softmax(logits));
}

Arrays rows(int64_t n, const Shape& each, int seed) {
  std::vector<int64_t> dims = each.vec();
  dims.insert(dims.begin(), n);
  return {{"x", Array(wave(n * each.elements(), seed), Shape(dims))}, {"y", Array(classes(n, 4, seed))}};
}
Arrays sentences(int64_t n, int64_t length, int seed) {
  return {{"x", Array(classes(n * length, 11, seed), {n, length})}, {"y", Array(classes(n, 4, seed))}};
}

// Several steps by one bounded program and by static ones.
void expect_one_program(const std::string& device, const TensorFunction& step, FunctionOptions bounded,
                        const std::vector<Arrays>& batches) {
  SCOPED_TRACE(device);
  const Strategy ours(device, {.seed = 3}), theirs(device, {.seed = 3});
  bounded.mode = Mode::kTrain;
  Function one = ours.function(step, bounded), each = theirs.function(step, {.mode = Mode::kTrain});
  for (const Arrays& batch : batches) {
    const Results a = one(batch), b = each(batch);
    EXPECT_NEAR(a["loss"].item(), b["loss"].item(), 1e-6 * std::max(1.0, b["loss"].item()));
    ASSERT_EQ(a["scores"].shape(), b["scores"].shape());
    const std::vector<float> x = a["scores"].to<float>(), y = b["scores"].to<float>();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 2e-6);
    EXPECT_EQ(a.examples(), batch.at("y").dim(0));
  }
  EXPECT_EQ(one.traces(), 1);
  for (const auto& v : theirs.variables()) {
    const std::vector<double> x = ours.read(v.name).to<double>(), y = theirs.read(v.name).to<double>();
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 2e-6 * std::max(1.0, std::fabs(y[i]))) << v.name;
  }
}

const char* const kDynamicOn[] = {"cpu", "tpu-emulator:v3-8"};

TEST(DynamicShapes, RaggedBatchesTrainAsStaticOnes) {
  for (const char* device : kDynamicOn) {
    expect_one_program(device, dense_net, {.max_batch = 64},
                       {rows(64, {5}, 1), rows(40, {5}, 2), rows(8, {5}, 3), rows(64, {5}, 4)});
    expect_one_program(device, image_net, {.max_batch = 32},
                       {rows(24, {6, 6, 2}, 1), rows(32, {6, 6, 2}, 2), rows(16, {6, 6, 2}, 3)});
  }
}

TEST(DynamicShapes, SentencesTrainAsStaticOnes) {
  const BoundedDim batch{"batch", 16}, time{"time", 7};
  const FunctionOptions options{.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}, {"y", {{0, batch}}}}};
  for (const char* device : kDynamicOn)
    for (const TensorFunction net : {sentence_net, recurrent_net})
      expect_one_program(device, net, options,
                         {sentences(16, 7, 1), sentences(8, 3, 2), sentences(16, 1, 3), sentences(8, 5, 4)});
}

// n = 0, 1, .. as "x", and n, 3 n as "minor", whose batch stands last.
Dataset counted(int64_t count, int64_t batch) {
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    const auto n = static_cast<float>(example);
    out.get<float>(0)[0] = n;
    out.get<float>(1)[0] = n, out.get<float>(1)[1] = 3 * n;
    return {};
  };
  return Dataset::from_function(count, {{"x", {DType::kF32, {1}}}, {"minor", {DType::kF32, {2}}, true}}, fill,
                                {.batch_size = batch})
      .take();
}

TEST(DynamicShapes, ALastBatchOfADatasetIsTheSameProgram) {
  for (const char* device : kDynamicOn) {
    const Strategy strategy(device);
    Function mean = strategy.function(
        [](const Features& in) {
          return Outputs{{"mean", reduce_mean(in["x"])},
                         {"minor", reduce_mean(in["minor"])},
                         {"double", {in["x"] * 2, ResultMode::kEach, Joining::kRows}}};
        },
        {.max_batch = 16});
    const Dataset data = counted(40, 16);
    for (int epoch = 0; epoch < 2; ++epoch) {
      EXPECT_EQ(mean(data)["mean"].item(), 7.5);
      EXPECT_EQ(mean(data)["mean"].item(), 23.5);
      const Results last = mean(data);
      EXPECT_EQ(last["mean"].item(), 35.5);
      EXPECT_EQ(last["minor"].item(), 71);
      EXPECT_EQ(last["double"].to<float>(), (std::vector<float>{64, 66, 68, 70, 72, 74, 76, 78}));
      EXPECT_EQ(last.examples(), 8);
      EXPECT_FALSE(mean(data));
    }
    EXPECT_EQ(mean.traces(), 1);
  }
}

TEST(DynamicShapes, TellsWhatDoesNotFitInOneLine) {
  const Strategy strategy("cpu");
  const BoundedDim time{"time", 4};
  Function f = strategy.function(
      [](const Features& in) {
        return Outputs{{"sum", reduce_sum(in["x"])}};
      },
      {.name = "sum", .max_batch = 8, .dynamic_shapes = {{"x", {{1, time}}}}});
  EXPECT_EQ(f({{"x", Array({1.0f, 2.0f, 3.0f}, {1, 3})}})["sum"].item(), 6);
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(Type{DType::kF32, {9, 4}})}});
            }),
            "input 'x' is f32[9,4], axis 0 ('batch') holds at most 8");
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(Type{DType::kF32, {8, 5}})}});
            }),
            "input 'x' is f32[8,5], axis 1 ('time') holds at most 4");
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(Type{DType::kF32, {8}})}});
            }),
            "input 'x' is f32[8], which has no axis 1 to be dynamic");
  EXPECT_EQ(message_of([&] {
              f({{"z", Array(Type{DType::kF32, {8, 2}})}});
            }),
            "sum: dynamic_shapes names the input 'x', which is not given");
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(Type{DType::kF32, {8, 2}})}, {"y", Array(Type{DType::kF32, {7}})}});
            }),
            "input 'y' has 7 of the dynamic dimension 'batch', input 'x' has 8");
  EXPECT_EQ(f({{"x", Array({1.0f, 2.0f}, {2, 1})}})["sum"].item(), 3);  // all is as before
  Function g = strategy.function(
      [](const Features& in) {
        return Outputs{{"x", in["x"]}};
      },
      {.name = "copy", .max_batch = 8});
  EXPECT_EQ(message_of([&] { g(counted(40, 16)); }), "copy: batches have 16 rows, expected max_batch 8");
  EXPECT_EQ(message_of([&] { f(counted(40, 8)); }),
            "sum: dynamic_shapes are of arrays, the features of data have one size; max_batch is of both");
  EXPECT_EQ(message_of([&] { Strategy("tpu-emulator:v3-8").function(dense_net, {.name = "train", .max_batch = 12}); }),
            "train: max_batch is 12, expected a number of rows that is divisible by number of replicas 8");
}

TEST(DynamicShapes, RefusesBoundsThatAreNone) {
  const auto refused = [](const FunctionOptions& options, const char* device = "cpu") {
    return message_of([&] { Strategy(device).function(dense_net, options); });
  };
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(refused({.name = "f", .dynamic_shapes = {{"x", {{0, {"rows", huge}}}}}}),
            "f: dynamic_shapes of 'x': axis 0 is 'rows' of at most 1099511627776, expected a name and 1 to 2147483647");
  EXPECT_EQ(refused({.name = "f", .dynamic_shapes = {{"x", {{1, {"time", 0}}}}}}),
            "f: dynamic_shapes of 'x': axis 1 is 'time' of at most 0, expected a name and 1 to 2147483647");
  EXPECT_EQ(refused({.name = "f", .max_batch = huge}), "f: max_batch is 1099511627776, expected at most 2147483647");
  EXPECT_EQ(refused({.name = "f", .dynamic_shapes = {{"x", {{0, {"rows", 8}}}}, {"y", {{0, {"rows", 16}}}}}}),
            "f: dynamic_shapes: 'rows' is at most 8 in input 'x' and 16 in input 'y', expected one number");
  const DynamicShapes both_axes = {{"x", {{0, {"rows", 8}}}}, {"y", {{1, {"rows", 8}}}}};
  EXPECT_EQ(refused({.name = "f", .dynamic_shapes = both_axes}, "tpu-emulator:v3-8"),
            "f: dynamic_shapes: 'rows' is axis 0 of input 'x' and axis 1 of input 'y', of which 8 units share axis 0 "
            "only");
  EXPECT_EQ(refused({.name = "f", .dynamic_shapes = both_axes}), "no error");
  EXPECT_EQ(refused({.name = "f", .max_batch = 8, .dynamic_shapes = {{"x", {{0, {"rows", 16}}}}}}),
            "f: dynamic_shapes of 'x': axis 0 is 'rows' of at most 16, expected 'batch' of max_batch 8");
}

// No machine has 2^47 bytes of memory.
TEST(DynamicShapes, ABoundForWhichThereIsNoMemoryIsAnErrorOfOneLine) {
  const auto sum = [](const Features& in) { return Outputs{{"sum", reduce_sum(in["x"])}}; };
  Function f = Strategy("cpu").function(sum, {.dynamic_shapes = {{"x", {{0, {"rows", INT32_MAX}}}}}});
  const std::string error = message_of([&] { f({{"x", Array(wave(1 << 14, 1), {1, 1 << 14})}}); });
  EXPECT_TRUE(error.starts_with(
      "no memory for input 'x' at its bounds, f32[2147483647,16384]: it takes 140737488289792 bytes, "))
      << error;
  Function small = Strategy("cpu").function(sum, {.dynamic_shapes = {{"x", {{0, {"rows", 1 << 14}}}}}});
  EXPECT_EQ(small({{"x", Array({1.0f, 2.0f}, {1, 2})}})["sum"].item(), 3);
}

TEST(DynamicShapes, TellsTheSizesOfAllUnitsTogether) {
  Function f = Strategy("tpu-emulator:v3-8").function(dense_net, {.mode = Mode::kTrain, .max_batch = 64});
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(wave(32 * 5, 1), {32, 5})}, {"y", Array(classes(16, 4, 1))}});
            }),
            "input 'y' has 16 of the dynamic dimension 'batch', input 'x' has 32");
}

const BoundedDim kRows{"rows", 16};

// Of a function of x[<=16,3], z[16,3] and w[16] on so many of x.
std::string error_beside_one_size(const std::string& device, const std::function<Tensor(Tensor, Tensor)>& both,
                                  bool z_is_dynamic = false, int64_t rows = 8) {
  FunctionOptions options{.name = "both", .dynamic_shapes = {{"x", {{0, kRows}}}}};
  if (z_is_dynamic) options.dynamic_shapes["z"] = {{0, kRows}};
  Function f = Strategy(device).function(
      [&](const Features& in) {
        return Outputs{{"y", reduce_mean(both(in["x"], in["z"]))}};
      },
      options);
  return message_of([&] {
    f({{"x", Array(wave(rows * 3, 1), {rows, 3})},
       {"z", Array(wave((z_is_dynamic ? rows : 16) * 3, 2), {z_is_dynamic ? rows : 16, 3})}});
  });
}

// Its first rows are no batch: who forgot an input in dynamic_shapes is told.
TEST(DynamicShapes, AnInputOfOneSizeIsNoPartOfADynamicDimension) {
  const std::vector<std::function<Tensor(Tensor, Tensor)>> wrong = {
      [](Tensor x, Tensor z) { return x + z; },
      [](Tensor x, Tensor z) { return mean_squared_error(z, x); },
      [](Tensor x, Tensor z) { return relu(x) * relu(z * 2 + 1); },
      [](Tensor x, Tensor z) { return x - expand_dims(reduce_sum(z, {1}), -1); },
      [](Tensor x, Tensor z) {
        return dot(transpose(z, {1, 0}), x);
      },
      [](Tensor x, Tensor z) {
        return concat({x, z}, 1);
      },
      [](Tensor x, Tensor z) { return reshape(reshape(z, {z.elements()}), z.shape()) / x; },
      [](Tensor x, Tensor z) { return dense(z, {.units = 3}) + dense(x, {.units = 3}); },
      [](Tensor x, Tensor z) { return batch_normalization(z) + x; },
      [](Tensor x, Tensor z) { return select(compare(z, x, CompareKind::kGt), x, scalar_like(x, 0)); },
  };
  for (const char* device : kDynamicOn)
    for (size_t i = 0; i < wrong.size(); ++i) {
      SCOPED_TRACE(i);
      const std::string error = error_beside_one_size(device, wrong[i]);
      EXPECT_NE(error.find(": axis 0 of input 'z' has 16 elements always, axis 0 of input 'x' has at most 16 ('rows'); "
                           "expected 'rows' of both in dynamic_shapes"),
                std::string::npos)
          << error;
      EXPECT_EQ(error.find('\n'), std::string::npos);
      EXPECT_EQ(error_beside_one_size(device, wrong[i], true), "no error");
    }
}

// What is one for all rows, or belongs to places as a table does, is taken as it is.
TEST(DynamicShapes, AnInputOfOneSizeMayStandBesideADynamicDimension) {
  const std::vector<std::function<Tensor(Tensor, Tensor)>> right = {
      [](Tensor x, Tensor z) {
        return x + slice(z, {0, 0}, {1, 3}, {});
      },
      [](Tensor x, Tensor z) { return x * reduce_mean(z * z); },
      [](Tensor x, Tensor z) {
        return dot(x, transpose(z, {1, 0}));
      },
      [](Tensor x, Tensor z) { return x + gather(z, iota(*x.graph(), DType::kI32, {x.dim(0)}, 0), 0); },
      [](Tensor x, Tensor z) {
        return x + variable(z, "table", {x.dim(0), 3}, ones());
      },
      [](Tensor x, Tensor z) { return softmax(z + z * z, 0) * reduce_sum(x); },
  };
  for (const char* device : kDynamicOn)
    for (size_t i = 0; i < right.size(); ++i)
      EXPECT_EQ(error_beside_one_size(device, right[i]), "no error") << device << " " << i;
}

TEST(DynamicShapes, PaddedStepsAreNoDynamicStepsEither) {
  Function f = Strategy("cpu").function(
      [](const Features& in) {
        return Outputs{{"y", reduce_mean(in["x"] * in["mask"])}};
      },
      {.max_batch = 4, .dynamic_shapes = {{"x", {{1, {"time", 6}}}}}});
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(wave(8, 1), {2, 4})}, {"mask", Array(wave(12, 2), {2, 6})}});
            }),
            "mul 'mul': axis 1 of input 'mask' has 6 elements always, axis 1 of input 'x' has at most 6 ('time'); "
            "expected 'time' of both in dynamic_shapes");
}

// The emulator of a TPU predicts both forms; the bounded one computes its bound whatever there is.
TEST(DynamicShapes, BothFormsHaveAForecast) {
  EXPECT_FALSE(Strategy("cpu").function(dense_net, {.max_batch = 8}).forecast(rows(8, {5}, 1)));
  const Strategy bounded("tpu-emulator:v2-8"), fixed("tpu-emulator:v2-8");
  const int64_t most = 16384;
  Function one = bounded.function(dense_net, {.mode = Mode::kTrain, .max_batch = most});
  Function each = fixed.function(dense_net, {.mode = Mode::kTrain});
  const auto device_ms = [](Function& f, int64_t n) { return f.forecast(rows(n, {5}, 1))->device_ms; };
  EXPECT_EQ(device_ms(one, most), device_ms(one, most / 8));
  EXPECT_GE(device_ms(one, most), device_ms(each, most));
  EXPECT_GT(device_ms(each, most), device_ms(each, most / 8));
  EXPECT_TRUE(bounded.variables().empty());  // asking made nothing
  EXPECT_EQ(one.traces(), 0);
  EXPECT_EQ(one.forecast(rows(8, {5}, 1))->kernels.at(0).name.empty(), false);
}

// In the words of a TPU, and with the layer's name.
TEST(DynamicShapes, AConvolutionOverOneIsRefusedOnEveryDevice) {
  for (const char* device : kDynamicOn) {
    const BoundedDim height{"height", 274}, width{"width", 286};
    Function f = Strategy(device).function(
        [](const Features& in) {
          return Outputs{{"y", conv2d(in["x"], {.filters = 4, .kernel = 3})}};
        },
        {.max_batch = 64, .dynamic_shapes = {{"x", {{1, height}, {2, width}}}}});
    const std::string error = message_of([&] { f({{"x", Array(Type{DType::kF32, {8, 30, 40, 3}})}}); });
    const std::string rows = device == std::string("cpu") ? "64" : "8";
    EXPECT_NE(error.find("'conv2d"), std::string::npos) << error;
    EXPECT_NE(
        error.find("Dynamic Spatial Convolution is not supported: lhs shape is f32[<=" + rows + ",<=274,<=286,3]"),
        std::string::npos)
        << error;
  }
}

TEST(DynamicShapes, AVariableHasNone) {
  const Strategy strategy("cpu");
  Function keep = strategy.function(
      [](const Features& in) {
        const Tensor last = variable(in["x"], "last", {4}, zeros(), false);
        assign(last, in["x"]);
        return Outputs{};
      },
      {.max_batch = 4});
  EXPECT_EQ(message_of([&] {
              keep({{"x", {1.0f, 2.0f}}});
            }),
            "variable 'last' was assigned f32[<=4], which has a dynamic dimension");
}

}  // namespace
}  // namespace tenon
