// Training as Keras trains: the models of apps/models from the weights and on the batches of
// tests/fixtures/make_losses.py, whose losses in float32 and in float64 are in tests/fixtures/losses.csv. And in mixed_bfloat16 as
// PyTorch's autocast trains: losses_autocast.csv.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include "backend/registry.h"
#include "models/models.h"
#include "step/program.h"
#include "train/model_function.h"

namespace tenon {
namespace {

constexpr int kSteps = 50;
constexpr int kBatches = 4;
constexpr double kTolerance = 1e-4, kToleranceOfAutocast = 0.02;  // relative

uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// [0, 1) from a name and an index.
class Uniform {
 public:
  explicit Uniform(std::string_view name) {
    uint32_t h = 0x811c9dc5u;
    for (const char c : name) h = (h ^ static_cast<uint8_t>(c)) * 0x01000193u;
    offset_ = h * 0x9e3779b9u;
  }
  double operator()(int64_t i) const { return mix(static_cast<uint32_t>(i) + offset_) * 0x1p-32; }

 private:
  uint32_t offset_;
};

Initializer kernel(const std::string& name, const Shape& shape) {
  const int64_t in = shape[-2], out = shape[-1], area = shape.elements() / (in * out);
  const double limit = std::sqrt(6.0 / static_cast<double>(area * in + area * out));
  const Uniform u(name);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((2 * u(static_cast<int64_t>(i)) - 1) * limit);
  return values_initializer(std::move(values));
}

struct Case {
  std::string name;  // in losses.csv
  ModelFn model;
  Params params;
  Shape image{28, 28, 1};
  int64_t batch = 32;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Params with(const char* optimizer, double rate, Params more = {}) {
  more.set("optimizer", std::string(optimizer));
  more.set("learning_rate", rate);
  more.set("num_classes", int64_t{10});
  more.set("hidden", std::string("128"));
  more.set("depth", std::string("20"));
  more.set("dropout", 0.0);
  return more;
}

Case mlp(const char* name, Params params) { return {std::string("mlp/") + name, models::mlp, std::move(params)}; }

// An optimizer that no parameter asks for.
Case mlp(const char* name, std::function<Optimizer()> optimizer) {
  const ModelFn model = [optimizer](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    EstimatorSpec spec = models::mlp(features, labels, Mode::kEval, params);
    spec.mode = mode;
    if (mode == Mode::kTrain) spec.train_op = minimize(optimizer(), spec.loss);
    return spec;
  };
  return {std::string("mlp/") + name, model, with("sgd", 1)};
}

Case fashion(const char* name, const char* padding, const char* optimizer, double rate) {
  return {name, models::fashion, with(optimizer, rate, {{"padding", std::string(padding)}})};
}

// 5x5 convolutions and pools that drop odd edges. The second convolution of 31 x 115 is Winograd's on cpu.so, and so is
// the gradient of its input; 17 x 19 have too few tiles for it.
Case flowers(const char* name, Shape image, int64_t batch) {
  const Params sizes{{"ksize1", int64_t{5}}, {"ksize2", int64_t{5}}, {"nfil1", int64_t{10}},
                     {"nfil2", int64_t{20}}, {"dprob", 0.0},         {"batch_norm", false}};
  return {name, models::flowers, with("adam", 0.0001, sizes), std::move(image), batch};
}

std::vector<Case> cases() {
  return {
      fashion("fashion/adam", "same", "adam", 0.0001),
      fashion("fashion/momentum", "same", "momentum", 0.002),
      fashion("fashion_valid/adam", "valid", "adam", 0.0001),
      flowers("flowers/adam", {31, 115, 3}, 4),
      flowers("flowers_small/adam", {17, 19, 3}, 16),
      {"resnet20/momentum", models::resnet, with("momentum", 0.00003), {32, 32, 3}, 16},
      mlp("sgd", with("sgd", 0.05)),
      mlp("momentum", with("momentum", 0.02)),
      mlp("nesterov", with("momentum", 0.02, {{"nesterov", true}})),
      mlp("adam", with("adam", 0.0003)),
      mlp("adam_amsgrad",
          [] {
            AdamOptions o;
            o.learning_rate = 0.0003;
            o.amsgrad = true;
            return Adam(o);
          }),
      mlp("adamw", with("adamw", 0.0003)),
      mlp("adamax", with("adamax", 0.002)),
      mlp("nadam", with("nadam", 0.001)),
      mlp("adagrad", with("adagrad", 0.02)),
      mlp("adadelta", with("adadelta", 1.0)),
      mlp("rmsprop", with("rmsprop", 0.0005)),
      mlp("rmsprop_momentum", [] { return RMSprop({.learning_rate = 0.0002, .momentum = 0.9}); }),
      mlp("rmsprop_centered", [] { return RMSprop({.learning_rate = 0.0002, .centered = true}); }),
      mlp("rmsprop_momentum_centered",
          [] { return RMSprop({.learning_rate = 0.0001, .momentum = 0.8, .centered = true}); }),
      mlp("ftrl", with("ftrl", 0.05)),
      mlp("ftrl_regularized",
          [] {
            return Ftrl({.learning_rate = 0.05,
                         .l1_regularization_strength = 0.001,
                         .l2_regularization_strength = 0.01,
                         .l2_shrinkage_regularization_strength = 0.01,
                         .beta = 0.1});
          }),
      mlp("lamb", with("lamb", 0.005)),
      mlp("lion", with("lion", 0.00003)),
      mlp("adafactor", with("adafactor", 0.01)),
      mlp("sgd_weight_decay", with("sgd", 0.05, {{"weight_decay", 0.1}})),
      mlp("sgd_clipnorm", with("sgd", 0.05, {{"clipnorm", 0.5}})),
      mlp("sgd_global_clipnorm", with("sgd", 0.05, {{"global_clipnorm", 0.5}})),
      mlp("sgd_clipvalue", [] { return SGD({.learning_rate = 0.05, .clipvalue = 0.01}); }),
      mlp("adam_cosine",
          with("adam", 0.001,
               {{"learning_rate_schedule", std::string("cosine")}, {"train_steps", 50.0}, {"warmup_steps", 10.0}})),
  };
}

// The losses of a case, then that of the first batch in inference mode: a row for each dtype.
std::vector<std::vector<double>> expected_losses(const std::string& name, const char* fixture) {
  std::ifstream file(std::string(TENON_FIXTURES "/") + fixture);
  std::vector<std::vector<double>> out;
  for (std::string line, field; std::getline(file, line);) {
    if (line.rfind(name + ",", 0) != 0) continue;
    std::istringstream fields(line);
    std::getline(fields, field, ',');
    std::getline(fields, field, ',');  // the dtype
    std::vector<double> values;
    while (std::getline(fields, field, ',')) values.push_back(std::stod(field));
    out.push_back(std::move(values));
  }
  return out;
}

class CyclingFeed : public Feed {
 public:
  // Batches of each FEED input of the executable, made by their formulas.
  Status create(const Executable& executable) {
    batches_.resize(kBatches);
    for (const GraphInput& input : executable.graph.inputs) {
      if (input.role != Role::kFeed) continue;
      const Type& type = executable.graph.type(input.value);
      for (int k = 0; k < kBatches; ++k) {
        auto buffer = executable.device->allocate(type, true);
        if (!buffer.ok()) return buffer.status();
        fill(input.name, k, type, buffer->host());
        batches_[static_cast<size_t>(k)].push_back(std::move(*buffer));
      }
    }
    return {};
  }
  bool next(uint64_t i, std::span<Buffer*> feeds) override {
    for (size_t k = 0; k < feeds.size(); ++k) feeds[k] = &batches_[i % kBatches][k];
    return true;
  }
  void release(uint64_t) override {}

 private:
  static void fill(const std::string& name, int batch, const Type& type, void* memory) {
    const Uniform u(name);
    const int64_t n = type.shape.elements();
    for (int64_t i = 0; i < n; ++i) {
      const double value = u(batch * n + i);
      if (type.dtype == DType::kI32)
        static_cast<int32_t*>(memory)[i] = static_cast<int32_t>(value * 10);
      else
        static_cast<float*>(memory)[i] = static_cast<float>(value);
    }
  }
  std::vector<std::vector<Buffer>> batches_;
};

class Training {
 public:
  explicit Training(const Case& c) : case_(c) {
    const char* given = std::getenv("TENON_TEST_DEVICES");
    device_ = open_device(given ? given : "cpu").take();
    queue_ = device_->create_queue().take();
    states_.emplace(device_, queue_, 0);
  }

  // The losses of `n` batches in a mode.
  std::vector<float> run(Mode mode, int n) {
    const std::vector<FeatureSpec> specs{{"image", {DType::kF32, case_.image}}, {"label", {DType::kI32, {}}}};
    const Trace graph = trace_model(case_.model, case_.params, specs, case_.batch, mode).take();
    for (Variable& v : graph.graph->variables)
      if (v.name.ends_with("/kernel"))
        v.initializer = kernel(v.name, graph.graph->type(graph.graph->inputs[v.input].value).shape);
    const auto program = StepProgram::create(graph, device_, compile_options({}, n), 0).take();
    check(states_->provide(program->executable().graph, nullptr));
    program->bind(*states_);
    CyclingFeed feed;
    check(feed.create(program->executable()));
    EXPECT_EQ(program->run(queue_, static_cast<uint32_t>(n), &feed).take(), static_cast<uint32_t>(n));
    const auto loss = static_cast<size_t>(program->executable().find_result("loss"));
    return program->read(queue_, loss, static_cast<uint32_t>(n)).take().to<float>();
  }

 private:
  Case case_;
  std::shared_ptr<Device> device_;
  Queue queue_;
  std::optional<VariableStore> states_;
};

std::vector<float> trained(const Case& c) {
  Training training(c);
  std::vector<float> losses = training.run(Mode::kTrain, kSteps);
  losses.push_back(training.run(Mode::kEval, 1)[0]);
  return losses;
}

// The largest relative difference.
double compare(const std::vector<float>& losses, const std::vector<double>& peer, double tolerance) {
  EXPECT_EQ(peer.size(), losses.size());
  double largest = 0;
  for (size_t s = 0; s < std::min(peer.size(), losses.size()); ++s) {
    EXPECT_NEAR(losses[s], peer[s], tolerance * peer[s]) << "step " << s;
    largest = std::max(largest, std::fabs(losses[s] - peer[s]) / peer[s]);
  }
  return largest;
}

class LossParity : public testing::TestWithParam<Case> {};

TEST_P(LossParity, FiftyStepsGiveTheLossesOfKeras) {
  const auto expected = expected_losses(GetParam().name, "losses.csv");
  ASSERT_EQ(expected.size(), 2u) << "float32 and float64";
  const std::vector<float> losses = trained(GetParam());
  for (const std::vector<double>& keras : expected) {
    const double largest = compare(losses, keras, kTolerance);
    RecordProperty(&keras == &expected[0] ? "largest_relative_to_f32" : "largest_relative_to_f64",
                   std::to_string(largest));
    std::printf("  %s: largest relative difference from Keras in %s %.1e\n", GetParam().name.c_str(),
                &keras == &expected[0] ? "float32" : "float64", largest);
  }
}

TEST(LossParityInMixedBfloat16, FiftyStepsOfResnet20GiveTheLossesOfAutocast) {
  const auto expected = expected_losses("resnet20/momentum", "losses_autocast.csv");
  ASSERT_EQ(expected.size(), 1u);
  const Params params = with("momentum", 0.0003, {{"dtype_policy", std::string("mixed_bfloat16")}});
  const std::vector<float> losses = trained({"resnet20/momentum", models::resnet, params, {32, 32, 3}, 16});
  std::printf("  resnet20/momentum: largest relative difference from autocast %.1e\n",
              compare(losses, expected[0], kToleranceOfAutocast));
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cases, LossParity, testing::ValuesIn(cases()), test_name);

}  // namespace
}  // namespace tenon
