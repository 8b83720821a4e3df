// What the models share: optimizers by name, and everything behind the logits.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>

#include "models/models.h"

namespace tenon::models {
namespace {

template <class Options>
Options common(const Params& params, LearningRate rate) {
  Options o;
  o.learning_rate = std::move(rate);
  o.weight_decay = params.get<double>("weight_decay", o.weight_decay);
  o.clipnorm = params.get<double>("clipnorm", 0);
  o.global_clipnorm = params.get<double>("global_clipnorm", 0);
  o.learning_rate_multipliers = learning_rate_multipliers(params).take();
  return o;
}

Optimizer sgd(const Params& params, LearningRate rate, double momentum) {
  auto o = common<SGDOptions>(params, std::move(rate));
  o.momentum = momentum;
  o.nesterov = params.get<bool>("nesterov", false);
  return SGD(o);
}

LearningRate schedule(const Params& params) {
  const double rate = params.get<double>("learning_rate");
  const double steps = params.get<double>("train_steps", 1), warmup = params.get<double>("warmup_steps", 0);
  const std::string name = params.get<std::string>("learning_rate_schedule", "constant");
  if (name == "constant" && warmup > 0)
    return LearningRate([=](Tensor step) { return minimum(step / warmup, scalar_like(step, 1)) * rate; });
  if (name == "constant") return rate;
  if (name == "rsqrt") {  // rises, then falls with the square root of the steps
    const double least = std::max(warmup, 1.0);
    return LearningRate([=](Tensor step) {
      const Tensor one = scalar_like(step, 1), from = scalar_like(step, least);
      return rate * minimum(step / least, one) / sqrt(maximum(step, from));
    });
  }
  if (name != "cosine") throw Error(Status(Code::kInvalid, "no learning_rate_schedule of name '" + name + "'"));
  if (warmup > 0) return CosineDecay(0, std::max(steps - warmup, 1.0), 0, rate, warmup);
  return CosineDecay(rate, steps);
}

Optimizer rmsprop(const Params& params, LearningRate rate, double momentum) {
  auto o = common<RMSpropOptions>(params, std::move(rate));
  o.momentum = momentum;
  o.epsilon = params.get<double>("epsilon", o.epsilon);
  return RMSprop(o);
}

Optimizer muon(const Params& params, LearningRate rate) {
  auto o = common<MuonOptions>(params, std::move(rate));
  o.adam_weight_decay = params.get<double>("weight_decay", o.adam_weight_decay);
  return Muon(o);
}

using Make = Optimizer (*)(const Params& params, LearningRate rate);
template <class Options, Optimizer (*Of)(const Options&)>
Optimizer make(const Params& params, LearningRate rate) {
  auto o = common<Options>(params, std::move(rate));
  if constexpr (requires { o.beta_2; }) o.beta_2 = params.get<double>("beta_2", o.beta_2);
  if constexpr (requires { o.epsilon; }) o.epsilon = params.get<double>("epsilon", o.epsilon);
  return Of(o);
}

struct Named {
  const char* name;
  Make make;
};
const Named kOptimizers[] = {
    {"sgd", [](const Params& p, LearningRate r) { return sgd(p, std::move(r), 0); }},
    {"momentum", [](const Params& p, LearningRate r) { return sgd(p, std::move(r), p.get<double>("momentum", 0.9)); }},
    {"adam", make<AdamOptions, Adam>},
    {"adamw", make<AdamWOptions, AdamW>},
    {"adamax", make<AdamOptions, Adamax>},
    {"nadam", make<AdamOptions, Nadam>},
    {"adagrad", make<AdagradOptions, Adagrad>},
    {"adadelta", make<AdadeltaOptions, Adadelta>},
    {"rmsprop", make<RMSpropOptions, RMSprop>},
    {"rmsprop_momentum",
     [](const Params& p, LearningRate r) { return rmsprop(p, std::move(r), p.get<double>("momentum", 0.9)); }},
    {"ftrl", make<FtrlOptions, Ftrl>},
    {"lamb", make<AdamOptions, Lamb>},
    {"lion", make<LionOptions, Lion>},
    {"adafactor", make<AdafactorOptions, Adafactor>},
    {"muon", muon},
};

}  // namespace

Result<std::vector<std::pair<std::string, double>>> learning_rate_multipliers(const Params& params) {
  std::vector<std::pair<std::string, double>> out;
  std::istringstream lines(params.get<std::string>("learning_rate_multiplier", ""));
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.rfind('=');
    double factor = -1;
    const char* const end = line.data() + line.size();
    const bool number =
        equals != line.npos && std::from_chars(line.data() + equals + 1, end, factor).ptr == end && factor >= 0;
    if (!number || !std::isfinite(factor))
      return Status(Code::kInvalid, "learning_rate_multiplier: '" + line + "', expected REGEX=FACTOR of at least 0");
    out.emplace_back(line.substr(0, equals), factor);
  }
  return out;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> out;
  for (const Named& o : kOptimizers) out.push_back(o.name);
  return out;
}

Optimizer make_optimizer(const Params& params) {
  const std::string name = params.get<std::string>("optimizer");
  const Named* const found =
      std::find_if(std::begin(kOptimizers), std::end(kOptimizers), [&](const Named& o) { return name == o.name; });
  if (found == std::end(kOptimizers)) throw Error(Status(Code::kInvalid, "no optimizer of name '" + name + "'"));
  const Optimizer optimizer = found->make(params, schedule(params));
  const bool is_half = params.get<std::string>("dtype_policy", "float32") == "mixed_float16";
  return is_half ? LossScaleOptimizer(optimizer) : optimizer;
}

Tensor image_of(const Features& features, const Params& params) {
  const Tensor x = features["image"];
  return params.get<bool>("transpose_input", false) ? transpose(x, {3, 0, 1, 2}) : x;
}

EstimatorSpec classify(Tensor logits, Tensor labels, Mode mode, const Optimizer& optimizer) {
  logits = cast(logits, DType::kF32);  // whatever the layers compute in
  const Tensor classid = argmax(logits);
  EstimatorSpec spec{.mode = mode, .predictions = {{"probabilities", softmax(logits)}, {"classid", classid}}};
  if (mode == Mode::kPredict) return spec;
  const bool rows = labels.rank() == logits.rank();  // of probabilities, as one-hot labels are
  spec.loss = rows ? categorical_crossentropy(labels, logits, {.from_logits = true})
                   : sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
  spec.eval_metrics = {{"accuracy", accuracy(rows ? argmax(labels) : labels, classid)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(optimizer, spec.loss);
  return spec;
}

}  // namespace tenon::models
