#include "model/model_data.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

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

std::vector<Named> named(const FitData& data, const Model& model, const char* what) {
  std::vector<Named> out;
  name_inputs(data.x(), model, what, &out);
  name_targets(data.y(), &out);
  if (data.sample_weight().elements() > 0) out.push_back({"sample_weight", &data.sample_weight()});
  if (out.empty()) fail(what, ": no data are given");
  for (const Named& n : out) {
    if (n.array->shape().rank() == 0) fail(what, ": '", n.name, "' is a scalar, expected a row an example");
    if (n.array->dim(0) == 0) fail(what, ": '", n.name, "' has no examples");
    if (n.array->dim(0) != out[0].array->dim(0))
      fail(what, ": '", out[0].name, "' has ", out[0].array->dim(0), " examples, and '", n.name, "' has ",
           n.array->dim(0));
  }
  return out;
}

MemoryFeature feature_of(const Named& n) {
  const auto dims = n.array->shape().dims();
  const auto bytes = n.array->bytes();
  return {{n.name, {n.array->dtype(), Shape(dims.subspan(1))}}, std::vector<std::byte>(bytes.begin(), bytes.end())};
}

Examples part_of(const Examples& all, int64_t begin, int64_t count) {
  Arrays named;
  std::vector<Array> in_order;
  for (const auto& [name, array] : all.all())
    if (name.empty())
      in_order.push_back(array.rows(begin, count));
    else
      named.emplace(name, array.rows(begin, count));
  return in_order.empty() ? Examples(named) : Examples(std::move(in_order));
}

FitData part_of(const FitData& all, int64_t begin, int64_t count) {
  const Array& weight = all.sample_weight();
  return FitData(part_of(all.x(), begin, count), part_of(all.y(), begin, count),
                 weight.elements() > 0 ? weight.rows(begin, count) : Array());
}

}  // namespace

Dataset to_dataset(const FitData& data, const Model& model, const MemoryOptions& options, const char* what) {
  if (data.dataset()) return *data.dataset();
  const std::vector<Named> all = named(data, model, what);
  if (options.batch_size < 1) fail(what, ": batch_size is ", options.batch_size, ", expected 1 or more");
  std::vector<MemoryFeature> features;
  for (const Named& n : all) features.push_back(feature_of(n));
  InputOptions input;
  const int64_t examples = all[0].array->dim(0), of = options.multiple_of;
  input.batch_size = std::min(options.batch_size, examples);
  if (examples <= options.batch_size || !options.exact) input.batch_size = (input.batch_size + of - 1) / of * of;
  input.training = options.shuffle && input.batch_size <= examples;  // one batch that is not full needs no order
  return Dataset::from_memory(std::move(features), input).take();
}

Arrays to_arrays(const FitData& data, const Model& model, const char* what) {
  Arrays out;
  for (const Named& n : named(data, model, what)) out.emplace(n.name, *n.array);
  return out;
}

std::pair<FitData, FitData> split_examples(const FitData& data, const Model& model, double validation) {
  if (!(validation > 0 && validation < 1)) fail("fit: validation_split is ", validation, ", expected 0 to less than 1");
  if (data.dataset()) fail("fit: validation_split is for examples in memory; a Dataset needs validation_data");
  const int64_t n = named(data, model, "fit")[0].array->dim(0);
  const auto train = static_cast<int64_t>(std::floor(static_cast<double>(n) * (1 - validation)));
  if (train == 0 || train == n)
    fail("fit: validation_split ", validation, " leaves no examples of ", n, " on one side");
  return {part_of(data, 0, train), part_of(data, train, n - train)};
}

}  // namespace tenon
