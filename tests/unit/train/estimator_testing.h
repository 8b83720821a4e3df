// A small classifier and its data, for tests of the Estimator.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tenon/estimator.h"
#include "unit/data/temporary_directory.h"

namespace tenon {

constexpr int kInputs = 4;
constexpr int kClasses = 3;

inline float input_value(int64_t example, int64_t i) { return static_cast<float>((7 * example + 3 * i) % 11 - 5) / 4; }
inline int32_t label_value(int64_t example) { return static_cast<int32_t>((5 * example) % kClasses); }

inline std::vector<FeatureSpec> specs() {
  return {{"x", {DType::kF32, Shape{kInputs}}}, {"label", {DType::kI32, Shape{}}}};
}

// Examples 0 .. n-1; `noise` is added to each input, drawn for each place in the stream, as augmentation does.
inline Dataset examples(int64_t n, InputOptions options, float noise = 0) {
  const auto fill = [noise](int64_t example, const Sample& sample, Slots& out) -> Status {
    SampleRandom random = sample.random();
    for (int i = 0; i < kInputs; ++i)
      out.get<float>(0)[static_cast<size_t>(i)] =
          input_value(example, i) + (noise > 0 ? random.uniform(-noise, noise) : 0);
    out.get<int32_t>(1)[0] = label_value(example);
    return {};
  };
  return Dataset::from_function(n, specs(), fill, options).take();
}

inline InputOptions training_input(int64_t batch, uint64_t seed = 1) {
  return {.batch_size = batch, .training = true, .repeat = true, .drop_remainder = true, .seed = seed};
}
inline InputOptions evaluation_input(int64_t batch) { return {.batch_size = batch}; }

// kernel[i][c] of the classifier whose weights are known.
inline float known_kernel(int64_t i, int64_t c) { return static_cast<float>((5 * (i * kClasses + c)) % 7 - 3) / 8; }

inline std::vector<double> known_probabilities(int64_t example) {
  std::vector<double> p(kClasses);
  double sum = 0;
  for (int c = 0; c < kClasses; ++c) {
    double logit = 0;
    for (int i = 0; i < kInputs; ++i) logit += static_cast<double>(input_value(example, i)) * known_kernel(i, c);
    sum += p[static_cast<size_t>(c)] = std::exp(logit);
  }
  for (double& v : p) v /= sum;
  return p;
}

inline EstimatorSpec classify(const Tensor& logits, const Tensor& labels, Mode mode, const Optimizer& optimizer) {
  EstimatorSpec spec{.mode = mode, .predictions = {{"probabilities", softmax(logits)}, {"classid", argmax(logits)}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
  spec.eval_metrics = {{"accuracy", accuracy(labels, argmax(logits))}};
  if (mode == Mode::kTrain) spec.train_op = minimize(optimizer, spec.loss);
  return spec;
}

// Hidden layer of params "units", dropout, Adam.
inline EstimatorSpec small_model(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  Tensor x = dense(features["x"], {.units = params.get<int64_t>("units", 8), .activation = relu});
  x = dropout(x, 0.25);
  return classify(dense(x, {.units = kClasses}), labels, mode, Adam(LearningRate(0.01)));
}

// known_kernel, which training leaves as it is: the learning rate is 0.
inline EstimatorSpec known_model(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  std::vector<float> kernel;
  for (int i = 0; i < kInputs; ++i)
    for (int c = 0; c < kClasses; ++c) kernel.push_back(known_kernel(i, c));
  const Tensor logits =
      dense(features["x"], {.units = kClasses, .kernel_initializer = values_initializer(std::move(kernel))});
  return classify(logits, labels, mode, SGD({.learning_rate = 0.0}));
}

inline RunConfig cpu(const std::string& model_dir, RunConfig more = {}) {
  more.model_dir = model_dir;
  more.device = "cpu";
  return more;
}

// Steps of the checkpoints in a directory, ascending.
inline std::vector<int64_t> saved_steps(const std::string& model_dir) {
  std::vector<int64_t> out;
  for (const auto& entry : std::filesystem::directory_iterator(model_dir)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("model.ckpt-") && name.ends_with(".index")) out.push_back(std::stoll(name.substr(11)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

#define EXPECT_MESSAGE(status, text) \
  EXPECT_NE((status).message().find(text), std::string::npos) << "message: " << (status).message()

}  // namespace tenon
