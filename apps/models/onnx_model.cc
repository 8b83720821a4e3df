// Models of ONNX files for the runner: classifiers of images, or of vectors that images are flattened to. Data have pixels from -1 to 1;
// --preprocess says what the file's model takes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "models/onnx_file.h"
#include "tenon/applications.h"
#include "tenon/text.h"

namespace tenon::models {
namespace {

constexpr int64_t kAnySize = 224, kUsualClasses = 1000;  // where the file leaves them open

// How the file's first input takes images.
struct ImageInput {
  std::string name;
  bool channels_first = false, flat = false;
  int64_t height = kAnySize, width = kAnySize, channels = 3;
  bool rows = false;  // [n,height,width]
};

bool are_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

// One example's numbers as images of one channel, square where they can be.
ImageInput of_vectors(const OnnxValue& input) {
  const int64_t numbers = input.dims[1] > 0 ? input.dims[1] : kAnySize,
                side = std::llround(std::sqrt(static_cast<double>(numbers)));
  const bool is_square = side * side == numbers;
  return {input.name, false, true, is_square ? side : 1, is_square ? side : numbers, 1};
}

// Rows of numbers, as of a time series, are the rows of images of one channel.
ImageInput of_rows(const OnnxValue& input) {
  ImageInput out{input.name};
  out.rows = true, out.channels = 1;
  if (input.dims[1] > 0) out.height = input.dims[1];
  if (input.dims[2] > 0) out.width = input.dims[2];
  return out;
}

Result<ImageInput> image_input(const OnnxModel& model) {
  const std::vector<OnnxValue>& inputs = model.inputs();
  if (inputs.size() != 1) return no_data_for(model, "it has " + std::to_string(inputs.size()) + " inputs");
  const OnnxValue& input = inputs[0];
  const std::vector<int64_t>& d = input.dims;
  const bool fits = d.size() == 3 || d.size() == 4 || (d.size() == 2 && d[1] != 0);
  if (!is_float(input.dtype) || !input.has_shape || !fits)
    return no_data_for(model, "input '" + input.name + "' is " + std::string(dtype_name(input.dtype)) +
                                  (input.has_shape ? " of rank " + std::to_string(d.size()) : " of no shape"));
  if (d.size() == 2) return of_vectors(input);
  if (d.size() == 3) return of_rows(input);
  ImageInput out{input.name};
  out.channels_first = are_channels(d[1]) || !are_channels(d[3]);
  const size_t height = out.channels_first ? 2 : 1;
  if (d[height] > 0) out.height = d[height];
  if (d[height + 1] > 0) out.width = d[height + 1];
  if (const int64_t channels = out.channels_first ? d[1] : d[3]; channels > 0) out.channels = channels;
  return out;
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
  if (input.rows) return reshape(x, {x.dim(0), x.dim(1), x.dim(2)});
  return input.channels_first ? transpose(x, {0, 3, 1, 2}) : x;
}

// A file that was opened; it stays, as tables of models do.
struct Opened {
  std::string path;
  OnnxModel model;
  ModelInfo info;
  std::unique_ptr<BenchCase> bench;
};

ModelFn model_fn(const OnnxModel& file) {
  return [file](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    const OnnxModel model = tuned(file, params);
    const ImageInput input = image_input(model).take();
    Features given;
    given.set(input.name, as_input(image_of(features, params), input, params.get<std::string>("preprocess", "tf")));
    return classify(class_scores(model, given), labels, mode, optimizer_of(model, params));
  };
}

ModelInfo image_info(const std::string& path, const OnnxModel& model) {
  ModelInfo out = onnx_info(path);
  out.model = model_fn(model);
  out.example = [model, classes = onnx_classes(model)](const Params& params) -> ExampleInfo {
    const ImageInput input = image_input(tuned(model, params)).take();
    const int64_t head = params.get<int64_t>("replace_head", 0);
    return {"images",
            {{"height", input.height},
             {"width", input.width},
             {"channels", input.channels},
             {"num_classes", head > 0      ? head
                             : classes > 0 ? classes
                                           : kUsualClasses}},
            input.flat};
  };
  out.flags = onnx_flags();
  out.flags.push_back({"preprocess",
                       std::string("tf"),
                       "of pixels: tf from -1 to 1, torch by ImageNet's mean and deviation, caffe BGR less the mean, "
                       "unit from 0 to 1, none from 0 to 255",
                       0,
                       0,
                       {"tf", "torch", "caffe", "unit", "none"}});
  return out;
}

// The step of training that `tenon train` does, or the file's outputs, for inputs as the file has them.
BenchCase case_of(const std::string& path, const OnnxModel& model) {
  BenchCase out = onnx_bench_case(path);
  out.features = inputs_of(model);
  const int64_t classes = onnx_classes(model);
  out.features.push_back({"label", {}, static_cast<int32_t>(classes > 0 ? classes : kUsualClasses)});
  out.model = [model](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    if (mode == Mode::kPredict) return predicted(model, features);
    return classify(class_scores(model, features), labels, mode, make_optimizer(params));
  };
  return out;
}

// Why there are no data for it, if so.
Status expect_images(const OnnxModel& model) {
  TENON_TRY(image_input(model).status());
  return expect_scores(model);
}

Opened& opened(std::string_view path) {
  static auto* files = new std::map<std::string, std::unique_ptr<Opened>, std::less<>>();
  const auto found = files->find(path);
  if (found != files->end()) return *found->second;
  auto file = std::make_unique<Opened>(Opened{std::string(path), import_onnx(std::string(path)).take(), {}, {}});
  return *files->emplace(file->path, std::move(file)).first->second;
}

}  // namespace

bool is_onnx_file(std::string_view name) { return name.ends_with(".onnx"); }

OnnxModel tuned(const OnnxModel& model, const Params& params) {
  const OnnxOptions options{.dims = onnx_dims(params.get<std::string>("dim", "")).take(),
                            .freeze = params.get<std::string>("freeze", ""),
                            .replace_head = params.get<int64_t>("replace_head", 0)};
  const bool changes = !options.dims.empty() || !options.freeze.empty() || options.replace_head != 0;
  return changes ? model.with(options).take() : model;
}

Result<std::map<std::string, int64_t>> onnx_dims(const std::string& lines) {
  std::map<std::string, int64_t> out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const size_t equals = line.rfind('=');
    int64_t size = 0;
    const char* const end = line.data() + line.size();
    const bool number = equals != line.npos && std::from_chars(line.data() + equals + 1, end, size).ptr == end;
    if (!number || size < 1) return Status(Code::kInvalid, "dim: '" + line + "', expected NAME=SIZE");
    if (!out.emplace(line.substr(0, equals), size).second)
      return Status(Code::kInvalid, "dim: '" + line.substr(0, equals) + "' is given twice");
  }
  return out;
}

std::vector<ModelFlag> onnx_flags() {
  return {{"freeze", std::string(),
           "a regular expression: weights in whose names, or in those of the nodes that read them, it is found are not "
           "trained"},
          {"replace_head", int64_t{0}, "classes of a new last layer, 0: the file's", 0, 1 << 20},
          {.name = "dim", .value = std::string(), .help = kDimHelp, .repeats = true}};
}

ModelInfo onnx_info(const std::string& path) {
  return {.name = path.c_str(),
          .description = "of an ONNX file",
          .model = {},
          .example = {},
          .optimizer = "momentum",
          .learning_rate = 0.01,
          .schedule = "cosine",
          .warmup_steps = 0,
          .train_batch_size = 32,
          .train_steps = 1000,
          .augmentation = {},
          .flags = {},
          .is_file = true};
}

BenchCase onnx_bench_case(const std::string& path) {
  return {.name = path.c_str(),
          .description = "of an ONNX file",
          .model = {},
          .params = {{"optimizer", std::string("momentum")}, {"learning_rate", 0.01}},
          .features = {},
          .batch_size = 32};
}

int64_t onnx_classes(const OnnxModel& model) {
  const std::vector<OnnxValue>& outputs = model.outputs();
  return !outputs.empty() && outputs[0].dims.size() >= 2 ? std::max<int64_t>(outputs[0].dims[1], 0) : 0;
}

Status no_data_for(const OnnxModel& model, const std::string& found) {
  return Status(
      Code::kUnsupported,
      terminal_text("ONNX file '" + model.path() + "': " + found) +
          "; expected one input of images, f32[n,channels,height,width] or f32[n,height,width,channels], of rows, "
          "f32[n,rows,numbers], or of vectors, f32[n,numbers], and scores of classes; or ids of tokens, i64[n,length], "
          "with "
          "scores of classes, of the next token, or of an answer's start and end");
}

const ModelInfo& onnx_model(const std::string& path) {
  Opened& file = opened(path);
  if (file.info.model) return file.info;
  if (takes_tokens(file.model)) {
    const Result<TokenInput> input = token_input(file.model);
    file.info =
        input.ok() ? token_info(file.path, file.model, *input) : plain_info(file.path, file.model, input.status());
    return file.info;
  }
  const Status images = expect_images(file.model);
  file.info = images.ok() ? image_info(file.path, file.model) : plain_info(file.path, file.model, images);
  return file.info;
}

const BenchCase& onnx_case(const std::string& path, const std::map<std::string, int64_t>& dims) {
  Opened& file = opened(path);
  const OnnxModel model = file.model.with({.dims = dims}).take();
  const Result<TokenInput> tokens = token_input(model);
  const Status scores = takes_tokens(model) ? tokens.status() : expect_scores(model);
  file.bench = std::make_unique<BenchCase>(tokens.ok()   ? token_case(file.path, model, *tokens)
                                           : scores.ok() ? case_of(file.path, model)
                                                         : plain_case(file.path, model, scores));
  return *file.bench;
}

std::map<std::string, std::vector<std::string>> readers_of_variables(const ModelInfo& model) {
  std::map<std::string, std::vector<std::string>> out;
  if (!model.is_file) return out;
  for (const OnnxVariable& v : opened(model.name).model.variables()) out[v.name] = v.nodes;
  return out;
}

}  // namespace tenon::models
