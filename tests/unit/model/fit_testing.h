// A model of two layers, and how tests of fit compile and train it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "unit/model/model_data_testing.h"

namespace tenon::model_testing {

inline constexpr double kTolerance = 1e-5;

inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kTolerance) << "number " << i;
}

inline Sequential regularized() {
  DenseOptions last = dense_of(3);
  last.kernel_regularizer = {.l2 = 0.01};
  return Sequential({Dense(tanh_of(5)), Dense(last)});
}

inline CompileOptions sgd(double rate) {
  return {.optimizer = SGD(rate),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .metrics = {"accuracy"},
          .weighted_metrics = {SparseCategoricalCrossentropy({.from_logits = true, .name = "wce"})},
          .strategy = Strategy("cpu")};
}

inline FitOptions epochs(int n) {
  return {.batch_size = 10, .epochs = n, .verbose = Verbose::kSilent, .shuffle = false};
}

inline Dataset batches_of_six() {
  const auto features = [](const Array& a) { return std::vector<std::byte>(a.bytes().begin(), a.bytes().end()); };
  return Dataset::from_memory(
             {{{"x", {DType::kF32, {4}}}, features(first_input())}, {{"y", {DType::kI32, {}}}, features(labels())}},
             {.batch_size = 6})
      .take();
}

}  // namespace tenon::model_testing
