// The Transformer of apps/models on cpu.so: its size, its causal mask, and that it learns.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/models.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

constexpr int kLength = 5;
constexpr int kTokens = 10;  // 0 begins the target, 1 to 9 are words

// The bench case of that name on one example.
Estimator::ParameterCount parameters_of(const char* name) {
  const models::BenchCase* c = models::find_bench_case(name);
  EXPECT_NE(c, nullptr) << name;
  std::vector<FeatureSpec> specs;
  for (const models::BenchFeature& f : c->features)
    specs.push_back({f.name, {f.below ? DType::kI32 : DType::kF32, f.example}});
  const auto nothing = [](int64_t, const Sample&, Slots&) { return Status(); };
  const Dataset data = Dataset::from_function(1, specs, nothing, {.batch_size = 1}).take();
  return Estimator(c->model, {.device = "cpu"}, c->params).count_parameters(data).take();
}

// With d the model's size, f the feed-forward's, V the vocabulary: attention 4 d^2 + 4 d, feed-forward 2 d f + f + d,
// a normalisation 2 d. An encoder layer has one, one and two of them, a decoder layer two, one and three, and each side
// ends with a normalisation; the embeddings are V d.
TEST(Transformer, HasTheParametersOfItsFormula) {
  const auto expected = [](int64_t d, int64_t layers, int64_t f, int64_t v) {
    const int64_t attention = 4 * d * d + 4 * d, feed_forward = 2 * d * f + f + d, norm = 2 * d;
    return v * d + layers * (3 * attention + 2 * feed_forward + 5 * norm) + 2 * norm;
  };
  EXPECT_EQ(expected(512, 6, 2048, 32000), 60524544);
  for (const char* name : {"transformer_base", "transformer_base_d0"}) {
    EXPECT_EQ(parameters_of(name).total, 60524544);
    EXPECT_EQ(parameters_of(name).trainable, 60524544);
  }
  EXPECT_EQ(parameters_of("transformer_small").total, expected(128, 4, 512, 8000));
}

// With 33,708 subtokens those of TensorFlow's Transformer; sizes that are given stand in for those of a param_set.
TEST(Transformer, HasTheParametersOfItsOriginal) {
  const std::vector<FeatureSpec> specs{{"inputs", {DType::kI32, {4}}}, {"label", {DType::kI32, {4}}}};
  const auto nothing = [](int64_t, const Sample&, Slots&) { return Status(); };
  const Dataset data = Dataset::from_function(1, specs, nothing, {.batch_size = 1}).take();
  const auto parameters = [&](Params params) {
    params.set("vocab_size", int64_t{33708});
    params.set("optimizer", std::string("sgd"));
    params.set("learning_rate", 1.0);
    return Estimator(models::transformer, {.device = "cpu"}, params).count_parameters(data).take().total;
  };
  EXPECT_EQ(parameters({{"param_set", std::string("tiny")}}), 1354496);
  EXPECT_EQ(parameters({{"param_set", std::string("base")}}), 61362176);
  EXPECT_EQ(parameters({{"param_set", std::string("big")}}), 210804736);
  EXPECT_EQ(parameters({{"param_set", std::string("tiny")},
                        {"hidden_size", int64_t{512}},
                        {"num_heads", int64_t{8}},
                        {"filter_size", int64_t{2048}}}),
            61362176);
}

// GPT-2's smallest, with its 50,257 tokens and 1,024 places.
TEST(Gpt, HasTheParametersOfItsOriginal) {
  const std::vector<FeatureSpec> specs{{"tokens", {DType::kI32, {1024}}}};
  const auto nothing = [](int64_t, const Sample&, Slots&) { return Status(); };
  const Dataset data = Dataset::from_function(1, specs, nothing, {.batch_size = 1}).take();
  const Params params{{"param_set", std::string("small")},
                      {"vocab_size", int64_t{50257}},
                      {"max_length", int64_t{1024}},
                      {"optimizer", std::string("sgd")},
                      {"learning_rate", 1.0}};
  EXPECT_EQ(Estimator(models::gpt, {.device = "cpu"}, params).count_parameters(data).take().total, 124439808);
}

// Sentence n of random words, and the same backwards as what is asked for. `from` and later words of the decoder's
// input are other ones.
Dataset reversals(int64_t first, int64_t count, InputOptions options, int from = kLength) {
  const std::vector<FeatureSpec> specs{
      {"source", {DType::kI32, {kLength}}}, {"target", {DType::kI32, {kLength}}}, {"label", {DType::kI32, {kLength}}}};
  const auto fill = [=](int64_t example, const Sample&, Slots& out) -> Status {
    SampleRandom random(7, 0, static_cast<uint64_t>(first + example));
    const auto source = out.get<int32_t>(0), target = out.get<int32_t>(1), label = out.get<int32_t>(2);
    for (int32_t& word : source) word = 1 + random.below(kTokens - 1);
    std::reverse_copy(source.begin(), source.end(), label.begin());
    target[0] = 0;
    std::copy(label.begin(), label.end() - 1, target.begin() + 1);
    for (auto i = static_cast<size_t>(from); i < kLength; ++i) target[i] = target[i] % (kTokens - 1) + 1;
    return {};
  };
  return Dataset::from_function(count, specs, fill, options).take();
}

Params tiny(double dropout) {
  return {{"d_model", int64_t{32}},
          {"layers", int64_t{1}},
          {"heads", int64_t{2}},
          {"ffn", int64_t{64}},
          {"vocabulary", int64_t{kTokens}},
          {"dropout", dropout},
          {"optimizer", std::string("adam")},
          {"learning_rate", 0.005}};
}

std::vector<std::vector<float>> probabilities(Estimator& estimator, const Dataset& data) {
  std::vector<std::vector<float>> out;
  const Status status = estimator.predict(data, [&](int64_t, const auto& values) {
    const auto p = values.at("probabilities");
    out.emplace_back(p.begin(), p.end());
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// 20,000 of the 9^5 sentences, most of them seen once or twice; measured on others.
TEST(Transformer, LearnsToReverseSentencesItNeverSaw) {
  const TemporaryDirectory directory;
  Estimator estimator(models::transformer_case, {.model_dir = directory.path(), .device = "cpu"}, tiny(0.05));
  const Dataset unseen = reversals(1000000, 200, {.batch_size = 50});
  const InputOptions training{.batch_size = 64, .training = true, .repeat = true, .drop_remainder = true};
  const auto trained = estimator.train({.input = reversals(0, 20000, training), .max_steps = 700});
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  const EvalResult result = estimator.evaluate({.input = unseen}).take();
  EXPECT_LT(result.at("loss"), 0.05);  // a guess: ln 9 = 2.2
  EXPECT_GT(result.at("accuracy"), 0.98);

  // Words from 3 on are others: what was said before them is the same to the bit.
  const auto plain = probabilities(estimator, unseen);
  const auto other = probabilities(estimator, reversals(1000000, 200, {.batch_size = 50}, 3));
  ASSERT_EQ(plain.size(), 200u);
  ASSERT_EQ(plain[0].size(), static_cast<size_t>(kLength * kTokens));
  int changed = 0;
  for (size_t n = 0; n < plain.size(); ++n) {
    const auto seen = plain[n].begin() + 3 * kTokens;
    EXPECT_TRUE(std::equal(plain[n].begin(), seen, other[n].begin())) << "sentence " << n;
    changed += !std::equal(seen, plain[n].end(), other[n].begin() + 3 * kTokens);
  }
  EXPECT_EQ(changed, 200);
}

// Sentences of 1 to kWords words and an end, 0 behind it; asked for is the same backwards.
constexpr int kWords = 5;
void fill_reversal(int64_t example, std::span<int32_t> source, std::span<int32_t> target) {
  SampleRandom random(11, 0, static_cast<uint64_t>(example));
  const auto words = static_cast<size_t>(1 + random.below(kWords));
  std::fill(source.begin(), source.end(), 0);
  std::fill(target.begin(), target.end(), 0);
  for (size_t i = 0; i < words; ++i) source[i] = 2 + random.below(kTokens - 2);
  std::reverse_copy(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(words), target.begin());
  source[words] = target[words] = 1;
}

Dataset reversed_pairs(int64_t first, int64_t count, InputOptions options) {
  const Type row{DType::kI32, {kWords + 1}};
  const auto fill = [=](int64_t example, const Sample&, Slots& out) -> Status {
    fill_reversal(first + example, out.get<int32_t>(0), out.get<int32_t>(1));
    return {};
  };
  return Dataset::from_function(count, {{"inputs", row}, {"label", row}}, fill, options).take();
}

// Reads the sentence, and writes what it was trained to write: alone or among beams, a token at a time.
TEST(Transformer, WritesWhatItWasTrainedToWrite) {
  const TemporaryDirectory directory;
  const Params params{{"param_set", std::string("tiny")}, {"num_hidden_layers", int64_t{1}},
                      {"vocab_size", int64_t{kTokens}},   {"dropout", 0.0},
                      {"optimizer", std::string("adam")}, {"learning_rate", 0.03}};
  Estimator estimator(models::transformer, {.model_dir = directory.path(), .device = "cpu"}, params);
  const InputOptions training{.batch_size = 64, .training = true, .repeat = true, .drop_remainder = true};
  estimator.train({.input = reversed_pairs(0, 20000, training), .max_steps = 1200}).take();
  EXPECT_GT(estimator.evaluate({.input = reversed_pairs(1000000, 200, {.batch_size = 50})}).take().at("accuracy"),
            0.99);

  Strategy strategy("cpu");
  strategy.warm_start({.ckpt_to_initialize_from = directory.path()});
  constexpr int64_t kSentences = 50;
  std::vector<int32_t> sources(kSentences * (kWords + 1)), targets(sources.size());
  for (size_t i = 0; i < kSentences; ++i)
    fill_reversal(2000000 + static_cast<int64_t>(i), std::span(sources).subspan(i * (kWords + 1), kWords + 1),
                  std::span(targets).subspan(i * (kWords + 1), kWords + 1));
  for (const int64_t beams : {1, 4}) {
    Decoder write = models::translator(strategy, params, {.max_length = kWords + 4, .beam_size = beams});
    const Decoded found = write({{"inputs", Array(sources, {kSentences, kWords + 1})}});
    EXPECT_LE(found.steps, kWords + 4);
    int64_t right = 0;
    for (int64_t i = 0; i < kSentences; ++i) {
      std::vector<int32_t> best = found.ids.row(i).row(0).to<int32_t>();
      best.resize(kWords + 1);
      right +=
          best == std::vector<int32_t>(targets.begin() + i * (kWords + 1), targets.begin() + (i + 1) * (kWords + 1));
    }
    EXPECT_GE(right, kSentences - 2) << beams << " beams";
  }
}

TEST(Transformer, SaysWhichSizesDoNotFit) {
  Params params = tiny(0);
  params.set("heads", int64_t{5});
  Estimator estimator(models::transformer_case, {.device = "cpu"}, params);
  const auto counted = estimator.count_parameters(reversals(0, 1, {.batch_size = 1}));
  ASSERT_FALSE(counted.ok());
  EXPECT_NE(counted.status().message().find("the hidden size is 32, expected an even multiple of the 5 heads"),
            std::string::npos)
      << counted.status().message();
}

TEST(Transformer, RefusesTokensOutsideTheVocabulary) {
  Params params = tiny(0);
  params.set("vocabulary", int64_t{kTokens - 1});
  Estimator estimator(models::transformer_case, {.device = "cpu"}, params);
  const auto trained = estimator.train({.input = reversals(0, 100, {.batch_size = 50}), .max_steps = 1});
  ASSERT_FALSE(trained.ok());
  EXPECT_NE(trained.status().message().find("9"), std::string::npos) << trained.status().message();
}

}  // namespace
}  // namespace tenon
