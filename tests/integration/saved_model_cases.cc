// Models with weights, exported as programs export them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "export/version_writer.h"
#include "integration/saved_model_tool.h"
#include "models/models.h"
#include "step/trace.h"
#include "tenon/exported_model.h"
#include "tenon/layers.h"
#include "tenon/recurrent.h"
#include "tenon/strategy.h"

namespace tenon {
namespace {

constexpr int64_t kBatches[] = {1, 3, 8};
using Kind = ServingValue::Kind;

struct SmallModel {
  std::string name;
  std::vector<FeatureSpec> features;
  TensorFunction function;
  std::optional<ExportedImages> images = {};
  std::string policy = "float32";
  // Signatures by the results that they answer; none: one of all.
  std::map<std::string, std::vector<std::string>> signatures = {};
};

FeatureSpec feature(const std::string& name, DType dtype, const Shape& shape) { return {name, {dtype, shape}}; }

Outputs classified(Tensor logits) {
  return {{"probabilities", last(softmax(logits))}, {"classid", last(argmax(logits))}};
}

Outputs perceptron(const Features& in) {
  const Tensor x = dense(dense(in["x"], {.units = 7, .activation = relu}), {.units = 5, .activation = gelu});
  return classified(dense(x, {.units = 4}));
}

Outputs convolutions(const Features& in) {
  Tensor x = conv2d(in["image"], {.filters = 6, .kernel = 3, .strides = 2, .padding = same});
  const Tensor y = batch_normalization(x, {.activation = relu});
  x = batch_normalization(conv2d(y, {.filters = 6, .kernel = {3, 1}, .padding = same}),
                          {.activation = relu, .residual = y});
  x = max_pool2d(x, {.pool_size = 3, .strides = 2, .padding = same});
  x = depthwise_conv2d(x, {.kernel = 3, .depth_multiplier = 2});
  x = separable_conv2d(x, {.filters = 8, .kernel = 3, .padding = same});
  x = group_normalization(conv2d_transpose(x, {.filters = 4, .kernel = 3, .strides = 2, .padding = same}),
                          {.groups = 2});
  x = average_pool2d(x, {.pool_size = 2, .padding = same});
  x = up_sampling2d(x, 2, ResizeMethod::kBilinear);
  return classified(dense(concat({global_average_pool2d(x), flatten(max_pool2d(x, 2))}, 1), {.units = 10}));
}

Outputs steps(const Features& in) {
  Tensor x = embedding(in["tokens"], {.input_dim = 11, .output_dim = 8});
  x = layer_normalization(add(x, multi_head_attention(x, x, {.num_heads = 2, .key_dim = 4})));
  x = conv1d(x, {.filters = 8, .kernel = 3, .padding = Padding::kCausal, .activation = swish});
  const Tensor both = concat({lstm(x, {.units = 5}), gru(x, {.units = 3}), simple_rnn(x, {.units = 2})}, 1);
  return classified(dense(rms_normalization(both), {.units = 6}));
}

// What depends on the number of rows elsewhere than in axis 0.
Outputs rows(const Features& in) {
  const Tensor x = in["x"];  // [n, 6]
  const int64_t n = x.dim(0);
  Graph& graph = *x.graph();
  Tensor y = concat({reshape(x, {n * 2, 3}), full(graph, DType::kF32, {n * 2, 1}, 0.5)}, 1);
  y = transpose(reshape(y, {2, n, 2, 2}), {1, 0, 3, 2});
  const Tensor place = iota(graph, DType::kI32, {n, 6}, 0), column = iota(graph, DType::kI32, {n, 6}, 1);
  const Tensor turned = gather(x, argmax(reshape(y, {n, 8})), 0);  // a row for each, zeros beyond the last
  const Tensor each = gather(x, cast(column, DType::kI32), 1, 1);
  const Tensor doubled = slice(concat({x, x}, 0), {1, 0}, {n + 1, 6}, {1, 2});
  return {{"mixed", last(y)},
          {"by_row", last(cast(place, DType::kF32) + x)},
          {"turned", last(turned + each)},
          {"doubled", last(doubled)},
          {"below_most", last(x - broadcast(reduce_max(x, {0}), x.shape(), {1}))},
          {"padded", last(slice(pad(x, {0, 1}, {2, 1}, {0, 1}, 3), {0, 0}, {n, 13}, {}))},
          {"copy", last(x)}};
}

Outputs several_inputs(const Features& in) {
  const Tensor numbers = in["numbers"];
  const Tensor vectors = flatten(embedding(in["categories"], {.input_dim = 11, .output_dim = 3}));
  const Tensor both = concat({numbers, vectors}, 1);
  return {{"of_numbers", last(dense(numbers, {.units = 2, .name = "first"}))},
          {"of_both", last(dense(both, {.units = 3, .name = "second"}))}};
}

Outputs types(const Features& in) {
  const Tensor wide = in["f64"], whole = in["i64"], pixel = in["u8"], yes = in["flag"];
  return {{"f64", last(exp(wide) * 2)},
          {"i64", last(whole * whole - 7)},
          {"u8", last(reverse(pixel, {1}))},
          {"flag", last(maximum(yes, compare(whole, scalar_like(whole, 3), CompareKind::kLt)))},
          {"f16", last(cast(wide, DType::kF16))},
          {"i32", last(cast(wide * 1e9, DType::kI32))}};
}

Outputs pixels(const Features& in) { return {{"pixels", last(in["image"] * 1)}}; }

ExportedImages images(int height, int width, ResizeKind resize, PixelRange range, int channels = 3,
                      Alpha alpha = Alpha::kDrop) {
  return {"image", height, width, channels, range, resize, alpha, {250, 10, 100}};
}

// One that `tenon train` knows, as it predicts.
SmallModel of_runner(const models::BenchCase& from) {
  SmallModel out{from.name, {}, {}};
  for (const models::BenchFeature& f : from.features)
    if (std::string_view(f.name) != "label")
      out.features.push_back(feature(f.name, f.below ? DType::kI32 : DType::kF32, f.example));
  out.function = [&from](const Features& in) {
    Outputs outputs;
    for (const auto& [name, tensor] : from.model(in, {}, Mode::kPredict, from.params).predictions)
      outputs.add(name, last(tensor));
    return outputs;
  };
  return out;
}

std::vector<SmallModel> small_models() {
  const FeatureSpec picture = feature("image", DType::kF32, {16, 20, 3});
  const auto of_images = [](const ExportedImages& how) {
    return std::vector<FeatureSpec>{feature("image", DType::kF32, {how.height, how.width, how.channels})};
  };
  std::vector<SmallModel> all = {
      {"perceptron", {feature("x", DType::kF32, {6})}, perceptron},
      {"mixed_bfloat16", {feature("x", DType::kF32, {6})}, perceptron, {}, "mixed_bfloat16"},
      {"convolutions", {picture}, convolutions, images(16, 20, ResizeKind::kLegacy, PixelRange::kMinusOneToOne)},
      {"steps", {feature("tokens", DType::kI32, {7})}, steps},
      {"rows", {feature("x", DType::kF32, {6})}, rows},
      {"several_inputs",
       {feature("numbers", DType::kF32, {4}), feature("categories", DType::kI32, {2})},
       several_inputs,
       {},
       "float32",
       {{"serving_default", {"of_both", "of_numbers"}}, {"numbers", {"of_numbers"}}}},
      {"types",
       {feature("f64", DType::kF64, {5}), feature("i64", DType::kI64, {5}), feature("u8", DType::kU8, {5}),
        feature("flag", DType::kBool, {5})},
       types}};
  int number = 0;
  const ExportedImages ways[] = {images(31, 17, ResizeKind::kLegacy, PixelRange::kZeroToOne),
                                 images(31, 57, ResizeKind::kHalfPixel, PixelRange::kMinusOneToOne),
                                 images(24, 24, ResizeKind::kAntialias, PixelRange::kMinusOneToOne),
                                 images(28, 28, ResizeKind::kLegacy, PixelRange::kZeroToOne, 1),
                                 images(20, 30, ResizeKind::kHalfPixel, PixelRange::kZeroToOne, 3, Alpha::kBlend),
                                 images(20, 30, ResizeKind::kHalfPixel, PixelRange::kZeroToOne, 4, Alpha::kKeep)};
  for (const char* name : {"mlp_mnist", "mnist_cnn", "flowers180", "resnet20", "resnet18", "transformer_small"})
    all.push_back(of_runner(*models::find_bench_case(name)));
  for (const ExportedImages& way : ways) all.push_back({cat("pixels", ++number), of_images(way), pixels, way});
  return all;
}

Array random_array(const Type& type, uint64_t seed) {
  std::mt19937 generator(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<float> floats(static_cast<size_t>(type.shape.elements()));
  for (float& f : floats) f = number(generator);
  if (type.dtype == DType::kF32) return Array(floats, type.shape);
  std::vector<double> doubles(floats.begin(), floats.end());
  if (type.dtype == DType::kF64) return Array(doubles, type.shape);
  std::vector<int64_t> whole;
  for (const float f : floats) whole.push_back(static_cast<int64_t>((f + 2) * 2.7f));  // 0 to 10
  if (type.dtype == DType::kI64) return Array(whole, type.shape);
  if (type.dtype == DType::kI32) return Array(std::vector<int32_t>(whole.begin(), whole.end()), type.shape);
  std::vector<std::byte> bytes;
  for (const int64_t value : whole)
    bytes.push_back(static_cast<std::byte>(type.dtype == DType::kBool ? value % 2 : value * 25));
  return Array(type, std::move(bytes));
}

ServingSignature signature_of(const SmallModel& model, const std::string& key, const std::vector<std::string>& results,
                              const PortableGraph& graph, Kind of_images) {
  ServingSignature out{key, "tensorflow/serving/predict", {}, {}};
  const PortableGraph part = part_of(graph, results);
  for (const FeatureSpec& spec : model.features)
    for (const PortableInput& input : part.inputs)
      if (input.name == spec.name) {
        const bool file = of_images == Kind::kImage && spec.name == "image";
        out.inputs.push_back(
            {file ? "image_bytes" : spec.name, file ? of_images : Kind::kTensor, spec.name, spec.type});
      }
  for (const PortableResult& result : part.results) {
    const Type type = part.values[static_cast<size_t>(result.value)].at(1);
    const Type example{type.dtype, Shape(type.shape.dims().subspan(1))};
    out.outputs.push_back({result.name, Kind::kTensor, result.name, example});
    if (result.name == "classid") out.outputs.push_back({"class", Kind::kLabel, result.name, example});
  }
  return out;
}

// A model on its way to files.
class ModelWriting {
 public:
  ModelWriting(const SmallModel& model, std::string directory, std::vector<std::string> files)
      : model_(model),
        directory_(std::move(directory)),
        files_(std::move(files)),
        strategy_("cpu", {.dtype_policy = model.policy}),
        function_(strategy_.function(model.function)) {}

  void run() {
    contents_.labels = {"daisy", "rose", "tulip"};
    function_(inputs(1));
    for (const auto& variable : strategy_.variables()) draw(variable);
    contents_.variable = [this](const std::string& name) -> Result<Array> { return strategy_.read(name); };
    trace_graph();
    for (const bool frozen : {false, true})
      write_version(cat(directory_, frozen ? "/frozen" : "/variables"), contents_,
                    {.version = 1, .images = model_.images, .frozen = frozen})
          .take();
    write_version(cat(directory_, "/onnx"), contents_, {.version = 1, .format = ExportFormat::kOnnx}).take();
    for (const int64_t batch : kBatches) write_answers(batch);
  }

 private:
  // Statistics and offsets, too, are numbers that show where they are taken for each other. Kernels keep what goes through them at
  // its size, as initializers do: f32 is good for 1e-5 then.
  void draw(const Strategy::VariableInfo& variable) {
    Array value = random_array({DType::kF32, variable.type.shape}, std::hash<std::string>()(variable.name));
    std::vector<float> numbers = value.to<float>();
    const bool positive = variable.name.ends_with("variance") || variable.name.ends_with("gamma");
    const Shape& shape = variable.type.shape;
    const int64_t fan_in = shape.rank() < 2 ? 9 : shape.elements() / shape[-1];
    for (float& number : numbers)
      number = positive ? 0.5f + std::abs(number) : number / std::sqrt(static_cast<float>(fan_in));
    if (variable.type.dtype == DType::kF32) strategy_.write(variable.name, Array(numbers, variable.type.shape));
  }

  Arrays inputs(int64_t batch) const {
    Arrays out;
    for (const FeatureSpec& spec : model_.features) {
      Shape shape = spec.batch_type(batch).shape;
      out.emplace(spec.name,
                  random_array({spec.type.dtype, shape}, static_cast<uint64_t>(batch) * 31 + spec.name.size()));
    }
    return out;
  }

  void trace_graph() {
    contents_.model.graph =
        portable([&](int64_t batch) {
          return trace(model_.function, batch_inputs(model_.features, batch, 1),
                       {.policy = Policy::named(model_.policy).take(), .what = "the model", .casts_inputs = true});
        }).take();
    std::map<std::string, std::vector<std::string>> signatures = model_.signatures;
    if (signatures.empty())
      for (const PortableResult& result : contents_.model.graph.results)
        signatures["serving_default"].push_back(result.name);
    for (const auto& [key, results] : signatures)
      contents_.model.signatures.push_back(signature_of(model_, key, results, contents_.model.graph, Kind::kTensor));
    if (model_.images)
      contents_.model.signatures.push_back(
          signature_of(model_, "image_bytes", signatures["serving_default"], contents_.model.graph, Kind::kImage));
    contents_.model.images = model_.images;
  }

  void write_answers(int64_t batch) {
    BundleWriter to = BundleWriter::create(cat(directory_, "/rows-", batch)).take();
    const ExportedModel exported = ExportedModel::open(cat(directory_, "/variables/1")).take();
    for (const ServingSignature& signature : contents_.model.signatures) {
      Arrays in = inputs(batch);
      for (const ServingValue& input : signature.inputs) {
        const std::string name = cat(signature.key, "/in/", input.name);
        if (input.kind == Kind::kImage)
          in.at(input.tensor) = add_files(to, name, exported, batch);
        else
          check(to.add(name, in.at(input.tensor).type(), in.at(input.tensor).bytes()));
      }
      const Results answers = function_(in);
      for (const ServingValue& output : signature.outputs)
        add_answer(to, signature, output, answers[output.tensor], exported);
    }
    check(to.commit());
  }

  // Files in turn, from batch to batch.
  Array add_files(BundleWriter& to, const std::string& name, const ExportedModel& exported, int64_t batch) {
    std::vector<std::string> files;
    std::vector<std::byte> all;
    Type type;
    for (int64_t row = 0; row < batch; ++row) {
      files.push_back(files_.at(next_file_++ % files_.size()));
      const Array one = exported.image_row(std::as_bytes(std::span(files.back()))).take();
      type = one.type();
      all.insert(all.end(), one.bytes().begin(), one.bytes().end());
    }
    check(to.add_strings(name, {batch}, files));
    type.shape.set(0, batch);
    return Array(type, std::move(all));
  }

  static void add_answer(BundleWriter& to, const ServingSignature& signature, const ServingValue& output,
                         const Array& value, const ExportedModel& exported) {
    const std::string name = cat(signature.key, "/out/", output.name);
    if (output.kind != Kind::kLabel) return check(to.add(name, value.type(), value.bytes()));
    std::vector<std::string> labels;
    for (const int64_t id : value.to<int64_t>()) labels.push_back(exported.label(id));
    check(to.add_strings(name, value.shape(), labels));
  }

  const SmallModel& model_;
  std::string directory_;
  std::vector<std::string> files_;
  size_t next_file_ = 0;
  Strategy strategy_;
  Function function_;
  VersionContents contents_;
};

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> paths, files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

}  // namespace

void write_models(const std::string& directory, const std::string& images, const std::set<std::string>& names) {
  const std::vector<std::string> files = files_in(images);
  for (const SmallModel& model : small_models()) {
    if (!names.empty() && !names.contains(model.name)) continue;
    make_directory(cat(directory, "/", model.name));
    try {
      ModelWriting(model, cat(directory, "/", model.name), files).run();
      std::cout << model.name << " written\n";
    } catch (const Error& e) {
      std::cout << model.name << " refused: " << e.what() << "\n";
    }
  }
}

}  // namespace tenon
