#include "train/export/export_outputs.h"

#include <algorithm>

#include "base/strings.h"
#include "graph/graph.h"
#include "train/model_function.h"

namespace tenon {
namespace {

void expect_set(const char* kind, const std::string& name, Tensor tensor) {
  if (!tensor) fail(kind, ": '", name, "' was never set");
  if (tensor.rank() == 0) fail(kind, ": '", name, "' is a scalar, expected a row an example");
}

void expect_floats(const char* kind, const std::string& name, Tensor tensor) {
  expect_set(kind, name, tensor);
  if (!is_float(tensor.dtype())) fail(kind, ": '", name, "' is ", tensor.type().str(), ", expected floats");
}

const char* method_of(ExportOutput::Kind kind) {
  switch (kind) {
    case ExportOutput::Kind::kClassification:
      return "tensorflow/serving/classify";
    case ExportOutput::Kind::kRegression:
      return "tensorflow/serving/regress";
    default:
      return "tensorflow/serving/predict";
  }
}

Type example_of(Type batch) {
  const std::vector<int64_t> dims = batch.shape.vec();
  batch.shape = Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
  return batch;
}

ExportSignature signature_of(const std::string& key, const ExportOutput& output) {
  ExportSignature out{key, method_of(output.kind()), {}, {}};
  for (const auto& [name, tensor] : output.outputs()) out.outputs.push_back({name, example_of(tensor.type())});
  return out;
}

}  // namespace

ExportOutput PredictOutput(Tensor output) { return PredictOutput(ExportOutput::Named{{"output", output}}); }

ExportOutput PredictOutput(const ExportOutput::Named& outputs) {
  if (outputs.empty()) fail("PredictOutput: no outputs are given");
  for (size_t i = 0; i < outputs.size(); ++i) {
    expect_set("PredictOutput", outputs[i].first, outputs[i].second);
    for (size_t k = 0; k < i; ++k)
      if (outputs[k].first == outputs[i].first) fail("PredictOutput: there are two outputs '", outputs[i].first, "'");
  }
  return {ExportOutput::Kind::kPredict, outputs};
}

ExportOutput ClassificationOutput(const ClassificationTensors& tensors) {
  constexpr const char* kKind = "ClassificationOutput";
  ExportOutput::Named outputs;
  if (!tensors.scores && !tensors.classes) fail(kKind, ": neither scores nor classes are given");
  if (tensors.classes) {
    expect_set(kKind, "classes", tensors.classes);
    if (!is_integer(tensors.classes.dtype()))
      fail(kKind, ": 'classes' is ", tensors.classes.type().str(), ", expected whole numbers");
    outputs.emplace_back("classes", tensors.classes);
  }
  if (tensors.scores) {
    expect_floats(kKind, "scores", tensors.scores);
    outputs.emplace_back("scores", tensors.scores);
  }
  return {ExportOutput::Kind::kClassification, std::move(outputs)};
}

ExportOutput RegressionOutput(Tensor value) {
  expect_floats("RegressionOutput", "outputs", value);
  return {ExportOutput::Kind::kRegression, {{"outputs", value}}};
}

ExportOutputs export_outputs(const EstimatorSpec& spec) {
  ExportOutputs out = spec.export_outputs;
  if (out.empty()) return {{kDefaultSignature, PredictOutput(spec.predictions)}};
  std::vector<std::string_view> keys;
  for (const auto& [key, output] : out) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) fail("export_outputs: there are two '", key, "'");
    keys.push_back(key);
  }
  if (std::find(keys.begin(), keys.end(), kDefaultSignature) != keys.end()) return out;
  if (out.size() > 1)
    fail("export_outputs: of several, ", join(keys), ", one has to be named '", kDefaultSignature,
         "': which is the default");
  out.emplace_back(kDefaultSignature, out[0].second);
  return out;
}

Result<ExportTrace> trace_exports(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                                  int64_t batch_size) {
  ExportTrace out;
  const TensorFunction function = [&](const Features& features) {
    Outputs results;
    for (const auto& [key, output] : export_outputs(call_model(model, params, specs, features, Mode::kPredict, {}))) {
      out.signatures.push_back(signature_of(key, output));
      for (const auto& [name, tensor] : output.outputs())
        results.add(exported_result(key, name), {tensor, ResultMode::kLast, Joining::kRows});
    }
    return results;
  };
  TENON_ASSIGN(const TraceOptions tracing, model_tracing(params, Mode::kPredict, 1));
  TENON_ASSIGN(out.trace, trace(function, batch_inputs(specs, batch_size, 1), tracing));
  for (const GraphInput& input : out.trace.graph->inputs) {
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == input.name; });
    if (input.role != Role::kFeed || spec == specs.end()) continue;
    for (ExportSignature& signature : out.signatures) signature.inputs.push_back({spec->name, spec->type});
  }
  return out;
}

}  // namespace tenon
