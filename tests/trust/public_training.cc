#include <unistd.h>

#include "public_functions.h"
#include "tenon/layer_classes.h"
#include "tenon/random.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

Array halves(int64_t rows, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns), 0.5f);
  return Array(values, {rows, columns});
}
// A model of three numbers on cpu.so, compiled.
Sequential compiled(int steps_per_execution = 1) {
  Sequential model({Dense(1)});
  model.compile(
      {.optimizer = SGD(0.1), .loss = "mse", .steps_per_execution = steps_per_execution, .strategy = Strategy("cpu")});
  return model;
}
FitOptions silent() {
  FitOptions o;
  o.verbose = Verbose::kSilent;
  return o;
}

const std::vector<Function> kTraining = {
    {"Input",
     [](A& a) {
       Input(a.shape({3}, {{-1}, {kMost, kMost}, {kLeast}}));
     }},
    {"Model of symbols",
     [](A& a) {
       const Symbol x = Input({3}), other = Input({3});
       Model({a.number(0, {1}) == 0 ? x : other}, {Dense(1)(x)});
     }},
    {"Sequential::add of an input",
     [](A& a) {
       Sequential model({Dense(1)});
       if (a.number(0, {1}) == 1) model.add(Input({3}));
     }},
    {"summary",
     [](A& a) {
       Sequential model({Input({3}), Dense(1)});
       SummaryOptions o;
       o.line_length = a.count(80);
       model.summary_text(o);
     }},
    {"compile",
     [](A& a) {
       Sequential model({Dense(1)});
       CompileOptions o{.optimizer = SGD(0.1), .loss = "mse", .strategy = Strategy("cpu")};
       o.loss_weights = a.within(1, {});
       o.steps_per_execution = static_cast<int>(a.number(2, {0, -1, INT32_MIN}));
       model.compile(o);
       model.fit(halves(8, 3), halves(8, 1), silent());
     }},
    {"fit",
     [](A& a) {
       FitOptions o = silent();
       o.batch_size = a.number(4, {0, -1, kLeast});
       o.epochs = static_cast<int>(a.number(1, {-1, INT32_MIN}));
       o.validation_split = a.within(0.25, {-0.5, 1, 2});
       o.initial_epoch = static_cast<int>(a.number(0, {-1, INT32_MIN}));
       o.steps_per_epoch = a.number(1, {-1, kLeast});
       o.validation_steps = a.number(1, {-1, kLeast});
       o.validation_batch_size = a.number(2, {-1, kLeast});
       o.validation_freq = {static_cast<int>(a.number(1, {0, -1}))};
       compiled().fit(halves(8, 3), halves(8, 1), o);
     }},
    {"fit on arrays",
     [](A& a) {
       const int64_t rows = a.number(8, {0, 7}), targets = a.number(8, {9});
       compiled().fit(halves(rows, 3), halves(targets, 1), silent());
     }},
    {"fit with class weights",
     [](A& a) {
       FitOptions o = silent();
       o.class_weight = {{0, a.finite(1)}, {1, 2.0}};
       compiled().fit(halves(8, 3), Array(std::vector<int32_t>(8, 1), {8, 1}), o);
     }},
    {"fit with sample weights",
     [](A& a) {
       const int64_t weights = a.number(8, {7, 9});
       compiled().fit(FitData(halves(8, 3), halves(8, 1), Array(std::vector<float>(static_cast<size_t>(weights), 1))),
                      silent());
     }},
    {"evaluate",
     [](A& a) {
       EvaluateOptions o;
       o.verbose = Verbose::kSilent;
       o.batch_size = a.number(4, {0, -1, kLeast});
       o.steps = a.number(1, {-1, kLeast});
       compiled().evaluate(halves(8, 3), halves(8, 1), o);
     }},
    {"predict",
     [](A& a) {
       PredictOptions o;
       o.batch_size = a.number(4, {0, -1, kLeast});
       o.steps = a.number(1, {-1, kLeast});
       compiled().predict(halves(8, 3), o);
     }},
    {"train_on_batch",
     [](A& a) {
       compiled().train_on_batch(halves(8, 3), halves(a.number(8, {7, 0}), 1));
     }},
    {"load_weights",
     [](A& a) {
       const std::string path = "/tmp/public_arguments." + std::to_string(getpid()) + ".safetensors";
       Sequential saved = compiled();
       saved.predict(halves(1, 3));
       saved.save_weights(path);
       Sequential model = compiled();
       const std::string from = a.number(0, {1}) == 0 ? path : "/nowhere/at/all";
       const int64_t columns = a.number(3, {2});
       try {
         model.load_weights(from);
         model.predict(halves(1, columns));
       } catch (const Error&) {
         unlink(path.c_str());
         throw;
       }
       unlink(path.c_str());
     }},
    {"Strategy", [](A& a) { Strategy(a.word("cpu", "no such device")); }},
    {"dtype policy", [](A& a) { Strategy("cpu", {.dtype_policy = a.word("mixed_bfloat16", "float33")}); }},
    {"Strategy::warm_start",
     [](A& a) {
       const std::string path = "/tmp/public_arguments." + std::to_string(getpid()) + ".safetensors";
       Sequential saved = compiled();
       saved.predict(halves(1, 3));
       saved.save_weights(path);
       const char* expression = a.word("dense", "dense(");
       const char* renamed = a.word("dense/kernel", "no/kernel");
       const int64_t columns = a.number(3, {2});
       Sequential model = compiled();
       try {
         model.strategy().warm_start({.ckpt_to_initialize_from = a.word(path.c_str(), "/nowhere/at/all"),
                                      .vars_to_warm_start = expression,
                                      .var_name_to_prev_var_name = {{"dense/kernel", renamed}}});
         model.predict(halves(1, columns));
       } catch (const Error&) {
         unlink(path.c_str());
         throw;
       }
       unlink(path.c_str());
     }},
    {"Strategy::function",
     [](A& a) {
       const Strategy strategy("cpu");
       FunctionOptions o;
       o.steps_per_call = static_cast<int>(a.number(2, {0, -1, INT32_MIN}));
       strategy.function(
           [](const Features& in) {
             return Outputs{{"y", in["x"] * 2.0}};
           },
           o)({{"x", Array({1.0f, 2.0f})}});
     }},
    {"Function::repeat",
     [](A& a) {
       const Strategy strategy("cpu");
       tenon::Function f = strategy.function(
           [](const Features& in) {
             return Outputs{{"y", in["x"] * 2.0}};
           },
           {.steps_per_call = 4});
       f.repeat(static_cast<int>(a.number(2, {0, -1, INT32_MIN})), {{"x", Array({1.0f, 2.0f})}});
     }},
    {"Strategy::read and write",
     [](A& a) {
       Strategy strategy("cpu");
       strategy.function([](const Features& in) {
         return Outputs{{"y", dense(in["x"], {.units = 1})}};
       })({{"x", Array({1.0f, 2.0f}, {1, 2})}});
       strategy.write("dense/kernel", Array(std::vector<float>(2, 1), {a.number(2, {1}), a.number(1, {2})}));
       strategy.read(a.word("dense/bias", "dense/no"));
     }},
    {"draw_uniform",
     [](A& a) {
       const Shape shape = a.shape({2}, {{-1}, {kMost, kMost}});
       const double low = a.finite(0), high = a.within(1, {-1});
       Strategy("cpu").function([&](const Features&) { return Outputs{{"u", draw_uniform(shape, low, high)}}; })();
     }},
    {"draw_normal",
     [](A& a) {
       const Shape shape = a.shape({2}, {{-1}, {kMost, kMost}});
       const double mean = a.finite(0), stddev = a.within(1, {-1});
       Strategy("cpu").function([&](const Features&) { return Outputs{{"u", draw_normal(shape, mean, stddev)}}; })();
     }},
    {"Array",
     [](A& a) {
       const int64_t rows = a.number(2, {1, 3, -2, kMost, kLeast});
       const Array x(std::vector<float>(6), {rows, 3});
       x.rows(a.number(0, {-1, 2, kMost, kLeast}), a.number(2, {3, -1, kMost, kLeast}));
       x.row(a.number(1, {2, -1, kMost, kLeast}));
     }},
    {"Dataset::from_arrays",
     [](A& a) {
       InputOptions o;
       o.batch_size = a.number(2, {0, -1, kLeast, kMost});
       o.training = true;
       o.shuffle_buffer = a.number(8, {-1, kLeast});
       o.shard_index = static_cast<int>(a.number(0, {-1, 1}));
       o.shard_count = static_cast<int>(a.number(1, {0, -1}));
       Dataset::from_arrays({{"x", halves(8, 3)}, {"y", halves(a.number(8, {0, 7}), 1)}}, o);
     }},
};

}  // namespace

const std::vector<Function>& training_functions() { return kTraining; }

}  // namespace tenon::public_arguments
