// Models of padded sequences: losses and metrics against Keras 3.15.1 (JAX, f32) on the same data and first weights.
#include "tenon/masking.h"

#include <gtest/gtest.h>

#include "tenon/recurrent.h"
#include "unit/model/model_data_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

// 2 to 5 words each; 0 pads.
Array padded_text() {
  std::vector<int32_t> words;
  for (int64_t i = 0; i < kExamples * 5; ++i)
    words.push_back(i % 5 < 2 + i / 5 % 4 ? static_cast<int32_t>(3 * i % 7) : 0);
  return Array(words, {kExamples, 5});
}
Array label_of_each_word() {
  std::vector<int32_t> y;
  for (int64_t i = 0; i < kExamples * 5; ++i) y.push_back(static_cast<int32_t>(i % 3));
  return Array(y, {kExamples, 5});
}

EmbeddingOptions words(int64_t size) {
  return {.input_dim = 7, .output_dim = size, .embeddings_initializer = &patterned, .mask_zero = true};
}

Sequential tagger() {
  const LSTM lstm(
      {.units = 2, .kernel_initializer = &patterned, .recurrent_initializer = &patterned, .return_sequences = true});
  return Sequential({Embedding(words(3)), Bidirectional(lstm), LayerNormalization(), Dense(dense_of(3))});
}

CompileOptions masked_sgd(const char* device = "cpu") {
  return {.optimizer = SGD(0.1),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .metrics = {"accuracy"},
          .weighted_metrics = {SparseCategoricalCrossentropy({.from_logits = true, .name = "wce"})},
          .strategy = Strategy(device)};
}

FitOptions three_epochs() { return {.batch_size = 10, .epochs = 3, .verbose = Verbose::kSilent, .shuffle = false}; }

void expect_each(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << "number " << i;
}

TEST(Masking, CountsTheStepsOfTextsAsKeras) {
  Sequential model = tagger();
  model.compile(masked_sgd());
  const History h = model.fit(padded_text(), label_of_each_word(), three_epochs());
  expect_each(h["loss"], {1.1363308, 1.1169608, 1.1110834});
  const Logs found =
      model.evaluate(padded_text(), label_of_each_word(), {.batch_size = 10, .verbose = Verbose::kSilent});
  expect_each({found.at("loss"), found.at("accuracy"), found.at("wce")}, {1.1084427, 0.3055556, 1.1094984});
}

TEST(Masking, MultipliesSampleWeightsAsKeras) {
  Sequential model = tagger();
  model.compile(masked_sgd());
  std::vector<float> weights;
  for (int64_t i = 0; i < kExamples; ++i) weights.push_back(static_cast<float>(1 + i % 4) / 2);
  const History h = model.fit(FitData(padded_text(), label_of_each_word(), Array(weights)), three_epochs());
  expect_each(h["loss"], {1.6274189, 1.6001024, 1.5829936});
  const Logs found = model.evaluate(FitData(padded_text(), label_of_each_word(), Array(weights)),
                                    {.batch_size = 10, .verbose = Verbose::kSilent});
  expect_each({found.at("loss"), found.at("accuracy"), found.at("wce")}, {1.5614344, 0.3194445, 1.0974511});
}

TEST(Masking, SkipsStepsOfOneValueAsKeras) {
  std::vector<float> steps = pattern(kExamples * 5 * 2, 7, 11, 5, 4);
  for (int64_t i = 0; i < kExamples * 5; ++i)
    if (i % 5 >= 2 + i / 5 % 4) steps[static_cast<size_t>(2 * i)] = steps[static_cast<size_t>(2 * i + 1)] = 0.25f;
  Sequential model({tenon::Masking({.mask_value = 0.25}),
                    GRU({.units = 3, .kernel_initializer = &patterned, .recurrent_initializer = &patterned}),
                    Dense(dense_of(3))});
  model.compile(masked_sgd());
  const History h = model.fit(Array(steps, {kExamples, 5, 2}), labels(), three_epochs());
  expect_each(h["loss"], {1.1111526, 1.1103797, 1.1096909});
  expect_each(h["accuracy"], {0.3333333, 0.3333333, 0.3333333});
}

void expect_attention(bool causal, const std::vector<double>& losses) {
  const Symbol text = Input({5}, DType::kI32), embedded = Embedding(words(4))(text);
  const Symbol seen =
      MultiHeadAttention({.num_heads = 2, .key_dim = 2, .kernel_initializer = &patterned, .use_causal_mask = causal})(
          {embedded, embedded});
  Model model({text}, {Dense(dense_of(3))(GlobalAveragePooling1D()(Add()({seen, embedded})))});
  model.compile(masked_sgd());
  expect_each(model.fit(padded_text(), labels(), three_epochs())["loss"], losses);
}

TEST(Masking, AttendsToWhatCountsAsKeras) {
  expect_attention(true, {1.112685, 1.1115521, 1.1104832});
  expect_attention(false, {1.115504, 1.1142198, 1.1130188});
}

// Each unit has another number of words: the loss is still the mean over the words of the batch.
TEST(Masking, CountsTheStepsOfAllUnits) {
  const auto loss_on = [](const char* device) {
    Sequential model = tagger();
    model.compile(masked_sgd(device));
    return model.test_on_batch(padded_text(), label_of_each_word()).at("loss");
  };
  EXPECT_NEAR(loss_on("tpu-emulator:v2-8"), loss_on("cpu"), 1e-4);  // products in bf16
}

TEST(Masking, OfATensorIsReadSetAndTakenAway) {
  Strategy strategy("cpu");
  Function f = strategy.function([](const Features& in) {
    const Tensor x = in["x"], y = masking(x);
    EXPECT_FALSE(mask_of(x));
    EXPECT_EQ(mask_of(y).type(), (Type{DType::kBool, {1, 3}}));
    EXPECT_TRUE(mask_of(dense(y, {.units = 2})));
    EXPECT_TRUE(mask_of(relu(dropout(layer_normalization(y), 0.5))));
    EXPECT_FALSE(mask_of(conv1d(y, {.filters = 2})));
    EXPECT_FALSE(mask_of(gru(y, {.units = 2})));
    const Tensor mine = y * 2.0;
    set_mask(mine, mask_of(y));
    EXPECT_TRUE(mask_of(mine));
    set_mask(mine, {});
    EXPECT_FALSE(mask_of(mine));
    return Outputs{{"y", y}, {"counts", cast(mask_of(y), DType::kI32)}};
  });
  const Results r = f({{"x", Array({0.0f, 1.0f, 0.0f, 0.0f, 2.0f, 0.0f}, {1, 3, 2})}});
  EXPECT_EQ(r["counts"].to<int>(), (std::vector<int>{1, 0, 1}));
}

// Keras's rules: of merged tensors either mask, where all have one; of concatenated ones each its own part.
TEST(Masking, OfMergedTensors) {
  Strategy strategy("cpu");
  Function f = strategy.function([](const Features& in) {
    const Tensor a = masking(in["a"]), b = masking(in["b"]);
    EXPECT_FALSE(mask_of(add({a, in["b"]})));
    return Outputs{{"added", cast(mask_of(add({a, b})), DType::kI32)},
                   {"joined", cast(mask_of(concatenate({a, b}, 1)), DType::kI32)},
                   {"beside", cast(mask_of(concatenate({a, in["b"]}, 1)), DType::kI32)},
                   {"wider", cast(mask_of(concatenate({a, b})), DType::kI32)}};
  });
  const Results r = f({{"a", Array({1.0f, 0.0f, 0.0f}, {1, 3, 1})}, {"b", Array({0.0f, 2.0f, 0.0f}, {1, 3, 1})}});
  EXPECT_EQ(r["added"].to<int>(), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(r["wider"].to<int>(), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(r["joined"].to<int>(), (std::vector<int>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(r["beside"].to<int>(), (std::vector<int>{1, 0, 0, 1, 1, 1}));
}

TEST(Masking, OfNothingThatCountsIsZero) {
  Strategy strategy("cpu");
  Function f = strategy.function([](const Features& in) {
    const Tensor x = masking(in["x"]);
    return Outputs{{"mean", global_average_pool1d(x)},
                   {"loss", Loss("mse")(in["x"], x)},
                   {"ran", lstm(x, {.units = 2, .bias_initializer = ones()})}};
  });
  const Results r = f({{"x", Array({0.0f, 0.0f, 0.0f, 0.0f}, {1, 4, 1})}});
  EXPECT_EQ(r["mean"].to<float>(), std::vector<float>{0});
  EXPECT_EQ(r["loss"].item(), 0);
  EXPECT_EQ(r["ran"].to<float>(), (std::vector<float>{0, 0}));
}

TEST(Masking, SaysWhatDoesNotFit) {
  Strategy strategy("cpu");
  const auto message = [&](const std::function<void(Tensor)>& call) {
    try {
      strategy.function([&](const Features& in) {
        call(in["x"]);
        return Outputs{{"x", in["x"]}};
      })({{"x", Array(std::vector<float>(12), {2, 3, 2})}});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message([](Tensor x) {
              set_mask(x, slice(x, {0, 0, 0}, {2, 2, 1}, {}));
            }).find("set_mask: the mask is f32[2,2,1], expected the first sizes of f32[2,3,2]"),
            std::string::npos);
  EXPECT_NE(
      message([](Tensor x) { masking(reshape(x, {12})); }).find("masking 'masking': input is f32[12], expected rank"),
      std::string::npos);
}

}  // namespace
}  // namespace tenon
