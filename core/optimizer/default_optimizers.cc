// Optimizers with a learning rate and all else by default.
#include "tenon/optimizers.h"

namespace tenon {

Optimizer AdamW(LearningRate rate) { return AdamW(AdamWOptions{.learning_rate = std::move(rate)}); }
Optimizer Adagrad(LearningRate rate) { return Adagrad(AdagradOptions{.learning_rate = std::move(rate)}); }
Optimizer Adadelta(LearningRate rate) { return Adadelta(AdadeltaOptions{.learning_rate = std::move(rate)}); }
Optimizer Ftrl(LearningRate rate) { return Ftrl(FtrlOptions{.learning_rate = std::move(rate)}); }
Optimizer Lion(LearningRate rate) { return Lion(LionOptions{.learning_rate = std::move(rate)}); }
Optimizer Adafactor(LearningRate rate) { return Adafactor(AdafactorOptions{.learning_rate = std::move(rate)}); }
Optimizer Muon(LearningRate rate) { return Muon(MuonOptions{.learning_rate = std::move(rate)}); }
Optimizer Adamax(LearningRate rate) { return Adamax(AdamOptions{.learning_rate = std::move(rate)}); }
Optimizer Nadam(LearningRate rate) { return Nadam(AdamOptions{.learning_rate = std::move(rate)}); }
Optimizer Lamb(LearningRate rate) { return Lamb(AdamOptions{.learning_rate = std::move(rate)}); }

}  // namespace tenon
