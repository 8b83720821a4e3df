// What is exported answers as the Estimator predicts, for any number of rows; what is damaged is refused in one line.
#include <filesystem>
#include <fstream>

#include "export/version_writer.h"
#include "tenon/exported_model.h"
#include "tenon/ops.h"
#include "tenon/variables.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using Kind = ServingValue::Kind;

ExportOptions tenon_alone(ExportOptions more = {}) {
  more.format = ExportFormat::kTenon;
  return more;
}

// The model whose weights are known, trained for no step that changes them.
class Exported {
 public:
  explicit Exported(ModelFn model = known_model,
                    const ExportOptions& options = tenon_alone({.labels = {"a", "b", "c"}}))
      : estimator_(std::move(model), cpu(dir_ / "model")) {
    estimator_.set_events({});
    check(estimator_.train({.input = examples(8, training_input(4)), .max_steps = 1}).status());
    made_ = estimator_.export_saved_model(dir_ / "export", examples(8, evaluation_input(4)), options);
  }
  const Status& status() const { return made_.status(); }
  const std::string& path() const { return *made_; }
  std::string base() const { return dir_ / "export"; }
  std::string file(const std::string& name) const { return path() + "/" + name; }
  Result<std::string> again(const ExportOptions& options) {
    return estimator_.export_saved_model(base(), examples(8, evaluation_input(4)), options);
  }

 private:
  TemporaryDirectory dir_;
  Estimator estimator_;
  Result<std::string> made_{Status()};
};

Array inputs(int64_t rows) {
  std::vector<float> x;
  for (int64_t e = 0; e < rows; ++e)
    for (int64_t i = 0; i < kInputs; ++i) x.push_back(input_value(e, i));
  return Array(x, Shape{rows, kInputs});
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string refusal(const std::string& directory) {
  const Result<ExportedModel> model = ExportedModel::open(directory);
  return model.ok() ? "" : model.status().message();
}

TEST(ExportedModel, AnswersForAnyNumberOfRows) {
  const Exported exported;
  ASSERT_TRUE(exported.status().ok()) << exported.status().message();
  const ExportedModel model = ExportedModel::open(exported.path()).take();
  for (const char* device : {"cpu", "tpu-emulator:v2-8,dots=f32"}) {
    Strategy strategy(device);
    check(model.load(strategy));
    Function predict = model.function(strategy);
    for (const int64_t rows : {1, 2, 8, 33}) {
      const Results results = predict({{"x", inputs(rows)}});
      const std::vector<float> p = results["probabilities"].to<float>();
      ASSERT_EQ(p.size(), static_cast<size_t>(rows * kClasses));
      for (int64_t e = 0; e < rows; ++e)
        for (int64_t c = 0; c < kClasses; ++c)
          EXPECT_NEAR(p[static_cast<size_t>(e * kClasses + c)], known_probabilities(e)[static_cast<size_t>(c)], 1e-6);
    }
    EXPECT_EQ(predict.traces(), 4);
  }
}

TEST(ExportedModel, TellsItsSignaturesAndLabels) {
  const Exported exported;
  const ExportedModel model = ExportedModel::open(exported.path() + "/").take();
  EXPECT_EQ(model.version(), std::stoll(fs::path(exported.path()).filename()));
  ASSERT_EQ(model.signatures().size(), 1u);
  const ServingSignature& s = model.signatures()[0];
  EXPECT_EQ(s.key, "serving_default");
  EXPECT_EQ(s.method_name, "tensorflow/serving/predict");
  ASSERT_EQ(s.inputs.size(), 1u);
  EXPECT_EQ(s.inputs[0].name, "x");
  EXPECT_EQ(s.inputs[0].type.str(), "f32[4]");
  std::vector<std::string> names;
  for (const ServingValue& output : s.outputs) names.push_back(output.name + (output.kind == Kind::kLabel ? "!" : ""));
  EXPECT_EQ(names, (std::vector<std::string>{"probabilities", "classid", "class!"}));
  EXPECT_EQ(model.label(2), "c");
  EXPECT_EQ(model.label(3), "3");
  EXPECT_EQ(model.label(-1), "-1");
}

// A model with everything that depends on the number of rows: reshapes, slices, constants of ones, means over the batch's rows.
EstimatorSpec shapely(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor x = features["x"];
  Tensor y = reshape(x, {x.dim(0) * 2, kInputs / 2});
  y = concat({y, full_like(y, 1)}, 1);
  y = reshape(y, {x.dim(0), 2 * kInputs});
  y = concat({y, reshape(full(*x.graph(), DType::kF32, {x.dim(0) * 3}, 0.5), {x.dim(0), 3})}, 1);
  return classify(dense(y, {.units = kClasses}), labels, mode, SGD({.learning_rate = 0.0}));
}

TEST(ExportedModel, OfReshapesAnswersAsTheEstimatorPredicts) {
  TemporaryDirectory dir;
  Estimator estimator(shapely, cpu(dir / "model"));
  estimator.set_events({});
  check(estimator.train({.input = examples(8, training_input(4)), .max_steps = 1}).status());
  std::vector<float> expected;
  check(estimator.predict(examples(5, evaluation_input(5)), [&](int64_t, const auto& values) {
    const auto p = values.at("probabilities");
    expected.insert(expected.end(), p.begin(), p.end());
    return Status();
  }));
  const std::string path =
      estimator.export_saved_model(dir / "e", examples(8, evaluation_input(4)), tenon_alone()).take();
  const auto servable =
      Servable::open(ExportedModel::open(path).take(), {.device = "cpu", .batch_sizes = {1, 4, 16}}).take();
  for (const int64_t rows : {1, 2, 5}) {
    const Arrays found = servable->predict("serving_default", {{"x", inputs(rows)}}).take();
    const std::vector<float> p = found.at("probabilities").to<float>();
    ASSERT_EQ(p.size(), static_cast<size_t>(rows * kClasses));
    for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], expected[i], 1e-6) << rows;
  }
}

TEST(Servable, SaysWhichInputDoesNotFit) {
  const Exported exported;
  const auto servable =
      Servable::open(ExportedModel::open(exported.path()).take(), {.device = "cpu", .batch_sizes = {1, 4}}).take();
  const auto error = [&](std::string_view key, const Arrays& given) {
    return servable->predict(key, given).status().message();
  };
  EXPECT_EQ(error("serving_default", {}), "input 'x' is missing");
  EXPECT_EQ(error("serving_default", {{"x", Array(1.0f)}}), "input 'x' is a scalar, expected a row an example");
  EXPECT_EQ(error("serving_default", {{"x", Array({1.0f, 2.0f}, {1, 2})}}), "input 'x' is f32[1,2], expected f32[1,4]");
  EXPECT_EQ(error("serving_default", {{"x", inputs(5)}}), "there are 5 rows, expected 1 to 4");
  EXPECT_EQ(error("other", {{"x", inputs(1)}}), "there is no signature 'other'");
  EXPECT_TRUE(servable->predict("serving_default", {{"x", inputs(3)}}).ok());
  const ExportedModel model = ExportedModel::open(exported.path()).take();
  EXPECT_EQ(Servable::open(model, {.device = "cpu", .batch_sizes = {4, 2}}).status().message(),
            "batch sizes are 4, 2, expected increasing numbers from 1");
}

EstimatorSpec drawing(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor x = features["x"];
  return classify(dense(x + random(seed_input(*x.graph()), draw_step(*x.graph()), 1, x.shape()), {.units = kClasses}),
                  labels, mode, SGD(0.1));
}
EstimatorSpec rowwise(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor x = features["x"];
  return classify(dense(x * (1.0 / static_cast<double>(x.dim(0))), {.units = kClasses}), labels, mode, SGD(0.1));
}

TEST(Export, RefusesWhatCannotBeExported) {
  EXPECT_MESSAGE(Exported(drawing).status(), "to draw at random");
  EXPECT_MESSAGE(Exported(rowwise).status(), "depends on the number of rows in another way");
  EXPECT_EQ(Exported(known_model, {.format = ExportFormat::kTenon, .frozen = true}).status().message(),
            "a frozen model is TensorFlow's alone; in another format there would be none");
  EXPECT_EQ(Exported(known_model, tenon_alone({.labels = {"a\nb"}})).status().message(),
            "the class name 'a\nb' has a line end");
  EXPECT_EQ(Exported(known_model, tenon_alone({.images = ExportedImages{.height = 2, .width = 2}})).status().message(),
            "ExportOptions.images: the model has no feature 'image'");
}

TEST(Export, NumbersAndKeepsVersions) {
  Exported exported(known_model, tenon_alone({.version = 7}));
  EXPECT_EQ(exported.path(), exported.base() + "/7");
  EXPECT_EQ(exported.again(tenon_alone({.version = 7})).status().message(),
            "version 7: '" + exported.base() + "' has version 7, expected a larger one");
  fs::create_directories(exported.base() + "/.unfinished-9-1/variables");  // of a process that was killed
  ASSERT_TRUE(exported.again(tenon_alone({.version = 12})).ok());
  ASSERT_TRUE(exported.again(tenon_alone({.keep = 2})).ok());
  const std::vector<ExportedVersion> versions = exported_versions(exported.base()).take();
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[1].number, 12);
  EXPECT_GT(versions[0].number, 1'700'000'000);
  EXPECT_EQ(std::distance(fs::directory_iterator(exported.base()), {}), 2);
}

TEST(ExportedModel, RefusesDamagedFilesByName) {
  const Exported exported;
  const std::string model = exported.file("assets.extra/tenon/model.pb"),
                    labels = exported.file("assets.extra/tenon/labels.txt"),
                    manifest = exported.file("assets.extra/tenon/manifest.json"),
                    data = exported.file("variables/variables.data-00000-of-00001");
  for (const std::string& path : {model, labels}) {
    const std::string whole = bytes_of(path);
    std::string damaged = whole;
    damaged[damaged.size() / 2] ^= 1;
    write_bytes(path, damaged);
    EXPECT_NE(refusal(exported.path()).find(path + ": is damaged: its crc32c is "), std::string::npos);
    write_bytes(path, whole.substr(1));
    EXPECT_EQ(refusal(exported.path()), path + ": has " + std::to_string(whole.size() - 1) +
                                            " bytes, the manifest says " + std::to_string(whole.size()));
    write_bytes(path, whole);
  }
  const std::string weights = bytes_of(data);
  write_bytes(data, weights.substr(4));
  EXPECT_NE(refusal(exported.path()).find(data + ": has "), std::string::npos);
  std::string flipped = weights;
  flipped[5] ^= 1;
  write_bytes(data, flipped);
  Strategy strategy("cpu");
  EXPECT_MESSAGE(ExportedModel::open(exported.path()).take().load(strategy), "variables");
  write_bytes(data, weights);
  EXPECT_EQ(refusal(exported.path()), "");
  const std::string listed = bytes_of(manifest);
  for (const char* text : {"", "[]", "{\"files\": 1}", "{\"files\": {\"a\": {\"bytes\": \"1\"}}}"}) {
    write_bytes(manifest, text);
    EXPECT_TRUE(refusal(exported.path()).starts_with(manifest + ": ")) << text;
  }
  write_bytes(manifest, "{\"files\":");
  EXPECT_EQ(refusal(exported.path()), manifest + ": is no valid JSON at its byte 10: it ends in the middle");
  write_bytes(manifest, "{\"files\": {}}");
  EXPECT_EQ(refusal(exported.path()), manifest + ": does not name 'assets.extra/tenon/model.pb'");
  fs::remove(manifest);
  EXPECT_NE(refusal(exported.path()).find(manifest), std::string::npos);
  write_bytes(exported.file("saved_model.pb"), "");
  EXPECT_TRUE(refusal(exported.path()).ends_with("; a model of TensorFlow's own, or frozen, has none"));
  EXPECT_NE(refusal("/nowhere/1").find("/nowhere/1"), std::string::npos);
}

// Behind its checksum: whatever one byte becomes, the file is refused, or means something that ops take or refuse.
TEST(ModelFile, WithAnyByteChangedEndsInAnErrorOrAModel) {
  const Exported exported;
  const std::string whole = bytes_of(exported.file("assets.extra/tenon/model.pb"));
  int refused = 0, built = 0;
  for (size_t at = 0; at < whole.size(); ++at)
    for (const char change : {char(1), char(0x80), char(0xff)}) {
      std::string damaged = whole;
      damaged[at] ^= change;
      const Result<ModelFile> file = parse_model_file(damaged);
      if (!file.ok()) {
        ++refused;
        continue;
      }
      const TensorFunction function = [&](const Features& features) { return build(file->graph, features); };
      const Result<Trace> traced = trace(function, {{"x", {DType::kF32, {2, kInputs}}}}, {});
      traced.ok() ? ++built : ++refused;
    }
  EXPECT_GT(refused, 100);
  EXPECT_GT(built, 10);  // names
  for (size_t size = 0; size < whole.size(); size += 3)
    EXPECT_FALSE(parse_model_file(whole.substr(0, size)).ok()) << size;
}

TEST(PortableGraph, DecomposedComputesTheSame) {
  const Exported exported;
  const PortableGraph graph = parse_model_file(bytes_of(exported.file("assets.extra/tenon/model.pb"))).take().graph;
  const auto has = [](const PortableGraph& g, std::string_view op) {
    return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const PortableNode& n) { return n.op == op; });
  };
  const PortableGraph whole = decomposed(graph, [](const PortableNode&) { return true; }).take();
  const PortableGraph low = decomposed(graph, [](const PortableNode&) { return false; }).take();
  EXPECT_TRUE(has(whole, "softmax"));
  EXPECT_FALSE(has(low, "softmax"));
  EXPECT_TRUE(has(low, "exp"));
  Strategy strategy("cpu");
  check(ExportedModel::open(exported.path()).take().load(strategy));
  Function one = strategy.function([&](const Features& f) { return build(whole, f); });
  Function other = strategy.function([&](const Features& f) { return build(low, f); });
  const std::vector<float> a = one({{"x", inputs(6)}})["probabilities"].to<float>();
  const std::vector<float> b = other({{"x", inputs(6)}})["probabilities"].to<float>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
}

}  // namespace
}  // namespace tenon
