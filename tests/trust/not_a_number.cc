// Row 10: NaN and infinity injected into a small training, site by site: trust_not_a_number SECONDS. Prints the row's line.
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "tenon/estimator.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

constexpr int64_t kExamples = 24, kBatch = 2, kInputs = 4, kBadStep = 5;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

// What is spoilt, and with what.
struct Site {
  std::string name;
  std::string where;  // "x", "y": a feature; "after LAYER"; "rate"; "first KERNEL"; "saved VARIABLE"
  float value = kNaN;
  std::string optimizer = "sgd";
  int64_t element = 0;
};

const std::vector<std::string> kLayers = {"dense",   "relu",    "tanh",    "layer_norm", "batch_norm",
                                          "softmax", "reshape", "dropout", "sigmoid"};

Tensor layer(const std::string& kind, const Tensor& x) {
  if (kind == "dense") return dense(x, {.units = kInputs});
  if (kind == "relu") return relu(x);
  if (kind == "tanh") return tanh(x);
  if (kind == "sigmoid") return sigmoid(x);
  if (kind == "layer_norm") return layer_normalization(x);
  if (kind == "batch_norm") return batch_normalization(x);
  if (kind == "softmax") return softmax(x);
  if (kind == "dropout") return dropout(x, 0.25);
  return reshape(x, {x.shape()[0], kInputs});
}

Optimizer optimizer_of(const std::string& name, const LearningRate& rate) {
  if (name == "adam") return Adam({.learning_rate = rate});
  if (name == "momentum") return SGD({.learning_rate = rate, .momentum = 0.9});
  if (name == "rmsprop") return RMSprop({.learning_rate = rate});
  if (name == "adagrad") return Adagrad({.learning_rate = rate});
  return SGD({.learning_rate = rate});
}

// 1 for the feature "spoil" of 0. NaN comes in as the feature itself; infinity arises from features that are finite.
Tensor factor(const Tensor& spoil, float value) {
  if (std::isnan(value)) return 1 + spoil;
  return value > 0 ? 1 / (1 + spoil) : 1 + log(1 + spoil);
}

// A schedule of a user's own: the library's refuse such a number before the first step.
LearningRate late_rate(double value) {
  return LearningRate([value](Tensor step) {
    const Tensor early = compare(step, scalar_like(step, kBadStep - 2), CompareKind::kLe);
    return select(early, scalar_like(step, 0.01), scalar_like(step, value));
  });
}

// Layers of all kinds, one behind the other; what is behind the site's is multiplied by the factor. `blind`: the control,
// in which what is injected reaches neither loss nor weights.
EstimatorSpec chain(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const auto site = params.get<std::string>("where");
  const bool blind = params.get<bool>("blind");
  Tensor x = features["x"];
  const Tensor spoil = features["spoil"];
  for (const std::string& kind : kLayers) {
    x = layer(kind, x);
    if (site == "after " + kind) x = x * factor(spoil, static_cast<float>(params.get<double>("value")));
  }
  const Tensor y = dense(x, {.units = 1});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(labels, y);
  if (blind) spec.loss = reduce_mean(square(dense(features["steady"], {.units = 1})));
  if (mode == Mode::kTrain) {
    const LearningRate rate = site == "rate" && !blind ? late_rate(params.get<double>("value")) : LearningRate(0.01);
    spec.train_op = minimize(optimizer_of(params.get<std::string>("optimizer"), rate), spec.loss);
  }
  return spec;
}

Dataset data(const Site& site, bool spoilt) {
  std::vector<float> x, y, spoil, steady;
  for (int64_t i = 0; i < kExamples; ++i) {
    const bool bad = spoilt && i == (kBadStep - 1) * kBatch + site.element % kBatch;
    for (int64_t k = 0; k < kInputs; ++k) {
      x.push_back(bad && site.where == "x" && k == site.element % kInputs
                      ? site.value
                      : static_cast<float>((7 * i + 3 * k) % 11) / 8);
      steady.push_back(1);
    }
    y.push_back(bad && site.where == "label" ? site.value : static_cast<float>(i % 5));
    spoil.push_back(bad && site.where.starts_with("after ") ? (std::isnan(site.value) ? site.value : -1.0f) : 0);
  }
  const auto feature = [](const char* name, const Shape& shape, const std::vector<float>& values) {
    return memory_feature<float>(name, DType::kF32, shape, std::span<const float>(values));
  };
  return Dataset::from_memory({feature("x", {kInputs}, x), feature("spoil", {1}, spoil),
                               feature("steady", {kInputs}, steady), feature("label", {1}, y)},
                              {.batch_size = kBatch, .repeat = true, .shuffle_buffer = 0})
      .take();
}

Params params_of(const Site& site, bool blind) {
  return {{"where", site.where},
          {"value", static_cast<double>(site.value)},
          {"optimizer", site.optimizer},
          {"blind", blind}};
}

Result<TrainResult> train(const std::string& dir, const Site& site, bool spoilt, bool blind, int64_t steps) {
  Estimator estimator(chain, {.model_dir = dir, .device = "cpu", .save_checkpoints_steps = 1}, params_of(site, blind));
  return estimator.train({.input = data(site, spoilt), .max_steps = steps});
}

// Writes the newest checkpoint again with one element of a variable changed.
Status spoil_checkpoint(const std::string& dir, const Site& site, int64_t step) {
  const std::string from = cat(dir, "/model.ckpt-", step);
  TENON_ASSIGN(const BundleReader reader, BundleReader::open(from));
  TENON_ASSIGN(BundleWriter writer, BundleWriter::create(from));
  const std::string variable = site.where.substr(6);
  bool found = false;
  for (const auto& [name, entry] : reader.entries()) {
    std::vector<std::byte> bytes(static_cast<size_t>(entry.size));
    TENON_TRY(reader.read(name, bytes));
    const bool is_it = entry.dtype == DType::kF32 && name.ends_with(variable) && !found;
    if (is_it) std::memcpy(bytes.data(), &site.value, sizeof site.value);
    found = found || is_it;
    TENON_TRY(writer.add(name, {entry.dtype, entry.shape}, bytes));
  }
  if (!found) return invalid("no variable ", variable);
  return writer.commit();
}

std::string hash_of_newest(const std::string& dir, int64_t step) {
  const Result<BundleReader> reader = BundleReader::open(cat(dir, "/model.ckpt-", step));
  return reader.ok() && reader->verify().ok() ? reader->fingerprint() : "";
}

// "" when the training stopped as it must.
std::string injected(const Site& site, bool blind) {
  TemporaryDirectory dir;
  const bool in_checkpoint = site.where.starts_with("saved "), from_rate = site.where == "rate";
  const int64_t good = kBadStep - 1;
  if (const auto before = train(dir.path(), site, true, blind, good); !before.ok()) return before.status().message();
  const std::string kept = hash_of_newest(dir.path(), good);
  if (in_checkpoint) {
    if (blind) return "";
    if (const auto more = train(dir.path(), site, true, blind, good + 1); !more.ok()) return more.status().message();
    if (const Status s = spoil_checkpoint(dir.path(), site, good + 1); !s.ok()) return s.message();
  }
  const auto r = train(dir.path(), site, true, blind, good + 6);
  if (r.ok()) return "training went on";
  const std::string& message = r.status().message();
  const bool step_named = in_checkpoint ? message.find(cat("model.ckpt-", good + 1)) != std::string::npos
                                        : message.find(cat("step ", kBadStep)) != std::string::npos ||
                                              (message.find(cat("step ", kBadStep + 1)) != std::string::npos);
  if (!step_named) return "names no step: " + message;
  if (message.find("variable '") == std::string::npos && message.find("feature '") == std::string::npos)
    return "names no tensor: " + message;
  if (kept.empty() || hash_of_newest(dir.path(), good) != kept) return "the last good checkpoint is gone: " + message;
  if (in_checkpoint || from_rate) return "";
  const auto again = train(dir.path(), site, false, blind, good + 6);
  return again.ok() ? "" : "does not go on with good data: " + again.status().message();
}

std::vector<Site> sites() {
  std::vector<Site> out;
  for (const float value : {kNaN, kInf, -kInf}) {
    const std::string with = std::isnan(value) ? " nan" : value > 0 ? " inf" : " -inf";
    for (int64_t element = 0; element < 4; ++element) out.push_back({cat("feature", with), "x", value, "sgd", element});
    for (int64_t element = 0; element < 2; ++element)
      out.push_back({cat("label", with), "label", value, "sgd", element});
    for (const std::string& kind : kLayers) out.push_back({cat("layer ", kind, with), cat("after ", kind), value});
  }
  for (const char* optimizer : {"sgd", "adam", "momentum", "rmsprop", "adagrad"})
    out.push_back({cat("learning rate of ", optimizer), "rate", kNaN, optimizer});
  for (const float value : {kNaN, kInf})
    for (const char* variable : {"kernel", "bias", "gamma", "moving_variance"})
      out.push_back({cat("checkpoint ", variable), cat("saved ", variable), value});
  for (const auto& [optimizer, slot] :
       std::initializer_list<std::pair<const char*, const char*>>{{"adam", "kernel/Adam"},
                                                                  {"adam", "kernel/Adam_1"},
                                                                  {"momentum", "kernel/Momentum"},
                                                                  {"rmsprop", "kernel/RMSProp"},
                                                                  {"adagrad", "kernel/Adagrad"}})
    out.push_back({cat("slot ", slot), cat("saved ", slot), kNaN, optimizer});
  return out;
}

int run(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 800));
  const std::vector<Site> all = sites();
  int64_t tried = 0, stopped = 0, blinded = 0, caught = 0;
  for (size_t i = 0; i < all.size() && (tried < 12 || std::chrono::steady_clock::now() < end); ++i) {
    // A stride that meets all kinds early.
    const Site& site = all[i * 29 % all.size()];
    const std::string why = injected(site, false);
    ++tried;
    stopped += why.empty();
    if (!why.empty()) std::cerr << site.name << ": " << why << '\n';
  }
  // Layers behind the one whose moving averages would hold it all the same.
  for (const char* kind : {"batch_norm", "softmax", "reshape", "dropout", "sigmoid"}) {
    ++blinded;
    caught += injected({kind, cat("after ", kind)}, true) == "training went on";
  }
  std::cout
      << "row 10: NaN or infinity stops training within a step | asked: 50 sites, tensor and step named, last good "
         "checkpoint kept | seen: "
      << stopped << " of " << tried << " sites, of " << all.size()
      << " | control: what is injected kept from loss and weights, seen to go on " << caught << " of " << blinded
      << '\n';
  return stopped != tried || caught != blinded;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return tenon::run(std::stod(argv[1]));
}
