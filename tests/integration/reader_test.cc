// The reader of apps/models on cpu.so: its size, what it may answer, and that it learns.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/models.h"
#include "tenon/answers.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

constexpr int kContext = 8, kQuestionEnd = 1, kTokens = 12, kReaderLength = kContext + 3 + 2;  // two pads
constexpr float kNever = -1e8f;

Params reader_params(int64_t layers = 1, int64_t vocabulary = kTokens) {
  return {{"param_set", std::string("tiny")}, {"num_hidden_layers", layers},
          {"vocab_size", vocabulary},         {"dropout", 0.0},
          {"optimizer", std::string("adam")}, {"learning_rate", 0.03}};
}

// The question is a word; the answer is the word behind it in the text, up to the next that is no less. Where the text has not
// got it, there is none.
Dataset word_questions(int64_t first, int64_t count, InputOptions options) {
  const std::vector<FeatureSpec> specs{{"inputs", {DType::kI32, {kReaderLength}}}, {"label", {DType::kI32, {2}}}};
  const auto fill = [=](int64_t example, const Sample&, Slots& out) -> Status {
    SampleRandom random(5, 0, static_cast<uint64_t>(first + example));
    const std::span<int32_t> row = out.get<int32_t>(0), label = out.get<int32_t>(1);
    std::fill(row.begin(), row.end(), 0);
    row[0] = 2 + random.below(kTokens - 2);
    row[kQuestionEnd] = row[kQuestionEnd + 1 + kContext] = 1;
    const auto text = row.subspan(kQuestionEnd + 1, kContext);
    for (int32_t& word : text) word = 2 + random.below(kTokens - 2);
    const auto found = std::find(text.begin(), text.end() - 2, row[0]);
    label[0] = label[1] = 0;
    if (found == text.end() - 2) return {};
    label[0] = kQuestionEnd + 2 + static_cast<int32_t>(found - text.begin());
    label[1] = label[0] + 1;
    return {};
  };
  return Dataset::from_function(count, specs, fill, options).take();
}

// With d the model's size, f the feed-forward's, V the vocabulary: embeddings V d and 2 d, a layer 4 d^2 of attention, 2 d f + f + d of
// the feed-forward and two normalisations of 2 d, one more at the end, and the logits 2 d + 2.
TEST(Reader, HasTheParametersOfItsFormula) {
  const auto expected = [](int64_t d, int64_t f, int64_t layers, int64_t v) {
    return v * d + 2 * d + layers * (4 * d * d + 2 * d * f + f + d + 4 * d) + 2 * d + 2 * d + 2;
  };
  EXPECT_EQ(expected(32, 256, 6, 8192), 387714);
  const Dataset data = word_questions(0, 1, {.batch_size = 1});
  for (const int64_t layers : {1, 6}) {
    const auto counted =
        Estimator(models::reader, {.device = "cpu"}, reader_params(layers, 8192)).count_parameters(data).take();
    EXPECT_EQ(counted.total, expected(32, 256, layers, 8192));
    EXPECT_EQ(counted.trainable, counted.total);
  }
  Params base = reader_params(6, 8192);
  base.set("param_set", std::string("base"));
  EXPECT_EQ(Estimator(models::reader, {.device = "cpu"}, base).count_parameters(data).take().total,
            expected(512, 2048, 6, 8192));
}

TEST(Reader, LearnsToFindAnswersAndWhereThereAreNone) {
  const TemporaryDirectory directory;
  Estimator estimator(models::reader, {.model_dir = directory.path(), .device = "cpu"}, reader_params(2));
  const InputOptions training{.batch_size = 64, .training = true, .repeat = true, .drop_remainder = true};
  estimator.train({.input = word_questions(0, 20000, training), .max_steps = 1200}).take();
  const Dataset unseen = word_questions(1000000, 200, {.batch_size = 50});
  const EvalResult result = estimator.evaluate({.input = unseen}).take();
  EXPECT_GT(result.at("accuracy"), 0.9);  // a guess: that there is no answer is right for about half
  EXPECT_GE(result.at("accuracy_start"), result.at("accuracy"));
  EXPECT_GE(result.at("accuracy_end"), result.at("accuracy"));

  const Status predicted = estimator.predict(unseen, [&](int64_t, const auto& values) {
    for (const char* name : {"start", "end"}) {
      const std::span<const float> logits = values.at(name);
      EXPECT_EQ(logits.size(), static_cast<size_t>(kReaderLength));
      for (int i = 0; i < kReaderLength; ++i) {
        const bool may = i == 0 || (i > kQuestionEnd && i <= kQuestionEnd + kContext);
        EXPECT_EQ(logits[static_cast<size_t>(i)] > kNever, may) << name << " " << i;
      }
    }
    return Status();
  });
  EXPECT_TRUE(predicted.ok()) << predicted.message();
}

}  // namespace
}  // namespace tenon
