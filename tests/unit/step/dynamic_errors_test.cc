// What does not fit dynamic dimensions, and what cannot do without a static size.
#include <gtest/gtest.h>

#include "tenon/einsum_dense.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/recurrent.h"
#include "unit/step/dynamic_testing.h"

namespace tenon {
namespace {

Outputs mean_of_dense(const Features& in) { return {{"mean", reduce_mean(dense(in["x"], {.units = 2}))}}; }

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
  EXPECT_EQ(message_of([&] { g(counted_data(40, 16)); }), "copy: batches have 16 rows, expected max_batch 8");
  EXPECT_EQ(message_of([&] { f(counted_data(40, 8)); }),
            "sum: dynamic_shapes are of arrays, the features of data have one size; max_batch is of both");
  EXPECT_EQ(
      message_of([&] { Strategy("tpu-emulator:v3-8").function(mean_of_dense, {.name = "train", .max_batch = 12}); }),
      "train: max_batch is 12, expected a number of rows that is divisible by number of replicas 8");
}

TEST(DynamicShapes, RefusesBoundsThatAreNone) {
  const auto refused = [](const FunctionOptions& options, const char* device = "cpu") {
    return message_of([&] { Strategy(device).function(mean_of_dense, options); });
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
  Function f = Strategy("tpu-emulator:v3-8").function(mean_of_dense, {.max_batch = 64});
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(wave(32 * 5, 1), {32, 5})}, {"y", Array(classes(16, 4, 1))}});
            }),
            "input 'y' has 16 of the dynamic dimension 'batch', input 'x' has 32");
}

TEST(DynamicShapes, AnErrorOfOneUnitsShapesTellsThoseOfAll) {
  const auto error = [](const std::string& device) {
    const TensorFunction tear = [](const Features& in) { return Outputs{{"y", reshape(in["x"], {3, 5})}}; };
    return message_of([&] { Strategy(device).function(tear)({{"x", Array(wave(64 * 5, 1), {64, 5})}}); });
  };
  const std::string of_one = error("cpu"), of_eight = error("tpu-emulator:v3-8");
  EXPECT_NE(of_one.find("f32[64,5]"), std::string::npos) << of_one;
  EXPECT_EQ(of_one.find("units"), std::string::npos) << of_one;
  EXPECT_TRUE(of_eight.ends_with(" (on each of 8 units, where input 'x' is f32[8,5] of f32[64,5])")) << of_eight;
}

const BoundedDim kRows{"rows", 16};

// The error of a function of x[<=16,3] and z[16,3], called with so many rows of x.
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
  for (const std::string& device : dynamic_devices())
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
  for (const std::string& device : dynamic_devices())
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

// In the words of a TPU, and with the layer's name.
TEST(DynamicShapes, AConvolutionOverOneIsRefusedOnEveryDevice) {
  for (const std::string& device : dynamic_devices()) {
    const BoundedDim height{"height", 274}, width{"width", 286};
    Function f = Strategy(device).function(
        [](const Features& in) {
          return Outputs{{"y", conv2d(in["x"], {.filters = 4, .kernel = 3})}};
        },
        {.max_batch = 64, .dynamic_shapes = {{"x", {{1, height}, {2, width}}}}});
    const std::string error = message_of([&] { f({{"x", Array(Type{DType::kF32, {8, 30, 40, 3}})}}); });
    const std::string rows = device.starts_with("tpu") ? "8" : "64";
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

// What a function of x[<=6,<=6,4], of a batch and its steps, throws; it gives the mean of what f gives.
std::string refusal_of(const std::function<Tensor(Tensor)>& f) {
  Function function = Strategy("cpu").function(
      [&](const Features& in) {
        return Outputs{{"y", reduce_mean(cast(f(in["x"]), DType::kF32))}};
      },
      {.name = "f", .dynamic_shapes = {{"x", {{0, {"batch", 6}}, {1, {"time", 6}}}}}});
  return message_of([&] { function({{"x", Array(wave(5 * 3 * 4, 1), {5, 3, 4})}}); });
}

Tensor steps_last(Tensor x) { return transpose(x, {0, 2, 1}); }  // [batch, 4, time]
Tensor steps_by(Tensor x) { return reshape(x, {6, 6, 2, 2}); }   // as an image whose height is dynamic
Tensor of_steps(Tensor x) { return reduce_sum(x, {0, 2}); }      // [time]
Tensor of_batch(Tensor x) { return reduce_sum(x, {1, 2}); }      // [batch]

struct Case {
  std::function<Tensor(Tensor)> f;
  std::string refusal = "no error";  // a part of it
};

void expect_refusals(const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string error = refusal_of(cases[i].f);
    EXPECT_NE(error.find(cases[i].refusal), std::string::npos) << i << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

const std::string kSpatial = "Dynamic Spatial Convolution is not supported: lhs shape is f32[<=6,<=6,2,2]";

// All that BoundedDim of tenon/strategy.h names, in its order.
TEST(DynamicShapes, RefusesTheLayersThatItsHeaderNames) {
  expect_refusals({
      {[](Tensor x) { return conv2d(steps_by(x), {.filters = 2, .kernel = 1}); }, kSpatial},
      {[](Tensor x) { return conv1d(x, {.filters = 2, .kernel = 2}); }, "Dynamic Spatial Convolution"},
      {[](Tensor x) { return max_pool2d(steps_by(x)); }, kSpatial},
      {[](Tensor x) { return average_pool2d(steps_by(x)); }, kSpatial},
      {[](Tensor x) { return resize(steps_by(x), 4, 4, ResizeMethod::kNearest, Coordinates::kHalfPixel); }, kSpatial},
      {[](Tensor x) { return layer_norm(steps_last(x), of_steps(x), of_steps(x), {2}, 1e-3).y; }, "weights are static"},
      {[](Tensor x) { return batch_normalization(steps_last(x)); }, "channels are static"},
      {[](Tensor x) {
         const Tensor labels = cast(reduce_max(x, {1}), DType::kI32);  // [batch, 4]
         return sparse_categorical_crossentropy(labels, steps_last(x), {.from_logits = true});
       },
       "classes are static"},
      {[](Tensor x) { return lstm(steps_last(x), {.units = 2}); }, "features are static"},
      {[](Tensor x) { return gru(steps_last(x), {.units = 2}); }, "features are static"},
      {[](Tensor x) {
         const Tensor q = expand_dims(steps_last(x), -1);
         return attention(q, q, q, {}, {}, {}, {}).y;
       },
       "heads are static"},
      {[](Tensor x) {
         const Tensor q = reshape(reduce_sum(x, {1}), {1, 6, 1, 4}), k = reshape(reduce_sum(x, {0}), {1, 6, 1, 4});
         return attention(q, k, k, {}, {}, {}, {.causal = true}).y;
       },
       "causal attention takes as many queries as keys"},
  });
}

TEST(DynamicShapes, RefusesTheOpsThatItsHeaderNames) {
  expect_refusals({
      {[](Tensor x) {
         return slice(x, {0, 0, 0}, {6, 3, 4}, {});
       },
       "a part of it may not be there"},
      {[](Tensor x) {
         return slice(x, {0, 1, 0}, {6, 2, 4}, {});
       },
       "a part of it may not be there"},
      {[](Tensor x) {
         return pad(x, {0, 1, 0}, {0, 0, 0}, {}, 0);
       },
       "pads would stand behind what is not there"},
      {[](Tensor x) {
         return concat({x, x}, 1);
       },
       "what is not there would stand between the parts"},
      {[](Tensor x) {
         return reshape(x, {6, 3, 2, 4});
       },
       "shape [6,3,2,4] tears it apart"},
      {[](Tensor x) {
         return reverse(reshape(x, {36, 4}), {0});
       },
       "it is made of several; reshape takes them apart"},
      {[](Tensor x) { return sort(steps_last(x), 6, false).values; }, "only the largest come first"},
      {[](Tensor x) { return top_k(steps_last(x), 2).values; }, "there may be fewer than k"},
      {[](Tensor x) { return of_steps(x) + of_batch(x); }, "that of another operand is"},
      {[](Tensor x) { return dot(reduce_sum(steps_last(x), {0}), reduce_sum(x, {1})); }, "that of another operand is"},
      {[](Tensor x) { return reduce_scatter(x, 1); }, "it is dealt over the replicas"},
      {[](Tensor x) {
         const auto table = [&](const Shape& shape) { return full(*x.graph(), DType::kF32, shape, 1); };
         return lstm(x, table({6, 2}), table({6, 2}), table({4, 8}), table({2, 8}), table({8})).c;
       },
       "uses the state after the last of a dynamic number of steps"},
      {[](Tensor x) {
         assign(variable(x, "last", {6}, zeros(), false), of_batch(x));
         return x;
       },
       "variable 'last' was assigned f32[<=6], which has a dynamic dimension"},
      {[](Tensor x) { return lstm(x, {.units = 2, .stateful = true}); }, "which has a dynamic dimension"},
  });
}

TEST(DynamicShapes, RefusesAResultOfTwoDimensionsInOne) {
  Function f = Strategy("cpu").function(
      [](const Features& in) {
        return Outputs{{"y", reshape(in["x"], {36, 4})}};
      },
      {.name = "f", .dynamic_shapes = {{"x", {{0, {"batch", 6}}, {1, {"time", 6}}}}}});
  EXPECT_EQ(message_of([&] {
              f({{"x", Array(wave(5 * 3 * 4, 1), {5, 3, 4})}});
            }),
            "f gave 'y', f32[<=36,4], whose dimension 0 is a dynamic one and another in one; reshape takes them apart");
}

// What stands beside the refusals, and is let through.
TEST(DynamicShapes, TakesWhatDiffersFromARefusalByLittle) {
  expect_refusals({
      {[](Tensor x) {
        return conv2d(reshape(reduce_sum(x, {1}), {6, 2, 2, 1}), {.filters = 2, .kernel = 1});
      }},
      {[](Tensor x) {
        return layer_norm(x, reduce_sum(x, {0, 1}), reduce_sum(x, {0, 1}), {2}, 1e-3).y;
      }},
      {[](Tensor x) { return batch_normalization(x); }},
      {[](Tensor x) { return simple_rnn(steps_last(x), {.units = 2}); }},
      {[](Tensor x) {
        const Tensor q = expand_dims(x, 2);
        return attention(q, q, q, {}, {}, {}, {.causal = true}).y;
      }},
      {[](Tensor x) {
        return slice(x, {0, 0, 1}, {6, 6, 3}, {});
      }},
      {[](Tensor x) {
        return slice(x, {0, 0, 0}, {6, 1, 4}, {});
      }},
      {[](Tensor x) { return gather(x, reshape(dimension_size(x, 1) - 1.0, {1}), 1); }},
      {[](Tensor x) {
        return pad(x, {0, 0, 1}, {0, 0, 0}, {}, 0);
      }},
      {[](Tensor x) {
        return concat({x, x}, 2);
      }},
      {[](Tensor x) {
        return reshape(x, {36, 4});
      }},
      {[](Tensor x) {
        return reverse(x, {0, 1, 2});
      }},
      {[](Tensor x) { return sort(steps_last(x), 6, true).values; }},
      {[](Tensor x) { return top_k(steps_last(x), 1).values; }},
      {[](Tensor x) {
        return of_steps(x) + reduce_sum(x, {0, 2});
      }},
      {[](Tensor x) { return lstm(Tensors{x}, {.units = 2, .return_state = true})[2]; }},
  });
}

// Keras: "The last dimension of the inputs to a Dense layer should be defined."
TEST(DynamicShapes, AWeightOfADynamicSizeIsRefused) {
  const auto error = [](const std::function<Tensor(Tensor)>& layer) {
    Function f = Strategy("cpu").function(
        [&](const Features& in) {
          return Outputs{{"y", reduce_mean(layer(in["x"]))}};
        },
        {.dynamic_shapes = {{"x", {{1, {"time", 6}}}}}});
    return message_of([&] { f({{"x", Array(wave(2 * 5 * 3, 1), {2, 5, 3})}}); });
  };
  const std::string why = ", whose dimension 1 is dynamic, expected a defined size, which a weight has";
  EXPECT_EQ(error([](Tensor x) { return dense(flatten(x), {.units = 2, .name = "head"}); }),
            "dense 'head': input is f32[2,<=18]" + why);
  EXPECT_EQ(error([](Tensor x) { return layer_normalization(flatten(x)); }),
            "layer_normalization 'layer_normalization': input is f32[2,<=18]" + why);
  EXPECT_EQ(error([](Tensor x) { return rms_normalization(flatten(x)); }),
            "rms_normalization 'rms_normalization': input is f32[2,<=18]" + why);
  EXPECT_EQ(error([](Tensor x) {
              return einsum_dense(x, {.equation = "atc,td->adc", .output_shape = {4, 3}});
            }),
            "einsum_dense 'einsum_dense': input is f32[2,<=6,3]" + why);
  EXPECT_EQ(error([](Tensor x) { return dense(x, {.units = 2}); }), "no error");
}

}  // namespace
}  // namespace tenon
