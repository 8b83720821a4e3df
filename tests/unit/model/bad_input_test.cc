// What goes wrong around a model is one line that names what it is about, and what was there stays usable.
#include <gtest/gtest.h>

#include "tenon/gradients.h"
#include "tenon/recurrent.h"
#include "unit/model/model_data_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

FitOptions quietly(int epochs = 1) { return {.batch_size = 6, .epochs = epochs, .verbose = Verbose::kSilent}; }

// Behind every mistake the model trains, measures and predicts as if nothing had been.
class BadInput : public ::testing::Test {
 protected:
  BadInput() : model_({Dense(tanh_of(5)), Dense(dense_of(3, "kind"))}) { compile({"accuracy"}); }
  void compile(std::vector<Metric> metrics) {
    model_.compile({.optimizer = SGD(0),
                    .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                    .metrics = std::move(metrics),
                    .strategy = strategy_});
  }
  double loss() { return model_.evaluate(first_input(), labels(), {.verbose = Verbose::kSilent}).at("loss"); }
  void expect(const std::string& line, const std::function<void()>& work) {
    const double before = loss();
    EXPECT_EQ(message_of(work), line);
    compile({"accuracy"});
    EXPECT_EQ(loss(), before);
    EXPECT_NEAR(model_.fit(first_input(), labels(), quietly())["loss"][0], before, 1e-6);
  }

  Strategy strategy_ = Strategy("cpu");
  Sequential model_;
};

TEST_F(BadInput, ACallbackThatThrowsIsNamed) {
  struct Throws : Callback {
    void on_train_batch_end(TrainingRun&, int64_t batch, const Logs&) override {
      if (batch == 2) throw std::runtime_error("the disk is gone");
    }
  };
  expect("Throws: the disk is gone", [&] {
    FitOptions o = quietly();
    o.callbacks = {Throws()};
    model_.fit(first_input(), labels(), o);
  });
}

TEST_F(BadInput, AMetricOfAnotherShapeNamesItAndTheOutput) {
  expect(
      "the model's output 'kind', f32[6,3] for targets i32[6], by 'mean_squared_error': mean_squared_error: prediction "
      "is "
      "f32[6,3], target i32[6], expected one shape",
      [&] {
        compile({"mean_squared_error"});
        model_.fit(first_input(), labels(), quietly());
      });
}

TEST_F(BadInput, TargetsOfAnotherShapeNameTheOutput) {
  expect(
      "the model's output 'kind', f32[6,3] for targets f32[6,2], by 'sparse_categorical_crossentropy': "
      "sparse_categorical_crossentropy: labels are f32[6,2], expected shape [6] for scores f32[6,3]",
      [&] {
        model_.fit(first_input(), Array(std::vector<float>(48), {24, 2}), quietly());
      });
}

TEST_F(BadInput, ALossThatIsNotReducedNamesTheOutput) {
  expect(
      "the model's output 'kind', f32[6,3] for targets i32[6], by 'sparse_categorical_crossentropy': the loss is "
      "f32[6], expected a scalar: what is trained for has a reduction, not kNone",
      [&] {
        model_.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true, .reduction = Reduction::kNone}),
                        .strategy = strategy_});
        model_.fit(first_input(), labels(), quietly());
      });
}

TEST_F(BadInput, ALossThatThrowsIsNamedWithTheOutput) {
  expect("the model's output 'kind', f32[6,3] for targets i32[6], by 'loss': no such table", [&] {
    model_.compile(
        {.loss = [](Tensor, Tensor) -> Tensor { throw std::runtime_error("no such table"); }, .strategy = strategy_});
    model_.fit(first_input(), labels(), quietly());
  });
}

TEST_F(BadInput, AnotherNumberOfFeaturesNamesTheLayer) {
  expect("variable 'dense/kernel' was made as f32[4,5]; this input, or another mode of the model, needs f32[3,5]",
         [&] { model_.fit(second_input(), labels(), quietly()); });
}

TEST_F(BadInput, TargetsOfAnotherLengthAreCounted) {
  expect("fit: 'x' has 24 examples, and 'y' has 23",
         [&] { model_.fit(first_input(), labels().rows(0, 23), quietly()); });
  expect("train_on_batch: 'x' has 8 examples, and 'y' has 6",
         [&] { model_.train_on_batch(first_input().rows(0, 8), labels().rows(0, 6)); });
}

TEST_F(BadInput, DataThatEndBeforeAnEpochDoBeginAgainAndSaySo) {
  FitOptions o = quietly(2);
  o.steps_per_epoch = 5;  // of four batches
  o.verbose = Verbose::kLine;
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_EQ(model_.fit(first_input(), labels(), o).epoch.size(), 2u);
  testing::internal::GetCapturedStdout();
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "fit: the data ended after 4 of 5 steps of the epoch; it begins again"),
            std::string::npos);
}

TEST_F(BadInput, DataWhoseRecordsAreAllDamagedAreNamed) {
  const ExampleFn damaged = [](int64_t, const Sample&, Slots&) { return Status(Code::kInvalid, "damaged"); };
  const Dataset none = Dataset::from_function(6, {{"x", {DType::kF32, {4}}}, {"y", {DType::kI32, {}}}}, damaged,
                                              {.batch_size = 6, .skip_corrupt = true})
                           .take();
  expect("fit: the data gave no batch", [&] { model_.fit(none, quietly()); });
  expect("evaluate: the data gave no batch of 6", [&] { model_.evaluate(none); });
  expect("predict: the data gave no batch of 6", [&] { model_.predict(none); });
  expect("fit: validation_data: the data gave no batch of 6", [&] {
    FitOptions o = quietly();
    o.validation_data = none;
    model_.fit(first_input(), labels(), o);
  });
}

TEST_F(BadInput, DataWithoutAnExampleSaySo) {
  expect("from_arrays: feature 'x' has no examples", [&] {
    model_.fit(Dataset::from_arrays({{"x", Array(Type{DType::kF32, {0, 4}})}}), quietly());
  });
  expect("fit: there are targets and no data for the model's input",
         [&] { model_.fit(Examples(), labels(), quietly()); });
  expect("fit: 'x' has no examples", [&] {
    model_.fit(Array(Type{DType::kF32, {0, 4}}), Array(Type{DType::kI32, {0}}), quietly());
  });
  expect("evaluate: 'x' has no examples", [&] {
    model_.evaluate(Array(Type{DType::kF32, {0, 4}}), Array(Type{DType::kI32, {0}}), {.verbose = Verbose::kSilent});
  });
  InputOptions whole;
  whole.batch_size = 6;
  whole.drop_remainder = true;
  std::vector<MemoryFeature> two{{{"x", {DType::kF32, {4}}}, std::vector<std::byte>(2 * 16)},
                                 {{"y", {DType::kI32, {}}}, std::vector<std::byte>(2 * 4)}};
  EXPECT_EQ(message_of([&] { Dataset::from_memory(two, whole).take(); }),
            "batch size 6 is larger than the 2 examples in memory");
}

TEST_F(BadInput, AVariableOfAnotherShapeIsNamed) {
  loss();
  expect("variable 'kind/bias' is f32[3], given f32[2]", [&] { strategy_.write("kind/bias", {1.0f, 2.0f}); });
}

TEST_F(BadInput, ALayerOnATensorOfAnotherFunctionIsNamed) {
  const Arrays x{{"x", first_input()}};
  expect("layer 'dense': its input is a tensor of another function", [&] {
    Dense layer({.units = 2});
    strategy_.function([&](const Features& outer) {
      strategy_.function([&](const Features&) { return Outputs{{"y", layer(outer["x"])}}; })(x);
      return Outputs{{"x", outer["x"]}};
    })(x);
  });
}

TEST_F(BadInput, TwoModelsOfOneNameAreTold) {
  loss();
  expect(
      "sequential 'twin': there is a layer of that name already, sequential 'twin'; a layer that is called twice is "
      "one object",
      [&] {
        Sequential one({Dense(dense_of(2))}, "twin"), two({Dense(dense_of(2))}, "twin");
        strategy_.function([&](const Features& in) {
          return Outputs{{"y", one(in["x"]) + two(in["x"])}};
        })({{"x", first_input()}});
      });
}

TEST_F(BadInput, AFunctionMayBeGivenAnotherSignatureAtTheTenthCall) {
  Dense layer({.units = 2, .kernel_initializer = &patterned, .name = "tenth"});
  Function f = strategy_.function(
      [&](const Features& in) {
        return Outputs{{"y", reduce_sum(layer(in["x"]))}};
      },
      {.name = "sums"});
  double first = 0;
  for (int i = 0; i < 9; ++i) first = f({{"x", first_input()}})["y"].item();
  EXPECT_EQ(f.traces(), 1);
  EXPECT_NE(f({{"x", first_input().rows(0, 3)}})["y"].item(), first);  // other rows: another program, the same layer
  EXPECT_EQ(f.traces(), 2);
  expect(
      "variable 'tenth/kernel' was made as f32[4,2]; this input, or another mode of the model, needs f32[3,2] (sums: "
      "input "
      "'x' is f32[24,3], an earlier call had f32[3,4])",
      [&] {
        f({{"x", second_input()}});
      });  // other features do not fit its kernel
  EXPECT_EQ(f({{"x", first_input()}})["y"].item(), first);
}

// A model that begins with Input() is checked without data; messages say "batch", as no batch has a size yet.
TEST(BadModels, AreToldWhenTheyAreCompiled) {
  const auto of = [](auto model) {
    const std::string said = message_of([&] { model.compile({.loss = "mse", .strategy = Strategy("cpu")}); });
    EXPECT_FALSE(model.compiled());
    EXPECT_EQ(message_of([&] { model.summary_text(); }), said);
    return said;
  };
  EXPECT_EQ(of(Sequential({Input({4}), Reshape({.target_shape = {3, -1}, .name = "a"})})),
            "reshape 'a': cannot give f32[batch,4] the shape [batch,3,-1]");
  EXPECT_EQ(of(Sequential({Input({4, 4, 1}), Conv2D({.filters = 2, .kernel = 7, .name = "b"})})),
            "conv2d 'b': input f32[batch,4,4,1] is smaller than the kernel, 7 in spatial dimension 0");
  const Symbol x = Input({4, 48});
  const auto functional = [&](const Lambda::Function& f) { return Model({x}, {AnyLayer(Lambda(f, "c"))(x)}); };
  EXPECT_EQ(of(functional([](const Tensors& xs) {
              return reshape(xs[0], Shape{5, xs[0].dim(0)});
            })),
            "reshape 'c/reshape': cannot give f32[batch,4,48] the shape [5,batch]: 192*batch elements, expected "
            "5*batch");
  EXPECT_EQ(of(functional([](const Tensors& xs) {
              return broadcast_to(xs[0], {1, xs[0].dim(0) + 1, 1});
            })),
            "layer 'c': shapes [batch,4,48] and [1,batch+1,1] do not broadcast");
  EXPECT_EQ(of(functional([](const Tensors& xs) {
              return concat({xs[0], xs[0]}, 5);
            })),
            "layer 'c': concat: axis 5 is out of range for f32[batch,4,48]");
  EXPECT_EQ(
      of(Sequential({Input({4}), TimeDistributed(Dense(2), "steps")})),
      "time_distributed 'steps': input is f32[batch,4], expected rank 3 or more: a batch, steps and what each step "
      "holds");
}

// Parts of a batch are a matter of its size.
TEST(BadModels, ALayerThatTakesPartsOfABatchIsNone) {
  Sequential model({Input({4}), Lambda([](const Tensors& xs) { return reshape(xs[0], Shape{xs[0].dim(0) / 8, 32}); })});
  model.compile({.loss = "mse", .strategy = Strategy("cpu")});
  EXPECT_EQ(model.predict(Array(std::vector<float>(64), {16, 4}))[0].dim(0), 2);
}

TEST_F(BadInput, AGradientOfWhatDoesNotDependOnTheLossIsTold) {
  expect("SGD: 'unused' has no gradient: the loss does not depend on it", [&] {
    strategy_.function(
        [&](const Features& in) {
          const Tensor loss = reduce_sum(in["x"]), w = variable(loss, "unused", {2}, zeros());
          SGD(0.1).apply(gradients(loss, {w}), {w});
          return Outputs{{"loss", loss}};
        },
        {.mode = Mode::kTrain})({{"x", first_input()}});
  });
}

TEST_F(BadInput, AGradientThatThereIsNotNamesItsVariable) {
  const auto call = [&](const std::function<Tensor(Tensor)>& made_of) {
    strategy_.function([&](const Features& in) {
      const Tensor loss = reduce_sum(in["x"]), w = variable(loss, "unused", {2}, zeros());
      return Outputs{{"y", made_of(gradients(loss, {w})[0])}};
    })({{"x", first_input()}});
  };
  const std::string none = "the gradient by 'unused', on which the loss does not depend";
  expect("what is used is " + none, [&] { call([](Tensor g) { return reduce_sum(g); }); });
  expect("what is used is " + none, [&] { call([](Tensor g) { return g * 2; }); });
  expect("function gave 'y', " + none, [&] { call([](Tensor g) { return g; }); });
}

}  // namespace
}  // namespace tenon
