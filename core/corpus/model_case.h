// Whole training steps and forward passes as cases.
#pragma once

#include "corpus/case.h"
#include "tenon/layers.h"
#include "tenon/optimizers.h"

namespace tenon::corpus {

// What a model function gives: everything is f32 but what it says.
struct Built {
  Tensor loss;  // absent in prediction
  Tensors predictions;
};

struct Model {
  std::string op, name;  // of the case
  bool catalogue = false;
  uint32_t steps = 10;
  Optimizer optimizer;
  Inputs feeds;  // with another batch each step
  // The label, if any, comes last; prediction does not use it.
  std::function<Built(const Tensors& feeds)> build;
};

// The step that minimize() makes: the loss, then all states, aliased, as the trainer compiles it. States begin with
// their initializers' constants; where those are random, with uniform numbers of the same spread.
Case training_case(const Model& model);
// The forward pass, with statistics as if it had been trained.
Case inference_case(const Model& model);

inline void add_model(Cases& cases, const Model& model) {
  cases.push_back(training_case(model));
  cases.push_back(inference_case(model));
}

// Softmax of the logits and the class; the mean cross entropy but in prediction.
Built classified(Tensor logits, Tensor labels);
// [batch, h, w, channels] in [0, 1), and labels in [0, classes).
Inputs images(int64_t batch, int64_t size, int64_t channels, int64_t classes);
Input each_step(Input input);

}  // namespace tenon::corpus
