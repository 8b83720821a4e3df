// Which features of a batch are a model's inputs, targets and weights.
#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "model/for_outputs.h"
#include "model/model_training.h"

namespace tenon {
namespace {

const std::vector<std::string> kTargets = {"y", "label", "labels"};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool all_in(const std::vector<std::string>& names, const std::vector<std::string>& features) {
  return !names.empty() &&
         std::all_of(names.begin(), names.end(), [&](const std::string& n) { return has(features, n); });
}

// y_0, y_1, .., as many as there are.
std::vector<std::string> numbered(const std::vector<std::string>& features) {
  std::vector<std::string> found;
  while (has(features, cat("y_", found.size()))) found.push_back(cat("y_", found.size()));
  return found;
}

// A model with one input takes the only feature that is left, whatever its name.
std::vector<std::string> find_inputs(const std::vector<std::string>& rest, const std::vector<std::string>& wanted) {
  if (wanted.empty() || (wanted.size() == 1 && rest.size() == 1)) return rest;
  for (const std::string& name : wanted)
    if (!has(rest, name))
      fail("the model's input '", name, "' is none of the features ", rest.empty() ? "that are left" : join(rest));
  return wanted;
}

}  // namespace

std::vector<std::string> find_targets(const std::vector<std::string>& features, const std::vector<std::string>& outputs,
                                      bool wanted) {
  const std::vector<std::string> in_order = numbered(features);
  if (!in_order.empty()) return in_order;
  if (outputs.size() > 1 && all_in(outputs, features)) return outputs;
  std::vector<std::string> found;
  for (const std::string& name : kTargets)
    if (has(features, name)) found.push_back(name);
  if (outputs.size() > 1 && found.empty()) {  // those of some outputs
    std::vector<std::string> some = outputs;
    for (std::string& name : some)
      if (!has(features, name)) name.clear();
    if (std::any_of(some.begin(), some.end(), [](const std::string& name) { return !name.empty(); })) return some;
  }
  if (found.size() > 1) fail("the data have the features '", found[0], "' and '", found[1], "': which is the target?");
  if (outputs.size() > 1 && wanted)
    fail("the data have no targets of the model's ", outputs.size(), " outputs, ", join(outputs),
         ", which are called as the outputs or y_0, y_1, ..; there are ",
         features.empty() ? "none" : cat("the features ", join(features)));
  if (found.empty() && all_in(outputs, features)) return outputs;
  if (found.empty() && wanted && features.empty()) fail("the data have no target, which loss and metrics need");
  if (found.empty() && wanted)
    fail("the data have no target: none of the features ", join(features), " is called y or label");
  return found;
}

std::vector<std::string> find_weights(const std::vector<std::string>& weights,
                                      const std::vector<std::string>& outputs) {
  std::vector<std::string> found(outputs.size());
  for (const std::string& name : weights) {
    if (name == kSampleWeight && weights.size() > 1)
      fail("the data have the features 'sample_weight', for all outputs, and '", weights[weights[0] == name ? 1 : 0],
           "'; expected one or the other");
    if (name == kSampleWeight) return std::vector<std::string>(outputs.size(), name);
    const std::string of = name.substr(kSampleWeight.size() + 1);
    size_t i = 0;
    while (i < outputs.size() && of != outputs[i] && of != std::to_string(i)) ++i;
    if (i == outputs.size())
      fail("the feature '", name, "' is of no output of the model; its outputs are ", join(outputs), ", numbers 0 to ",
           outputs.size() - 1);
    if (!found[i].empty()) fail("the features '", found[i], "' and '", name, "' are weights of one output");
    found[i] = name;
  }
  return found;
}

BatchRoles batch_roles(const std::vector<std::string>& features, const Model& model, Mode mode, bool wants_targets) {
  BatchRoles roles;
  const std::vector<std::string> inputs = model.input_names();
  const bool named = all_in(inputs, features);  // what the model names is its input, whatever the name
  std::vector<std::string>& rest = roles.others;
  for (const std::string& name : features)
    if (!named || !has(inputs, name)) rest.push_back(name);
  const auto is_weight = [](const std::string& name) {
    return name == kSampleWeight || name.starts_with(cat(kSampleWeight, "_"));
  };
  std::copy_if(rest.begin(), rest.end(), std::back_inserter(roles.weights), is_weight);
  std::erase_if(rest, is_weight);
  if (named) {
    roles.inputs = inputs;
    return roles;
  }
  std::vector<std::string> left = rest;
  const std::vector<std::string> targets =
      mode == Mode::kPredict ? kTargets
                             : find_targets(rest, output_names(model, model.output_names().size()), wants_targets);
  std::erase_if(left, [&](const std::string& name) { return has(targets, name); });
  roles.inputs = find_inputs(left, inputs);
  if (roles.inputs.empty()) fail("the data have no feature for the model's input");
  return roles;
}

}  // namespace tenon
