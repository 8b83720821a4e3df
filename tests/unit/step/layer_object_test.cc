#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <stdexcept>

#include <memory>

#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/masking.h"
#include "tenon/model.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

const Arrays kX{{"x", Array({1.0f, 2.0f}, {1, 2})}};

struct Residual : Layer {
  Dense a{{.units = 2}}, b{{.units = 2}};
  Tensor call(Tensor x) override { return b(a(x)) + x; }
};

// Runs it on a thread that has so many bytes of stack.
void run_on_stack_of(size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto run = [](void* f) -> void* { return (*static_cast<const std::function<void()>*>(f))(), nullptr; };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(LayerObject, CalledTwiceSharesItsWeights) {
  Strategy strategy("cpu");
  Dense layer({.units = 1, .kernel_initializer = ones()});
  Function f = strategy.function([&](const Features& in) {
    return Outputs{{"y", layer(in["x"]) + layer(in["x"] * 2.0)}};
  });
  EXPECT_EQ(f(kX)["y"].item(), 9);
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel"}));
  EXPECT_EQ(layer.name(), "dense");
}

TEST(LayerObject, KeepsItsNameInEachFunction) {
  Strategy strategy("cpu");
  Dense first({.units = 1}), second({.units = 1});
  Function both = strategy.function([&](const Features& in) {
    const Tensor a = second(in["x"]), b = first(in["x"]);
    return Outputs{{"y", a - b}};
  });
  Function one = strategy.function([&](const Features& in) { return Outputs{{"y", first(in["x"])}}; });
  both(kX);
  one(kX);
  EXPECT_EQ(second.name(), "dense");
  EXPECT_EQ(first.name(), "dense_1");
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel"}));
  strategy.write("dense_1/kernel", Array({3.0f, 4.0f}, {2, 1}));
  EXPECT_EQ(one(kX)["y"].item(), 11);
}

TEST(LayerObject, CopiesAreTheSameLayer) {
  Strategy strategy("cpu");
  const Dense layer({.units = 2});
  Sequential model({layer, layer});
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", model(in["x"])}}; });
  f(kX);
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel"}));
}

TEST(LayerObject, ModelsAfterTheFirstPrefixTheirVariables) {
  Strategy strategy("cpu");
  Sequential a({Dense({.units = 2})}), b({Dense({.units = 2}), Residual()});
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", b(a(in["x"]))}}; });
  f(kX);
  EXPECT_EQ(names(strategy),
            (Names{"dense/bias", "dense/kernel", "sequential_1/dense/bias", "sequential_1/dense/kernel",
                   "sequential_1/residual/dense/bias", "sequential_1/residual/dense/kernel",
                   "sequential_1/residual/dense_1/bias", "sequential_1/residual/dense_1/kernel"}));
}

TEST(LayerObject, LayersMadeInsideAFunctionAreTheSameInEachTrace) {
  Strategy strategy("cpu");
  Function f = strategy.function([](const Features& in) { return Outputs{{"y", Dense({.units = 1})(in["x"])}}; });
  f(kX);
  f({{"x", Array({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2})}});
  EXPECT_EQ(f.traces(), 2);
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel"}));
}

TEST(LayerObject, AModelThatIsGoneLeavesItsNamesAndNotItsWeights) {
  Strategy strategy("cpu");
  const auto run = [&](Sequential model) {
    return strategy.function([&](const Features& in) { return Outputs{{"y", model(in["x"])}}; })(kX)["y"].item();
  };
  const double fresh = run(Sequential({Dense({.units = 1})}));
  strategy.write("dense/kernel", Array({3.0f, 4.0f}, {2, 1}));
  EXPECT_EQ(run(Sequential({Dense({.units = 1})})), fresh);
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel"}));
  run(Sequential({Dense({.units = 1, .use_bias = false})}));
  EXPECT_EQ(strategy.read("dense/kernel").shape(), (Shape{2, 1}));
}

// What is traced again, and what runs, goes on with what it had.
TEST(LayerObject, AFunctionKeepsTheWeightsOfLayersThatAreGone) {
  Strategy strategy("cpu");
  auto model = std::make_unique<Sequential>(Sequential({Dense({.units = 1})}));
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", (*model)(in["x"])}}; });
  f(kX);
  strategy.write("dense/kernel", Array({3.0f, 4.0f}, {2, 1}));
  model.reset();
  Sequential other({Dense({.units = 1})});
  Function g = strategy.function([&](const Features& in) { return Outputs{{"y", other(in["x"])}}; });
  const double fresh = g(kX)["y"].item();
  EXPECT_EQ(f(kX)["y"].item(), 11);
  EXPECT_NE(fresh, 11);
  EXPECT_EQ(g(kX)["y"].item(), fresh);
}

TEST(LayerObject, ALayerHasItsWeightsInAnotherStrategyToo) {
  Strategy one("cpu"), other("cpu", {.seed = 3});
  Dense layer({.units = 1});
  const TensorFunction call = [&](const Features& in) { return Outputs{{"y", layer(in["x"])}}; };
  one.function(call)(kX);
  one.write("dense/kernel", Array({3.0f, 4.0f}, {2, 1}));
  EXPECT_EQ(other.function(call)(kX)["y"].item(), 11);
  EXPECT_EQ(message_of([&] {
              Strategy("cpu").function(call)({{"x", Array({1.0f, 2.0f, 3.0f}, {1, 3})}});
            }),
            "variable 'dense/kernel' is f32[3,1], and in the strategy that its layer was in before f32[2,1]");
}

// The second would be the first, with other values than it asks for.
TEST(LayerObject, AsksOnceForAVariableInACall) {
  struct Twice : Layer {
    explicit Twice(std::string second) : second(std::move(second)) {}
    Tensor call(Tensor x) override {
      const Tensor a = variable(x, "w", {2}, zeros()), b = variable(x, second, {2}, ones());
      return x + a + b;
    }
    std::string second;
  };
  Strategy strategy("cpu");
  const auto error = [&](Twice layer) {
    return message_of([&] {
      strategy.function([&](const Features& in) { return Outputs{{"y", layer(layer(in["x"]))}}; })(kX);
    });
  };
  EXPECT_EQ(error(Twice("w")),
            "layer 'twice' asks for variable 'w' twice in one call; it is there already: expected another name, or the "
            "tensor kept");
  EXPECT_EQ(error(Twice("v")), "no error");
}

TEST(LayerObject, FunctionsBesideObjectsGetOtherNames) {
  Strategy strategy("cpu");
  Dense layer({.units = 2});
  Function f = strategy.function([&](const Features& in) {
    return Outputs{{"y", dense(layer(in["x"]), {.units = 2})}};
  });
  f(kX);
  EXPECT_EQ(names(strategy), (Names{"dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel"}));
}

TEST(LayerObject, AFrozenLayerIsNotTrained) {
  Strategy strategy("cpu");
  Residual frozen;
  Dense head({.units = 1});
  frozen.set_trainable(false);
  size_t trained = 0, all = 0;
  Function f = strategy.function(
      [&](const Features& in) {
        const Tensor loss = reduce_sum(head(frozen(in["x"])));
        trained = head.trainable_variables().size() + frozen.trainable_variables().size();
        all = frozen.variables().size();
        minimize(SGD(0.5), loss);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  f(kX);
  EXPECT_EQ(trained, 2u);
  EXPECT_EQ(all, 4u);
  const auto before = strategy.read<float>("residual/dense/kernel"), head_before = strategy.read<float>("dense/kernel");
  f(kX);
  EXPECT_EQ(strategy.read<float>("residual/dense/kernel"), before);
  EXPECT_NE(strategy.read<float>("dense/kernel"), head_before);
}

// moving = 0.5 moving + 0.5 batch, twice: of batches with means 2 and 6 from 0: 1, then 3.5.
TEST(LayerObject, ANormalizationThatIsCalledTwiceTracksBothBatches) {
  Strategy strategy("cpu");
  BatchNormalization norm({.momentum = 0.5});
  Function f = strategy.function(
      [&](const Features& in) {
        const Tensor x = in["x"];
        const Tensor first = norm(x), second = norm(x + 4.0);
        return Outputs{{"y", reduce_sum(first + second)}};
      },
      {.mode = Mode::kTrain});
  f({{"x", Array({1.0f, 3.0f}, {2, 1})}});
  EXPECT_FLOAT_EQ(strategy.read<float>("batch_normalization/moving_mean")[0], 3.5f);
}

TEST(LayerObject, DropsOtherElementsInEachCall) {
  Strategy strategy("cpu");
  Dropout drop(0.5);
  Function f = strategy.function(
      [&](const Features& in) {
        return Outputs{{"a", drop(in["x"])}, {"b", drop(in["x"])}};
      },
      {.mode = Mode::kTrain});
  const Results r = f({{"x", std::vector<float>(256, 1.0f)}});
  EXPECT_NE(r["a"].to<float>(), r["b"].to<float>());
  const Results next = f({{"x", std::vector<float>(256, 1.0f)}});
  EXPECT_NE(r["a"].to<float>(), next["a"].to<float>());
  EXPECT_EQ(strategy.read("draws").item(), 2);
}

TEST(LayerObject, NamesThatAreAskedForAreKeptOrRefused) {
  Strategy strategy("cpu");
  Dense tower({.units = 2, .name = "tower"}), other({.units = 2, .name = "tower"});
  const auto call = [&](Dense& layer) {
    return message_of([&] {
      strategy.function([&](const Features& in) { return Outputs{{"y", layer(in["x"])}}; })(kX);
    });
  };
  EXPECT_EQ(call(tower), "no error");
  EXPECT_EQ(call(other),
            "dense 'tower': there is a layer of that name already, dense 'tower'; a layer that is called twice is one "
            "object");
  EXPECT_EQ(names(strategy), (Names{"tower/bias", "tower/kernel"}));
}

// Where a name is asked for twice Keras refuses the model; the message names both layers.
TEST(LayerObject, TwoLayersOfOneNameAreRefusedWhereverTheyAre) {
  const auto of = [](const std::function<Tensor(Tensor)>& f) {
    Strategy strategy("cpu");
    return message_of([&] { strategy.function([&](const Features& in) { return Outputs{{"y", f(in["x"])}}; })(kX); });
  };
  struct Towers : Layer {
    Tensor call(Tensor x) override {
      return dense(dense(x, {.units = 2, .name = "tower"}), {.units = 2, .name = "tower"});
    }
  };
  const std::string tail = "; a layer that is called twice is an object";
  EXPECT_EQ(of([](Tensor x) { return Towers()(x); }),
            "dense 'tower': there is a layer of that name already, dense 'towers/tower'" + tail);
  EXPECT_EQ(
      of([](Tensor x) { return dense(dropout(x, {.rate = 0.5, .name = "tower"}), {.units = 2, .name = "tower"}); }),
      "dense 'tower': there is a layer of that name already, dropout 'tower'" + tail);
  EXPECT_EQ(
      of([](Tensor x) {
        return Sequential({Dense({.units = 2, .name = "tower"}), Dropout({.rate = 0.5, .name = "tower"})})(x);
      }),
      "dropout 'tower': there is a layer of that name already, dense 'tower'; a layer that is called twice is one "
      "object");
}

TEST(LayerObject, SaysWhatIsWrong) {
  Strategy strategy("cpu");
  Dense layer({.units = 2});
  struct Empty : Layer {
  } empty;
  const auto of = [&](const std::function<Tensor(Tensor)>& f) {
    return message_of([&] { strategy.function([&](const Features& in) { return Outputs{{"y", f(in["x"])}}; })(kX); });
  };
  EXPECT_EQ(of([&](Tensor x) {
              return layer(concat({layer(x), x}, 1));
            }),
            "variable 'dense/kernel' is f32[2,2], expected f32[4,2] where its layer is called again");
  EXPECT_EQ(of([&](Tensor x) { return empty(x); }), "layer 'empty' has no call() of 1 tensor");
  EXPECT_EQ(
      of([](Tensor x) { return Sequential({Lambda([](const Tensors&) { return Tensor(); }, "mine")}, "net")(x); }),
      "layer 'mine': call() gives a tensor that was never set");
  EXPECT_EQ(of([](Tensor x) {
              return Lambda([](const Tensors&) -> Tensor { throw std::out_of_range("no third"); }, "mine")(x);
            }),
            "layer 'mine' threw: no third");
  EXPECT_EQ(of([&](Tensor) { return layer(Tensor()); }), "layer 'dense': an input was never set");
  EXPECT_EQ(message_of([&] { layer.variables(); }),
            "the variables of layer 'dense' are tensors of a function, and none is being traced");
}

// Functions that are traced one after the other often lie in the same place.
TEST(LayerObject, ATensorThatAFunctionTracedBeforeLeftIsRefused) {
  const std::string left =
      "a tensor of a function that was traced before; each time it is traced it has tensors of its own";
  const std::string gone =
      "a tensor of a function that was traced before is used; each time it is traced it has tensors of its own";
  Strategy strategy("cpu");
  Tensor kept;
  const auto error = [&](const std::function<Tensor(Tensor)>& f) {
    const Arrays x{{"x", Array({1.0f, 2.0f}, {1, 2})}};
    strategy.function([&](const Features& in) {
      kept = in["x"];
      return Outputs{{"x", kept}};
    })(x);
    return message_of([&] {
      strategy.function([&](const Features& in) { return Outputs{{"y", f(in["x"])}}; }, {.name = "f"})(x);
    });
  };
  Dense layer({.units = 1});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(error([&](Tensor) { return layer(kept); }), "layer 'dense': its input is " + left);
    EXPECT_EQ(error([&](Tensor) { return dense(kept, {.units = 1}); }), "dense 'dense': the input is " + left);
    EXPECT_EQ(error([&](Tensor) { return kept; }), "f gave 'y', " + left);
    EXPECT_EQ(error([&](Tensor x) { return add(x, kept); }), "add: operand 1 is " + left);
    EXPECT_EQ(error([&](Tensor x) { return kept + x; }), gone);
    EXPECT_EQ(error([&](Tensor) { return relu(kept); }), "activation: operand 0 is " + left);
    EXPECT_EQ(error([&](Tensor x) { return gradients(reduce_sum(x), {kept})[0]; }), "gradients: variable 0 is " + left);
    EXPECT_EQ(error([&](Tensor x) { return set_mask(x, kept), x; }), "set_mask: the mask is " + left);
    EXPECT_EQ(error([&](Tensor x) { return layer(x); }), "no error");
  }
}

// While the strategy lives its programs do, and the tensor is refused as if they did not.
TEST(LayerObject, ATensorIsRefusedOnceItsFunctionWasTraced) {
  const std::string left =
      "a tensor of a function that was traced before; each time it is traced it has tensors of its own";
  const std::string gone =
      "a tensor of a function that was traced before is used; each time it is traced it has tensors of its own";
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict}) {
    Strategy strategy("cpu");
    Tensor kept;
    Function f = strategy.function(
        [&](const Features& in) {
          kept = in["x"] * 100.0;
          return Outputs{{"x", in["x"]}};
        },
        {.mode = mode});
    f({{"x", Array({1.0f, 2.0f}, {2, 1})}});
    Dense layer({.units = 1, .name = "head"});
    Sequential model({layer}, "net");
    EXPECT_EQ(message_of([&] { kept.shape(); }), gone);
    EXPECT_EQ(message_of([&] { kept.graph(); }), gone);
    EXPECT_EQ(message_of([&] { mode_of(kept); }), gone);
    EXPECT_EQ(message_of([&] { relu(kept * 2.0); }), gone);
    EXPECT_EQ(message_of([&] { neg(kept); }), "neg: operand 0 is " + left);
    EXPECT_EQ(message_of([&] { gradients(kept, {kept}); }), gone);
    EXPECT_EQ(message_of([&] { dense(kept, {.units = 1}); }), "dense 'dense': the input is " + left);
    EXPECT_EQ(message_of([&] { layer(kept); }), "layer 'head': its input is " + left);
    EXPECT_EQ(message_of([&] { model(kept); }), "layer 'net': its input is " + left);
  }
}

// The innermost, whatever it is in, and once.
TEST(LayerObject, WhatGoesWrongInACallNamesTheLayer) {
  struct Biased : LayerOf<Biased> {
    Tensor call(Tensor x) override { return x + variable(x, "b", {3}, zeros()); }
  };
  struct Outer : LayerOf<Outer> {
    Biased inner;
    Tensor call(Tensor x) override { return inner(x); }
  };
  Strategy strategy("cpu");
  const auto of = [&](AnyLayer layer) {
    return message_of([&] {
      strategy.function([&](const Features& in) { return Outputs{{"y", (*layer)(in["x"])}}; })(kX);
    });
  };
  const std::string wrong = "add: shapes [1,2] and [3] do not broadcast";
  EXPECT_EQ(of(Biased()), "layer 'biased': " + wrong);
  EXPECT_EQ(of(Outer()), "layer 'outer/biased': " + wrong);
  EXPECT_EQ(of(Sequential({Dense(2), Biased()})), "layer 'biased': " + wrong);
  EXPECT_EQ(of(Reshape({.target_shape = {5}, .name = "five"})), "reshape 'five': cannot give f32[1,2] the shape [1,5]");
}

// On a thread whose stack is 1 MiB; sanitizers want more of it.
TEST(LayerObject, ALayerThatCallsItselfIsRefused) {
  struct Endless : LayerOf<Endless> {
    Tensor call(Tensor x) override { return (*this)(x) + 1.0; }
  };
  struct Deep : LayerOf<Deep> {
    int left = 0;
    Tensor call(Tensor x) override {
      if (left == 0) return x;
      Deep next;
      next.left = left - 1;
      return next(x);
    }
  };
  std::string endless, deep;
  const auto work = [&] {
    Strategy strategy("cpu");
    const auto run = [&](Layer& layer) {
      return message_of([&] {
        strategy.function([&](const Features& in) { return Outputs{{"y", layer(in["x"])}}; })(kX);
      });
    };
    Endless own;
    endless = run(own);
    Deep outer;
    outer.left = 150;
    deep = run(outer);
  };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr size_t kStack = size_t{8} << 20;
#else
  constexpr size_t kStack = size_t{1} << 20;
#endif
  run_on_stack_of(kStack, work);
  EXPECT_EQ(
      endless,
      "layer 'endless': it is called inside 200 calls of layers, the most there may be; does a call() call itself?");
  EXPECT_EQ(deep, "no error");
}

// The layer of one call has the tensor of another.
TEST(LayerObject, ALayerThatKeepsATensorIsNamed) {
  struct Cached : LayerOf<Cached> {
    std::shared_ptr<Tensor> last = std::make_shared<Tensor>();
    Tensor call(Tensor x) override {
      const Tensor y = *last ? x + *last : x;
      *last = y;
      return y;
    }
  } cached;
  Strategy strategy("cpu");
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", cached(in["x"])}}; });
  EXPECT_EQ(f({{"x", Array({1.0f, 2.0f}, {2, 1})}})["y"].dim(0), 2);
  EXPECT_EQ(message_of([&] {
              f({{"x", Array({1.0f}, {1, 1})}});
            }),
            "layer 'cached': a tensor of a function that was traced before is used; each time it is traced it has "
            "tensors of its own");
}

}  // namespace
}  // namespace tenon
