// Optimizers with all, or all but the learning rate, by default.
#include <algorithm>
#include <cctype>
#include <vector>

#include "base/strings.h"
#include "tenon/optimizers.h"

namespace tenon {
namespace {

struct KnownOptimizer {
  std::string_view name;
  Optimizer (*make)();
};
const KnownOptimizer kOptimizers[] = {
    {"adadelta", [] { return Adadelta(); }}, {"adafactor", [] { return Adafactor(); }},
    {"adagrad", [] { return Adagrad(); }},   {"adam", [] { return Adam(); }},
    {"adamax", [] { return Adamax(); }},     {"adamw", [] { return AdamW(); }},
    {"ftrl", [] { return Ftrl(); }},         {"lamb", [] { return Lamb(); }},
    {"lion", [] { return Lion(); }},         {"muon", [] { return Muon(); }},
    {"nadam", [] { return Nadam(); }},       {"rmsprop", [] { return RMSprop(); }},
    {"sgd", [] { return SGD(); }},
};

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

// As in Keras, case does not matter.
Optimizer::Optimizer(const std::string& name) {
  std::vector<std::string_view> names;
  for (const KnownOptimizer& known : kOptimizers) {
    if (lower_case(name) == known.name) {
      *this = known.make();
      return;
    }
    names.push_back(known.name);
  }
  const std::string_view near = nearest(lower_case(name), names);
  fail("no optimizer of name '", name, "'", near.empty() ? std::string() : cat("; did you mean '", near, "'?"));
}

Optimizer AdamW(LearningRate rate) { return AdamW(AdamWOptions{.learning_rate = std::move(rate)}); }
Optimizer Adagrad(LearningRate rate) { return Adagrad(AdagradOptions{.learning_rate = std::move(rate)}); }
Optimizer Adadelta(LearningRate rate) { return Adadelta(AdadeltaOptions{.learning_rate = std::move(rate)}); }
Optimizer Ftrl(LearningRate rate) { return Ftrl(FtrlOptions{.learning_rate = std::move(rate)}); }
Optimizer Lion(LearningRate rate) { return Lion(LionOptions{.learning_rate = std::move(rate)}); }
Optimizer Adafactor(LearningRate rate) { return Adafactor(AdafactorOptions{.learning_rate = std::move(rate)}); }
Optimizer Muon(LearningRate rate) { return Muon(MuonOptions{.learning_rate = std::move(rate)}); }
Optimizer ScheduleFreeAdamW(LearningRate rate) {
  return ScheduleFreeAdamW(ScheduleFreeAdamWOptions{.learning_rate = std::move(rate)});
}
Optimizer Adamax(LearningRate rate) { return Adamax(AdamOptions{.learning_rate = std::move(rate)}); }
Optimizer Nadam(LearningRate rate) { return Nadam(AdamOptions{.learning_rate = std::move(rate)}); }
Optimizer Lamb(LearningRate rate) { return Lamb(AdamOptions{.learning_rate = std::move(rate)}); }

}  // namespace tenon
