// What is done with any model of an ONNX file: its scores of classes, its outputs, and where the runner has no data for it a plain loss.
#include <algorithm>
#include <sstream>

#include "models/onnx_file.h"
#include "tenon/losses.h"

namespace tenon::models {
namespace {

constexpr int64_t kUsualBelow = 1000;  // of whole numbers that nothing is known of

// "f32[?,21,8,8]"
std::string type_of(const OnnxValue& value) {
  std::string out(dtype_name(value.dtype));
  for (size_t a = 0; a < value.dims.size(); ++a)
    out += (a == 0 ? "[" : ",") + (value.dims[a] < 0 ? "?" : std::to_string(value.dims[a]));
  return out + (value.dims.empty() ? "" : "]");
}

// The mean of squares of all outputs of floats.
EstimatorSpec mean_of_squares(const OnnxModel& model, const Features& features, Mode mode, const Params& params) {
  if (mode == Mode::kPredict) return predicted(model, features);
  EstimatorSpec spec{.mode = mode};
  Tensor loss;
  const Outputs outputs = model(features);
  for (const auto& [name, output] : outputs.all()) {
    if (!is_float(output.tensor.dtype())) continue;
    const Tensor mean = reduce_mean(square(cast(output.tensor, DType::kF32)));
    loss = loss ? loss + mean : mean;
  }
  if (!loss) throw Error(Status(Code::kUnsupported, "ONNX file '" + model.path() + "': it has no output of floats"));
  spec.loss = loss;
  if (mode == Mode::kTrain) spec.train_op = minimize(optimizer_of(model, params), spec.loss);
  return spec;
}

// An input may be called as labels are.
Features with_label(const OnnxModel& model, const Features& features, const Tensor& labels) {
  Features out = features;
  for (const OnnxValue& input : model.inputs())
    if (input.name == "label" && labels) out.set(input.name, labels);
  return out;
}

// For a regular expression that finds this name alone.
std::string escaped(const std::string& name) {
  std::string out = "^";
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}/").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "$";
}

}  // namespace

int64_t numbers_below(const OnnxValue& input) {
  if (is_float(input.dtype) || input.dtype == DType::kNone) return 0;
  if (input.below > 0) return input.below;
  return input.dtype == DType::kBool ? 2 : input.dtype == DType::kU8 ? 256 : kUsualBelow;
}

std::vector<BenchFeature> inputs_of(const OnnxModel& model) {
  std::vector<BenchFeature> out;
  const std::vector<FeatureSpec> inputs = model.features();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OnnxValue& input = model.inputs()[i];
    out.push_back({input.name.c_str(), inputs[i].type.shape, static_cast<int32_t>(numbers_below(input))});
  }
  return out;
}

EstimatorSpec predicted(const OnnxModel& model, const Features& features) {
  EstimatorSpec spec;
  const Outputs outputs = model(features);
  for (const auto& [name, output] : outputs.all()) spec.predictions.emplace_back(name, output.tensor);
  return spec;
}

Tensor class_scores(const OnnxModel& model, const Features& features) {
  const Tensor scores = model.logits(features);
  int wide = 0;
  for (int a = 1; a < scores.rank(); ++a) wide += scores.dim(a) != 1;
  if (scores.rank() < 2 || wide > 1 || !is_float(scores.dtype()))
    throw Error(no_data_for(model, "its scores are " + scores.type().str()));
  return cast(scores.rank() == 2 ? scores : flatten(scores), DType::kF32);
}

Status expect_scores(const OnnxModel& model) {
  if (model.outputs().empty()) return no_data_for(model, "it has no output");
  const OnnxValue& output = model.outputs()[0];
  if (!output.has_shape || output.dims.size() < 2)
    return model.has_head() || !output.has_shape
               ? Status()
               : no_data_for(model, "output '" + output.name + "' is " + type_of(output));
  const auto wide = std::count_if(output.dims.begin() + 1, output.dims.end(), [](int64_t dim) { return dim != 1; });
  if (wide > 1 || !is_float(output.dtype))
    return no_data_for(model, "output '" + output.name + "' is " + type_of(output));
  return {};
}

ModelInfo plain_info(const std::string& path, const OnnxModel& model, Status no_data) {
  ModelInfo out = onnx_info(path);
  out.no_data = std::move(no_data);
  out.model = [model](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    const OnnxModel file = tuned(model, params);
    return mean_of_squares(file, with_label(file, features, labels), mode, params);
  };
  out.example = [](const Params&) -> ExampleInfo { return {"inputs", {}}; };
  out.inputs = [model](const Params& params) {
    std::vector<BenchFeature> inputs = inputs_of(tuned(model, params));
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].name = model.inputs()[i].name.c_str();  // which stay
    return inputs;
  };
  out.flags = onnx_flags();
  return out;
}

BenchCase plain_case(const std::string& path, const OnnxModel& model, const Status& no_data) {
  BenchCase out = onnx_bench_case(path);
  out.features = inputs_of(model);
  const bool has_label = std::any_of(out.features.begin(), out.features.end(),
                                     [](const BenchFeature& f) { return std::string_view(f.name) == "label"; });
  if (!has_label) out.features.push_back({"label", {}, 1});  // which nobody asks for
  out.note = plain_loss_line(no_data);
  out.model = [model](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    return mean_of_squares(model, with_label(model, features, labels), mode, params);
  };
  return out;
}

std::string plain_loss_line(const Status& no_data) {
  const std::string& why = no_data.message();
  return "the loss is the mean of squares of the outputs: " + why.substr(0, why.find("; expected"));
}

Optimizer optimizer_of(const OnnxModel& model, const Params& params) {
  const auto given = learning_rate_multipliers(params).take();
  std::istringstream lines(params.get<std::string>("learning_rate_multiplier", ""));
  std::string named, line;
  for (const auto& [expression, _] : given) {
    std::getline(lines, line);
    const std::string factor = line.substr(line.rfind('='));
    const size_t before = named.size();
    const Result<std::vector<OnnxVariable>> found = model.variables_found_by(expression);
    if (found.ok())
      for (const OnnxVariable& v : *found)
        if (v.trainable) named += escaped(v.name) + factor + "\n";
    if (named.size() == before) named += line + "\n";  // what the optimizer says of it
  }
  Params all = params;
  if (!named.empty()) all.set("learning_rate_multiplier", named);
  return make_optimizer(all);
}

}  // namespace tenon::models
