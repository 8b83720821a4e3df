// Penalties on weights, biases and activations: losses against Keras 3.15.1 (JAX, f32) on the same data and first weights. Without
// |x| at 0, whose slope is 1 in JAX, and 0 here and in TensorFlow.
#include <gtest/gtest.h>

#include "tenon/einsum_dense.h"
#include "tenon/recurrent.h"
#include "unit/model/model_data_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Array sequences() { return Array(pattern(kExamples * 5 * 2, 7, 11, 5, 4), {kExamples, 5, 2}); }

void expect_losses(Model& model, const std::vector<double>& expected) {
  model.compile({.optimizer = SGD(0.1),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .strategy = Strategy("cpu")});
  const History h =
      model.fit(sequences(), labels(), {.batch_size = 10, .epochs = 3, .verbose = Verbose::kSilent, .shuffle = false});
  ASSERT_EQ(h["loss"].size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(h["loss"][i], expected[i], 1e-5) << "epoch " << i;
}

TEST(Regularizers, OfWeightsBiasesAndActivitiesAsKeras) {
  DenseOptions wide = tanh_of(4), last = dense_of(3);
  wide.kernel_regularizer = OrthogonalRegularizer(0.5);
  wide.activity_regularizer = OrthogonalRegularizer(0.2, "columns");
  last.kernel_regularizer = OrthogonalRegularizer(0.3, "columns");
  last.bias_regularizer = L2(0.5);
  Sequential model({Conv1D({.filters = 3,
                            .kernel = 2,
                            .kernel_initializer = &patterned,
                            .kernel_regularizer = L2(0.01),
                            .bias_regularizer = L2(0.02),
                            .activity_regularizer = L2(0.03)}),
                    LSTM({.units = 2,
                          .kernel_initializer = &patterned,
                          .recurrent_initializer = &patterned,
                          .bias_regularizer = L1L2(0, 0.02),
                          .activity_regularizer = L2(0.01),
                          .return_sequences = true}),
                    LayerNormalization({.beta_regularizer = L2(0.1), .gamma_regularizer = L2(0.1)}),
                    PReLU({.alpha_initializer = &patterned, .alpha_regularizer = L2(0.1)}), Flatten(), Dense(wide),
                    Dense(last)});
  expect_losses(model, {1.7911371, 1.719715, 1.672546});
}

TEST(Regularizers, OfAttentionAndEinsumAsKeras) {
  const Symbol x = Input({5, 2});
  const Symbol seen = MultiHeadAttention({.num_heads = 2,
                                          .key_dim = 2,
                                          .kernel_initializer = &patterned,
                                          .kernel_regularizer = L2(0.01),
                                          .bias_regularizer = L2(0.1),
                                          .activity_regularizer = L2(0.01)})({x, x});
  const Symbol mixed = EinsumDense({.equation = "abc,cd->abd",
                                    .output_shape = {-1, 3},
                                    .bias_axes = "d",
                                    .kernel_initializer = &patterned,
                                    .bias_regularizer = L2(0.1),
                                    .activity_regularizer = L2(0.02)})(seen);
  const Symbol normal = BatchNormalization({.beta_regularizer = L2(0.05), .gamma_regularizer = L2(0.05)})(mixed);
  Model model({x}, {Dense(dense_of(3))(GlobalAveragePooling1D()(normal))});
  expect_losses(model, {1.3470144, 1.328195, 1.3117208});
}

// The rows of {3 0 / 3 3} are at 45 degrees, and so are its columns.
TEST(Regularizers, OrthogonalIsTheMeanCosine) {
  Strategy strategy("cpu");
  Function f = strategy.function([](const Features& in) {
    return Outputs{{"rows", OrthogonalRegularizer().own(in["x"])},
                   {"columns", OrthogonalRegularizer(2, "columns").own(in["x"])}};
  });
  const Results r = f({{"x", Array({3.0f, 0.0f, 3.0f, 3.0f}, {2, 2})}});
  EXPECT_NEAR(r["rows"].item(), 0.01 * 0.70710678, 1e-7);
  EXPECT_NEAR(r["columns"].item(), 2 * 0.70710678, 1e-6);
}

TEST(Regularizers, SayWhatIsWrong) {
  const auto message = [](const DenseOptions& o) {
    try {
      Strategy("cpu").function([&](const Features& in) {
        return Outputs{{"y", dense(in["x"], o)}};
      })({{"x", Array({1.0f, 2.0f}, {1, 2})}});
    } catch (const Error& e) {
      return e.status().message();
    }
    return std::string("no error");
  };
  EXPECT_NE(message({.units = 2, .kernel_regularizer = L1(-1)}).find("the l1 regularizer of 'kernel' is -1"),
            std::string::npos);
  EXPECT_NE(message({.units = 2, .activity_regularizer = L2(-1)}).find("the l2 regularizer of the activity is -1"),
            std::string::npos);
  EXPECT_NE(message({.units = 2, .bias_regularizer = OrthogonalRegularizer()})
                .find("OrthogonalRegularizer: the weight is f32[2], expected rank 2"),
            std::string::npos);
  EXPECT_NE(message({.units = 2, .kernel_regularizer = {.own = [](Tensor w) { return w; }}})
                .find("the regularizer of 'kernel' gave f32[2,2], expected a float scalar"),
            std::string::npos);
  EXPECT_THROW(OrthogonalRegularizer(0.1, "row"), Error);
}

}  // namespace
}  // namespace tenon
