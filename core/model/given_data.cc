#include "model/given_data.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "model/model_training.h"

namespace tenon {
namespace {

struct Named {
  std::string name;
  const Array* array;
};

void name_inputs(const Examples& x, const Model& model, const char* what, std::vector<Named>* out) {
  const std::vector<std::string> names = model.input_names();
  if (!names.empty() && names.size() != x.all().size())
    fail(what, ": the model has ", names.size(), " inputs, given ", x.all().size(), " arrays");
  for (size_t i = 0; i < x.all().size(); ++i) {
    const auto& [given, array] = x.all()[i];
    const std::string by_place = !names.empty() ? names[i] : x.all().size() == 1 ? "x" : cat("x_", i);
    out->push_back({given.empty() ? by_place : given, &array});
  }
}

void name_targets(const Examples& y, std::vector<Named>* out) {
  for (size_t i = 0; i < y.all().size(); ++i) {
    const auto& [given, array] = y.all()[i];
    const bool free = std::none_of(out->begin(), out->end(), [](const Named& n) { return n.name == "y"; });
    out->push_back({!given.empty() ? given : y.all().size() == 1 && free ? "y" : cat("y_", i), &array});
  }
}

// Empty ones are none.
void name_weights(const Examples& weights, std::vector<Named>* out) {
  for (size_t i = 0; i < weights.all().size(); ++i) {
    const auto& [given, array] = weights.all()[i];
    const bool of_all = given.empty() && weights.all().size() == 1;
    if (array.elements() > 0)
      out->push_back({of_all          ? std::string(kSampleWeight)
                      : given.empty() ? cat(kSampleWeight, "_", i)
                                      : cat(kSampleWeight, "_", given),
                      &array});
  }
}

std::vector<Named> named(const GivenData& data, const Model& model, const char* what) {
  std::vector<Named> out;
  name_inputs(*data.x, model, what, &out);
  name_targets(*data.y, &out);
  if (data.sample_weight) name_weights(*data.sample_weight, &out);
  if (out.empty()) fail(what, ": no data are given");
  if (data.x->empty()) fail(what, ": there are targets and no data for the model's input");
  for (const Named& n : out) {
    if (n.array->shape().rank() == 0) fail(what, ": '", n.name, "' is a scalar, expected a row an example");
    if (n.array->dim(0) == 0) fail(what, ": '", n.name, "' has no examples");
    if (n.array->dim(0) != out[0].array->dim(0))
      fail(what, ": '", out[0].name, "' has ", out[0].array->dim(0), " examples, and '", n.name, "' has ",
           n.array->dim(0));
  }
  return out;
}

// Its examples from `begin` on.
MemoryFeature feature_of(const Named& n, int64_t begin, int64_t count) {
  const auto dims = n.array->shape().dims();
  const Type example{n.array->dtype(), Shape(dims.subspan(1))};
  const auto bytes = static_cast<size_t>(example.bytes());
  return {{n.name, example},
          {},
          n.array->bytes().subspan(static_cast<size_t>(begin) * bytes, static_cast<size_t>(count) * bytes)};
}

// Says before the first step what the function would say later.
Dataset shared_by_units(Dataset data, const MemoryOptions& options, const char* what) {
  const int64_t batch = data.options().batch_size;
  if (batch % options.units != 0)
    fail(what, ": batches of ", batch, " rows must be divisible by number of replicas ", options.units);
  return data;
}

}  // namespace

Dataset to_dataset(const GivenData& data, const Model& model, const MemoryOptions& options, const char* what) {
  if (data.dataset) return shared_by_units(*data.dataset, options, what);
  const std::vector<Named> all = named(data, model, what);
  if (options.batch_size < 1) fail(what, ": batch_size is ", options.batch_size, ", expected 1 or more");
  const int64_t examples = data.count < 0 ? all[0].array->dim(0) : data.count, units = options.units;
  std::vector<MemoryFeature> features;
  for (const Named& n : all) features.push_back(feature_of(n, data.begin, examples));
  InputOptions input;
  input.batch_size = std::min(options.batch_size, examples);
  if (examples <= options.batch_size || options.any_size)
    input.batch_size = (input.batch_size + units - 1) / units * units;
  input.training = options.shuffle && input.batch_size <= examples;  // one batch that is not full needs no order
  return shared_by_units(Dataset::from_memory(std::move(features), input).take(), options, what);
}

Arrays to_arrays(const GivenData& data, const Model& model, const char* what) {
  Arrays out;
  for (const Named& n : named(data, model, what)) out.emplace(n.name, *n.array);
  return out;
}

int64_t count_examples(const GivenData& data, const Model& model, const char* what) {
  return named(data, model, what)[0].array->dim(0);
}

std::pair<GivenData, GivenData> split_examples(const GivenData& data, const Model& model, double validation) {
  if (!(validation > 0 && validation < 1)) fail("fit: validation_split is ", validation, ", expected 0 to less than 1");
  if (data.dataset) fail("fit: validation_split is for examples in memory; a Dataset needs validation_data");
  const int64_t n = count_examples(data, model, "fit");
  const auto train = static_cast<int64_t>(std::floor(static_cast<double>(n) * (1 - validation)));
  if (train == 0 || train == n)
    fail("fit: validation_split ", validation, " leaves no examples of ", n, " on one side");
  std::pair<GivenData, GivenData> parts(data, data);
  parts.first.count = train;
  parts.second.begin = train;
  parts.second.count = n - train;
  return parts;
}

}  // namespace tenon
