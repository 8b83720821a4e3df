#include "corpus/model_case.h"

#include <cmath>

#include "base/crc32c.h"
#include "base/strings.h"
#include "compile/rewrite.h"
#include "tenon/losses.h"

namespace tenon::corpus {
namespace {

constexpr double kSeed = 7;  // that dropout and random are keyed by

const Variable* variable_of(const Graph& graph, const GraphInput& input) {
  const Variable* v = graph.find_variable(input.name);
  if (!v) fail("state '", input.name, "' is no variable");
  return v;
}

// Uniform numbers about `middle` with a standard deviation.
Fill spread(const Type& type, uint64_t seed, double middle, double deviation) {
  const double reach = deviation * std::sqrt(3.0);
  return uniform(type.dtype, type.shape, seed, middle - reach, middle + reach).fill;
}

Fill first_value(const Type& type, const Variable& v, bool trained) {
  const uint64_t seed = crc32c(v.name);
  if (trained && v.name.ends_with("moving_mean")) return uniform(type.dtype, type.shape, seed, -0.5, 0.5).fill;
  if (trained && v.name.ends_with("moving_variance")) return uniform(type.dtype, type.shape, seed, 0.5, 2).fill;
  const Initializer& i = v.initializer;
  switch (i.kind) {
    case Initializer::Kind::kConstant:
      return values(type.dtype, type.shape, {i.a}).fill;
    case Initializer::Kind::kUniform:
      return uniform(type.dtype, type.shape, seed, i.a, i.b).fill;
    case Initializer::Kind::kNormal:
    case Initializer::Kind::kTruncatedNormal:
      return spread(type, seed, i.a, i.b);
    case Initializer::Kind::kOrthogonal:
      return spread(type, seed, 0, i.a / std::sqrt(static_cast<double>(type.shape[0])));
    case Initializer::Kind::kValues:
    case Initializer::Kind::kRead:
      break;
  }
  return values(type.dtype, type.shape, Doubles(i.values.begin(), i.values.end())).fill;
}

Fill fill_of(const Graph& graph, const GraphInput& input, const Inputs& feeds, bool trained) {
  const Type& type = graph.type(input.value);
  if (input.role == Role::kState) return first_value(type, *variable_of(graph, input), trained);
  if (input.role == Role::kFeed) return feeds[std::stoul(input.name.substr(1))].fill;
  return one(type.dtype, input.name == "seed" ? kSeed : input.scalar).fill;
}

Case model_case(const Model& model, Case::Kind kind, Graph built) {
  Case c;
  c.kind = kind;
  c.op = model.op;
  c.name = model.name;
  c.catalogue = model.catalogue;
  c.steps = kind == Case::kTraining ? model.steps : 1;
  ask_for_f32(built);
  Graph graph = prune_inputs(simplify(built));
  for (const GraphInput& input : graph.inputs)
    c.inputs.push_back(fill_of(graph, input, model.feeds, kind == Case::kInference));
  set_graphs(c, std::move(graph));
  return c;
}

}  // namespace

Case training_case(const Model& model) {
  Graph graph;
  const Built built = model.build(add_inputs(graph, model.feeds));
  minimize(model.optimizer, built.loss);
  graph.results.push_back({built.loss.id(), ResultMode::kLast, -1, false, "loss"});
  add_state_results(graph);
  return model_case(model, Case::kTraining, std::move(graph));
}

Case inference_case(const Model& model) {
  Graph graph;
  graph.mode = Mode::kPredict;
  const Built built = model.build(add_inputs(graph, model.feeds));
  for (const Tensor& t : built.predictions) graph.results.push_back({t.id()});
  return model_case(model, Case::kInference, std::move(graph));
}

Built classified(Tensor logits, Tensor labels) {
  Built out{{}, {softmax(logits), argmax(logits)}};
  if (mode_of(logits) != Mode::kPredict)
    out.loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
  return out;
}

Input each_step(Input input) {
  input.fill.each_step = true;
  return input;
}

Inputs images(int64_t batch, int64_t size, int64_t channels, int64_t classes) {
  return {each_step(uniform(DType::kF32, {batch, size, size, channels}, 1000, 0, 1)),
          each_step(uniform(DType::kI32, {batch}, 2000, 0, static_cast<double>(classes)))};
}

}  // namespace tenon::corpus
