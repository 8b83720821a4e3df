// A version on a device.
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "export/version_writer.h"
#include "tenon/exported_model.h"

namespace tenon {
namespace {

// With zeros behind the rows that there are: what they give is left out.
Array padded(const Array& rows, int64_t count) {
  Type type = rows.type();
  type.shape.set(0, count);
  Array out(type);
  std::memcpy(out.bytes().data(), rows.bytes().data(), rows.bytes().size());
  return out;
}

Type batch_of(const Type& example, int64_t rows) {
  std::vector<int64_t> dims = example.shape.vec();
  dims.insert(dims.begin(), rows);
  return {example.dtype, Shape(dims)};
}

Status check_options(const ServableOptions& options) {
  const std::vector<int64_t>& sizes = options.batch_sizes;
  if (sizes.empty() || sizes[0] < 1 ||
      std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end())
    return invalid("batch sizes are ", sizes.empty() ? "none" : join(sizes), ", expected increasing numbers from 1");
  if (sizes.back() > 1 << 16) return invalid("a batch size is ", sizes.back(), ", expected up to ", 1 << 16);
  return {};
}

// From the file to the device at once: values that wait for functions would lie in memory twice.
WarmStartSettings weights_of(const ExportedModel& model) {
  return {.ckpt_to_initialize_from = cat(model.directory(), "/", kExportedWeights),
          .vars_to_warm_start = VarsToWarmStart({".*"}, VarsToWarmStart::Among::kAll)};
}

std::vector<std::string> tensors_of(const ServingSignature& signature) {
  std::vector<std::string> out;
  for (const ServingValue& input : signature.inputs) out.push_back(input.tensor);
  for (const ServingValue& output : signature.outputs) out.push_back(output.tensor);
  return out;
}

// As many rows of each input as of the first; -1 in `rows` where there is none.
Status check_inputs(const ServingSignature& signature, const Arrays& inputs, int64_t most, int64_t& rows) {
  rows = -1;
  for (const ServingValue& input : signature.inputs) {
    const auto found = inputs.find(input.tensor);
    if (found == inputs.end()) return invalid("input '", input.name, "' is missing");
    const Array& given = found->second;
    if (given.shape().rank() == 0) return invalid("input '", input.name, "' is a scalar, expected a row an example");
    if (rows < 0) rows = given.dim(0);
    const Type expected = batch_of(input.type, rows);
    if (!(given.type() == expected))
      return invalid("input '", input.name, "' is ", given.type().str(), ", expected ", expected.str());
  }
  if (rows < 1 || rows > most) return invalid("there are ", std::max<int64_t>(rows, 0), " rows, expected 1 to ", most);
  return {};
}

}  // namespace

Servable::Servable(ExportedModel model, ServableOptions options)
    : model_(std::move(model)), options_(std::move(options)), strategy_(options_.device) {}

Result<std::unique_ptr<Servable>> Servable::open(const ExportedModel& model, const ServableOptions& options) {
  TENON_TRY(check_options(options));
  try {
    std::unique_ptr<Servable> out(new Servable(model, options));
    out->strategy_.warm_start(weights_of(model));
    for (const ServingSignature& signature : model.signatures()) {
      if (const Function* same = out->function_of(tensors_of(signature))) {  // files and their numbers, say
        out->functions_.emplace_back(signature.key, *same);
        continue;
      }
      out->functions_.emplace_back(signature.key, model.function(out->strategy_, signature.key));
      for (const int64_t rows : options.batch_sizes) {
        Arrays zeros;
        for (const ServingValue& input : signature.inputs)
          zeros.insert({input.tensor, Array(batch_of(input.type, rows))});
        TENON_TRY(out->predict(signature.key, zeros).status());
      }
    }
    for (const std::string& variable : out->strategy_.warm_started().fresh)
      return invalid(model.directory(), ": variable '", variable, "' is no longer in the weights");
    return out;
  } catch (const Error& e) {
    return Status(e.status().code(), cat(model.directory(), ": ", e.status().message()));
  }
}

const Function* Servable::function_of(const std::vector<std::string>& tensors) const {
  for (const auto& [key, function] : functions_)
    if (tensors_of(*model_.signature(key)) == tensors) return &function;
  return nullptr;
}

Result<Arrays> Servable::predict(std::string_view key, const Arrays& inputs) {
  const ServingSignature* signature = model_.signature(key);
  if (!signature) return invalid("there is no signature '", abbreviated(key), "'");
  int64_t rows = 0;
  TENON_TRY(check_inputs(*signature, inputs, max_rows(), rows));
  const int64_t size = *std::lower_bound(options_.batch_sizes.begin(), options_.batch_sizes.end(), rows);
  const auto function =
      std::find_if(functions_.begin(), functions_.end(), [&](const auto& f) { return f.first == key; });
  Arrays batch;
  const bool whole = rows == size && inputs.size() == signature->inputs.size();
  for (const ServingValue& input : signature->inputs)
    if (!whole) batch.insert({input.tensor, padded(inputs.at(input.tensor), size)});
  try {
    const Results results = function->second(whole ? inputs : batch);
    if (rows == size) return results.all();
    Arrays out;
    for (const auto& [name, value] : results.all()) out.emplace(name, value.rows(0, rows));
    return out;
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace tenon
