// One program for batches and sentences of all sizes, held against a program that is compiled for each size.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/augmentation.h"
#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/recurrent.h"
#include "unit/step/dynamic_testing.h"

namespace tenon {
namespace {

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

TEST(DynamicShapes, RaggedBatchesTrainAsStaticOnes) {
  for (const std::string& device : dynamic_devices()) {
    expect_one_program(device, dense_net, {.max_batch = 64},
                       {rows(64, {5}, 1), rows(40, {5}, 2), rows(8, {5}, 3), rows(64, {5}, 4)});
    expect_one_program(device, image_net, {.max_batch = 32},
                       {rows(24, {6, 6, 2}, 1), rows(32, {6, 6, 2}, 2), rows(16, {6, 6, 2}, 3)});
  }
}

Outputs circle_net(const Features& in) {
  const Tensor points = unit_normalization(dense(in["x"], {.units = 3}));
  return trained(circle(in["y"], points, {.gamma = 2}), points);
}

Outputs ctc_net(const Features& in) {
  const Tensor logits = dense(in["x"], {.units = 4});
  return trained(ctc(reshape(in["y"], {in["y"].dim(0), 1}), logits), softmax(logits));
}

// On several units the circle loss takes no dynamic batch: rows of other units are not in one place.
TEST(DynamicShapes, RaggedBatchesCostWhatStaticOnesDo) {
  expect_one_program("cpu", circle_net, {.max_batch = 64}, {rows(64, {5}, 1), rows(40, {5}, 2), rows(8, {5}, 3)});
  for (const std::string& device : dynamic_devices())
    expect_one_program(device, ctc_net, {.max_batch = 32},
                       {rows(24, {6, 2}, 1), rows(32, {6, 2}, 2), rows(16, {6, 2}, 3)});
}

// What is behind the examples of a ragged batch is mixed into none of them.
TEST(DynamicShapes, RaggedBatchesAreMixedAmongThemselves) {
  for (const std::string& device : dynamic_devices()) {
    const Strategy strategy(device);
    Function mix = strategy.function(
        [](const Features& in) {
          const Tensors all = cut_mix(mix_up({in["x"], in["y"]}, {.alpha = 1}));
          return Outputs{{"x", {all[0], ResultMode::kEach, Joining::kRows}},
                         {"y", {all[1], ResultMode::kEach, Joining::kRows}}};
        },
        {.mode = Mode::kTrain, .max_batch = 64});
    for (const int64_t n : {64, 40, 24}) {
      const Array images(std::vector<float>(static_cast<size_t>(n * 9), 5), {n, 3, 3, 1});
      const Results mixed = mix({{"x", images}, {"y", Array(std::vector<float>(static_cast<size_t>(n), 1), {n, 1})}});
      ASSERT_EQ(mixed["y"].shape(), (Shape{n, 1}));
      for (const float x : mixed["x"].to<float>()) EXPECT_NEAR(x, 5, 1e-5);
      for (const float y : mixed["y"].to<float>()) EXPECT_NEAR(y, 1, 1e-6);
    }
  }
}

TEST(DynamicShapes, SentencesTrainAsStaticOnes) {
  const BoundedDim batch{"batch", 16}, time{"time", 7};
  const FunctionOptions options{.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}, {"y", {{0, batch}}}}};
  for (const std::string& device : dynamic_devices())
    for (const TensorFunction net : {sentence_net, recurrent_net})
      expect_one_program(device, net, options,
                         {sentences(16, 7, 1), sentences(8, 3, 2), sentences(16, 1, 3), sentences(8, 5, 4)});
}

// Sentences whose words end with zeros or have some between them; those of row 2 are none.
Arrays padded_sentences(int64_t n, int64_t length, int seed) {
  std::vector<int32_t> words = classes(n * length, 11, seed);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t t = 0; t < length; ++t)
      if (t >= 1 + (r * 3 + seed) % (length + 1) || r == 2 || (r + t) % 5 == 4)
        words[static_cast<size_t>(r * length + t)] = 0;
  return {{"x", Array(words, {n, length})}, {"y", Array(classes(n, 4, seed))}};
}

// What a layer over steps gives, sequences or not, decides on the class.
TensorFunction classified_by(std::function<Tensor(Tensor)> layer, bool mask) {
  return [layer, mask](const Features& in) {
    const Tensor y = layer(embedding(in["x"], {.input_dim = 11, .output_dim = 6, .mask_zero = mask}));
    const Tensor pooled = y.rank() == 3 ? reduce_max(y, {1}) + reduce_mean(y, {1}) : y;
    const Tensor logits = dense(pooled, {.units = 4});
    return trained(sparse_categorical_crossentropy(in["y"], logits, {.from_logits = true}), softmax(logits));
  };
}

template <class Layer, class Options>
void expect_one_program_of(const Options& given) {
  const BoundedDim batch{"batch", 16}, time{"time", 7};
  const FunctionOptions dynamic{.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}, {"y", {{0, batch}}}}};
  for (const std::string& device : dynamic_devices())
    for (int which = 0; which < 8; ++which) {
      Options o = given;
      if (device != "cpu" && which != 3 && which != 5) continue;  // each compiles five programs
      const bool mask = which & 1;
      o.return_sequences = which & 2;
      o.go_backwards = which & 4;
      SCOPED_TRACE(which);
      expect_one_program(device, classified_by([o](Tensor x) { return Layer(o)(x); }, mask), dynamic,
                         {padded_sentences(16, 7, 1), padded_sentences(8, 3, 2), padded_sentences(16, 1, 3),
                          padded_sentences(8, 5, 4)});
    }
}

TEST(DynamicShapes, LayersOverStepsEndWithTheSentenceAndHeedItsMask) {
  expect_one_program_of<SimpleRNN>(SimpleRNNOptions{.units = 5});
  expect_one_program_of<LSTM>(LSTMOptions{.units = 5});
  expect_one_program_of<GRU>(GRUOptions{.units = 5});
  expect_one_program_of<GRU>(GRUOptions{.units = 5, .reset_after = false});
  expect_one_program_of<LSTM>(LSTMOptions{.units = 5, .zero_output_for_mask = true});
}

TEST(DynamicShapes, TheLastStatesAreThoseOfTheLastStepThatIsThere) {
  const auto states = [](Tensor x) {
    const Tensors out = LSTM({.units = 4, .return_state = true}).all({x});
    const Tensors more = GRU({.units = 4, .return_state = true}).all({x, out[1]});
    return concat({out[0], out[1], out[2], more[0], more[1]}, 1);
  };
  const auto both_ways = [](Tensor x) {
    const Tensor ways = Bidirectional(LSTM({.units = 3, .return_sequences = true}))(x);
    return Bidirectional(GRU({.units = 3}))(ways);
  };
  const BoundedDim batch{"batch", 16}, time{"time", 7};
  const FunctionOptions dynamic{.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}, {"y", {{0, batch}}}}};
  for (const std::string& device : dynamic_devices())
    for (const bool mask : {false, true})
      for (const std::function<Tensor(Tensor)>& layer :
           {std::function<Tensor(Tensor)>(states), std::function<Tensor(Tensor)>(both_ways)})
        expect_one_program(device, classified_by(layer, mask), dynamic,
                           {padded_sentences(16, 7, 1), padded_sentences(8, 2, 2), padded_sentences(16, 6, 3)});
}

// Those that heed a mask by themselves, and losses of each step.
TEST(DynamicShapes, OtherLayersAndLossesHeedTheMaskOfDynamicSteps) {
  const auto pooled = [](Tensor x) {
    const Tensor seen = MultiHeadAttention({.num_heads = 2, .key_dim = 3})({x, x});
    return global_average_pool1d(BatchNormalization()(seen));
  };
  const TensorFunction tagged = [](const Features& in) {
    const Tensor x = Embedding({.input_dim = 11, .output_dim = 6, .mask_zero = true})(in["x"]);
    const Tensor logits = Dense(4)(Bidirectional(LSTM({.units = 3, .return_sequences = true}))(x));
    const Tensor labels = cast(compare(in["x"], full_like(in["x"], 5), CompareKind::kGt), DType::kI32);
    const Tensor loss = SparseCategoricalCrossentropy({.from_logits = true})(labels, logits);
    return trained(loss + 0 * reduce_mean(cast(in["y"], DType::kF32)), reduce_sum(softmax(logits), {1}));
  };
  const BoundedDim batch{"batch", 16}, time{"time", 7};
  const FunctionOptions dynamic{.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}, {"y", {{0, batch}}}}};
  const std::vector<Arrays> batches = {padded_sentences(16, 7, 1), padded_sentences(8, 4, 2),
                                       padded_sentences(16, 6, 3)};
  for (const std::string& device : dynamic_devices()) {
    expect_one_program(device, classified_by(pooled, true), dynamic, batches);
    expect_one_program(device, tagged, dynamic, batches);
  }
}

// Each call goes on from the last step that the one before had.
TEST(DynamicShapes, AStatefulLayerTakesChunksOfAnyLength) {
  const TensorFunction read = [](const Features& in) {
    return Outputs{{"y", LSTM({.units = 3, .stateful = true, .name = "reader"})(in["x"])}};
  };
  const auto chunk = [](int64_t steps) { return Arrays{{"x", Array(wave(2 * steps * 2, 1), {2, steps, 2})}}; };
  const Strategy ours("cpu", {.seed = 3}), theirs("cpu", {.seed = 3});
  Function one = ours.function(read, {.dynamic_shapes = {{"x", {{1, {"time", 6}}}}}}), each = theirs.function(read);
  for (const int64_t steps : {3, 6, 1, 4}) {
    const std::vector<float> y = one(chunk(steps))["y"].to<float>(), z = each(chunk(steps))["y"].to<float>();
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-6) << steps;
  }
  EXPECT_EQ(one.traces(), 1);
  EXPECT_EQ(each.traces(), 4);
}

// Words behind the end of the array, but for its mask, would be the first that a layer sees which goes backwards.
TEST(DynamicShapes, BackwardsBeginsAtTheRealEnd) {
  const BoundedDim batch{"batch", 8}, time{"time", 9};
  Function last = Strategy("cpu").function(
      [](const Features& in) {
        const Tensor x = reverse(in["x"], {1});
        return Outputs{{"x", x}, {"first", slice(x, {0, 0, 0}, {x.dim(0), 1, 1}, {})}};
      },
      {.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}}});
  const Results r = last({{"x", Array({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3, 1})}});
  EXPECT_EQ(r["x"].to<float>(), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(r["first"].to<float>(), (std::vector<float>{3, 6}));
}

TEST(DynamicShapes, ALastBatchOfADatasetIsTheSameProgram) {
  for (const std::string& device : dynamic_devices()) {
    const Strategy strategy(device);
    Function mean = strategy.function(
        [](const Features& in) {
          return Outputs{{"mean", reduce_mean(in["x"])},
                         {"minor", reduce_mean(in["minor"])},
                         {"double", {in["x"] * 2, ResultMode::kEach, Joining::kRows}}};
        },
        {.max_batch = 16});
    const Dataset data = counted_data(40, 16);
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

}  // namespace
}  // namespace tenon
