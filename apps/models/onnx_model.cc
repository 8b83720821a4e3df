// Models of ONNX files for the runner: classifiers of images, or of vectors that images are flattened to. Data have pixels from -1 to 1;
// --preprocess says what the file's model takes.
#include <cmath>
#include <memory>

#include "models/models.h"
#include "tenon/applications.h"
#include "tenon/onnx.h"

namespace tenon::models {
namespace {

constexpr int64_t kAnySize = 224;  // of images whose size the file leaves open

// How the file's first input takes images.
struct ImageInput {
  std::string name;
  bool channels_first = false, flat = false;
  int64_t height = kAnySize, width = kAnySize, channels = 3;
};

bool are_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

// One example's numbers as images of one channel, square where they can be.
ImageInput of_vectors(const OnnxValue& input) {
  const int64_t numbers = input.dims[1], side = std::llround(std::sqrt(static_cast<double>(numbers)));
  const bool is_square = side * side == numbers;
  return {input.name, false, true, is_square ? side : 1, is_square ? side : numbers, 1};
}

ImageInput image_input(const OnnxModel& model) {
  const std::vector<OnnxValue>& inputs = model.inputs();
  const auto refused = [&](const std::string& found) {
    return Error(Status(Code::kUnsupported, "ONNX file '" + model.path() + "': " + found +
                                                "; expected one input of images, f32[n,channels,height,width] or "
                                                "f32[n,height,width,channels], or of vectors, f32[n,numbers]"));
  };
  if (inputs.size() != 1) throw refused("it has " + std::to_string(inputs.size()) + " inputs");
  const OnnxValue& input = inputs[0];
  const std::vector<int64_t>& d = input.dims;
  if (input.dtype != DType::kF32 || !input.has_shape || (d.size() != 4 && (d.size() != 2 || d[1] < 1)))
    throw refused("input '" + input.name + "' is " + std::string(dtype_name(input.dtype)) + " of rank " +
                  std::to_string(d.size()));
  if (d.size() == 2) return of_vectors(input);
  ImageInput out{input.name};
  out.channels_first = are_channels(d[1]) || !are_channels(d[3]);
  const size_t height = out.channels_first ? 2 : 1;
  if (d[height] > 0) out.height = d[height];
  if (d[height + 1] > 0) out.width = d[height + 1];
  if (const int64_t channels = out.channels_first ? d[1] : d[3]; channels > 0) out.channels = channels;
  return out;
}

OnnxOptions options_of(const Params& params) {
  return {.freeze = params.get<std::string>("freeze", ""), .replace_head = params.get<int64_t>("replace_head", 0)};
}

// Classes of the file's model as it is.
int64_t classes_of(const OnnxModel& model) {
  const std::vector<OnnxValue>& outputs = model.outputs();
  const bool known = !outputs.empty() && outputs[0].dims.size() >= 2 && outputs[0].dims[1] > 0;
  return known ? outputs[0].dims[1] : 1000;
}

// Pixels from -1 to 1 as the model takes them.
Tensor prepared(Tensor x, const std::string& how) {
  if (how == "tf") return x;
  if (how == "unit") return (x + 1) * 0.5;
  const Tensor pixels = (x + 1) * 127.5;
  if (how == "none") return pixels;
  if (x.dim(-1) != 3)
    throw Error(Status(Code::kInvalid,
                       "preprocess: '" + how + "' is for images of 3 channels, found " + std::to_string(x.dim(-1))));
  using applications::Preprocess;
  return applications::preprocess_input(pixels, how == "torch" ? Preprocess::kTorch : Preprocess::kCaffe);
}

Tensor as_input(Tensor x, const ImageInput& input, const std::string& how) {
  x = prepared(x, how);
  if (input.flat) return flatten(x);
  return input.channels_first ? transpose(x, {0, 3, 1, 2}) : x;
}

// Of [n, classes], or with more axes, of which none is left.
Tensor logits_of(const OnnxModel& model, Tensor x, const std::string& input) {
  Features features;
  features.set(input, x);
  const Tensor logits = model.logits(features);
  return logits.rank() == 2 ? logits : flatten(logits);
}

// A file that was opened; it stays, as tables of models do.
struct Opened {
  std::string path;
  OnnxModel model;
  ImageInput input;
  ModelInfo info;
  std::unique_ptr<BenchCase> bench;
};

ModelFn model_fn(const OnnxModel& model, const ImageInput& input) {
  return [model, input](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    const OnnxModel tuned = model.with(options_of(params)).take();
    const Tensor x = as_input(image_of(features, params), input, params.get<std::string>("preprocess", "tf"));
    return classify(logits_of(tuned, x, input.name), labels, mode, make_optimizer(params));
  };
}

ModelInfo info_of(const std::string& path, const OnnxModel& model, const ImageInput& input) {
  return {
      .name = path.c_str(),
      .description = "of an ONNX file",
      .model = model_fn(model, input),
      .example = [input, classes = classes_of(model)](const Params& params) -> ExampleInfo {
        const int64_t head = params.get<int64_t>("replace_head", 0);
        return {"images",
                {{"height", input.height},
                 {"width", input.width},
                 {"channels", input.channels},
                 {"num_classes", head > 0 ? head : classes}}};
      },
      .optimizer = "momentum",
      .learning_rate = 0.01,
      .schedule = "cosine",
      .warmup_steps = 0,
      .train_batch_size = 32,
      .train_steps = 1000,
      .augmentation = {},
      .flags = {{"freeze", std::string(), "a regular expression: weights in whose names it is found are not trained"},
                {"replace_head", int64_t{0}, "classes of a new last layer, 0: the file's", 0, 1 << 20},
                {"preprocess",
                 std::string("tf"),
                 "of pixels: tf from -1 to 1, torch by ImageNet's mean and deviation, caffe BGR less the mean, unit "
                 "from 0 to 1, none from 0 to 255",
                 0,
                 0,
                 {"tf", "torch", "caffe", "unit", "none"}}},
      .is_file = true,
  };
}

// The step of training that `tenon train` does, or the file's outputs, for inputs as the file has them.
BenchCase case_of(const std::string& path, const OnnxModel& model) {
  BenchCase out{.name = path.c_str(),
                .description = "of an ONNX file",
                .model = {},
                .params = {{"optimizer", std::string("momentum")}, {"learning_rate", 0.01}},
                .features = {},
                .batch_size = 32};
  const std::vector<FeatureSpec> inputs = model.features();
  for (size_t i = 0; i < inputs.size(); ++i)
    out.features.push_back(
        {model.inputs()[i].name.c_str(), inputs[i].type.shape, is_integer(inputs[i].type.dtype) ? 1000 : 0});
  out.features.push_back({"label", {}, static_cast<int32_t>(classes_of(model))});
  out.model = [model](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    if (mode != Mode::kPredict) {
      const Tensor logits = model.logits(features);
      return classify(logits.rank() == 2 ? logits : flatten(logits), labels, mode, make_optimizer(params));
    }
    EstimatorSpec spec;
    const Outputs outputs = model(features);
    for (const auto& [name, output] : outputs.all()) spec.predictions.emplace_back(name, output.tensor);
    return spec;
  };
  return out;
}

Opened& opened(std::string_view path) {
  static auto* files = new std::map<std::string, std::unique_ptr<Opened>, std::less<>>();
  const auto found = files->find(path);
  if (found != files->end()) return *found->second;
  auto file = std::make_unique<Opened>(Opened{std::string(path), import_onnx(std::string(path)).take(), {}, {}, {}});
  return *files->emplace(file->path, std::move(file)).first->second;
}

}  // namespace

bool is_onnx_file(std::string_view name) { return name.ends_with(".onnx"); }

const ModelInfo& onnx_model(const std::string& path) {
  Opened& file = opened(path);
  if (!file.info.model) {
    file.input = image_input(file.model);
    file.info = info_of(file.path, file.model, file.input);
  }
  return file.info;
}

const BenchCase& onnx_case(const std::string& path) {
  Opened& file = opened(path);
  if (!file.bench) file.bench = std::make_unique<BenchCase>(case_of(file.path, file.model));
  return *file.bench;
}

}  // namespace tenon::models
