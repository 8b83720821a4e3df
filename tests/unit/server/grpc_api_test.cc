// What the gRPC interface answers, without gRPC: the module that speaks it has TF Serving's own client as its test (share/interop).
#include "server/grpc/grpc_api.h"

#include <cmath>
#include <cstring>
#include <future>
#include <limits>

#include "server/grpc/examples.h"
#include "server/grpc/tensors.h"
#include "tenon/example.h"
#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

// TensorFlow's numbers of types.
constexpr int kFloat = 1, kInt32 = 3, kUint8 = 4, kString = 7, kInt64 = 9, kBool = 10;
// gRPC's codes.
constexpr int kCancelled = 1, kInvalidArgument = 3, kDeadlineExceeded = 4, kNotFound = 5, kResourceExhausted = 8,
              kInternal = 13;

template <class T>
GrpcTensor tensor(int dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  GrpcTensor out{dtype, std::move(dims), {}, {}};
  out.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}
GrpcTensor x(const std::vector<float>& values) { return tensor(kFloat, {std::ssize(values)}, values); }

template <class T>
std::vector<T> values_of(const GrpcTensor& t) {
  std::vector<T> out(t.bytes.size() / sizeof(T));
  std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
  return out;
}

// Lines in capitals.
class Shouting : public TextModel {
 public:
  int64_t max_lines() const override { return 2; }
  Result<Lines> write(const Lines& lines, int64_t /*first*/, const Interrupted& interrupted) override {
    Lines out = lines;
    while (lines[0] == "for ever")
      if (interrupted()) return Status(Code::kInterrupted, "nobody waits");
    for (std::string& line : out)
      for (char& c : line) c = static_cast<char>(std::toupper(c));
    return out;
  }
};

std::string example(const std::function<void(ExampleBuilder&)>& add) {
  ExampleBuilder builder;
  add(builder);
  return std::string(builder.finish());
}
std::string example_x(float value) {
  return example([&](ExampleBuilder& b) { b.add_float("x", value); });
}

class GrpcApiTest : public ::testing::Test {
 protected:
  GrpcApiTest() {
    root_.write("half/1/plus", "2");
    const ModelLoader loader = [this](const std::string& path) {
      auto model = load_half_plus(path);
      if (model.ok()) gate = static_cast<HalfPlus&>(**model).gate;
      return model;
    };
    models = ServedModels::open({{.name = "half", .base_path = root_.path() + "/half", .labels = {{"good", 1}}}},
                                loader, {.max_queued_rows = 8}, &metrics, [](const std::string&) {})
                 .take();
    auto text = std::make_unique<Shouting>();
    texts["shout"] =
        std::make_unique<TextBatcher>(std::move(text), BatchOptions{.max_queued_rows = 4}, metrics.version("shout", 1));
    api = std::make_unique<GrpcApi>(models.get(),
                                    GrpcApiOptions{.limits = {.max_rows = 6}, .reload_root = root_.path()}, &texts);
  }
  ~GrpcApiTest() override {
    gate->open();
    models.reset();
  }
  std::future<GrpcAnswer> begin(GrpcPrediction request) {
    auto promise = std::make_shared<std::promise<GrpcAnswer>>();
    api->predict(std::move(request), [promise](GrpcAnswer&& answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  GrpcAnswer ask(GrpcTensors inputs, const std::string& signature = "", const std::vector<std::string>& outputs = {}) {
    return begin({{.name = "half", .signature = signature}, std::move(inputs), outputs}).get();
  }
  GrpcResults infer(std::vector<GrpcTask> tasks, std::vector<std::string> examples) {
    std::promise<GrpcResults> promise;
    api->infer({std::move(tasks), std::move(examples)},
               [&](GrpcResults&& results) { promise.set_value(std::move(results)); });
    return promise.get_future().get();
  }
  GrpcStatus reload(std::vector<GrpcModelConfig> configs) {
    std::promise<GrpcStatus> promise;
    api->reload(std::move(configs), [&](GrpcStatus status) { promise.set_value(std::move(status)); });
    return promise.get_future().get();
  }
  void expect_refused(const GrpcAnswer& answer, int code, const std::string& message) {
    EXPECT_EQ(answer.status.code, code);
    EXPECT_EQ(answer.status.message, message);
  }

  TestDirectory root_;
  Metrics metrics;
  TextModels texts;
  std::shared_ptr<Gate> gate;
  std::unique_ptr<ServedModels> models;
  std::unique_ptr<GrpcApi> api;
};

TEST_F(GrpcApiTest, AnswersNumbers) {
  const GrpcAnswer answer = ask({{"x", x({1, 2, 5})}});
  EXPECT_EQ(answer.status.code, 0);
  EXPECT_EQ(answer.model.name, "half");
  EXPECT_EQ(answer.model.signature, "serving_default");
  EXPECT_EQ(answer.model.version, 1);
  EXPECT_EQ(answer.outputs.at("y").dtype, kFloat);
  EXPECT_EQ(answer.outputs.at("y").dims, std::vector<int64_t>{3});
  EXPECT_EQ(values_of<float>(answer.outputs.at("y")), (std::vector<float>{2.5, 3, 4.5}));
}

TEST_F(GrpcApiTest, AnswersSeveralTensorsOfOtherTypes) {
  const GrpcAnswer answer =
      ask({{"a", tensor<float>(kFloat, {2, 2}, {1, 2, 3, 4})}, {"b", tensor<int32_t>(kInt32, {2}, {1, -1})}}, "pair");
  EXPECT_EQ(values_of<float>(answer.outputs.at("sum")), (std::vector<float>{3, 7}));
  EXPECT_EQ(answer.outputs.at("big").dtype, kInt64);
  EXPECT_EQ(values_of<int64_t>(answer.outputs.at("big")), (std::vector<int64_t>{4294967296, -4294967296}));
  const GrpcAnswer flags =
      ask({{"u", tensor<uint8_t>(kUint8, {1, 2}, {7, 255})}, {"f", tensor<uint8_t>(kBool, {1}, {1})}}, "flag", {"f"});
  EXPECT_EQ(flags.outputs.size(), 1u);
  EXPECT_EQ(flags.outputs.at("f").dtype, kBool);
}

TEST_F(GrpcApiTest, AnswersFilesWithClassNames) {
  const GrpcAnswer answer = ask({{"image_bytes", {kString, {2}, {}, {"ab", "cd"}}}}, "file");
  EXPECT_EQ(answer.outputs.at("class").dtype, kString);
  EXPECT_EQ(answer.outputs.at("class").strings, (std::vector<std::string>{"rose", "daisy \"1\""}));
  expect_refused(ask({{"image_bytes", {kString, {2}, {}, {"ab", "c"}}}}, "file"), kInvalidArgument,
                 "input \"image_bytes\": row 1: it is no image");
}

TEST_F(GrpcApiTest, NamesTheInputThatDoesNotFit) {
  expect_refused(ask({}), kInvalidArgument, "input \"x\" is missing. Inputs expected to be in the set {x}.");
  expect_refused(ask({{"z", x({1})}}), kInvalidArgument,
                 "input tensor alias not found in signature: z. Inputs expected to be in the set {x}.");
  expect_refused(ask({{"x", tensor<int32_t>(kInt32, {1}, {1})}}), kInvalidArgument,
                 "input \"x\": expected dtype DT_FLOAT, found DT_INT32");
  expect_refused(ask({{"x", {99, {1}, {}, {}}}}), kInvalidArgument,
                 "input \"x\": expected dtype DT_FLOAT, found DT_INVALID");
  expect_refused(ask({{"x", tensor<float>(kFloat, {1, 1}, {1})}}), kInvalidArgument,
                 "input \"x\": expected shape [-1], found [1,1]");
  expect_refused(ask({{"x", tensor<float>(kFloat, {}, {1})}}), kInvalidArgument,
                 "input \"x\": expected shape [-1], found []");
  expect_refused(ask({{"x", tensor<float>(kFloat, {0}, {})}}), kInvalidArgument,
                 "input \"x\": expected shape [-1], found [0]");
  expect_refused(ask({{"x", x({1, 2, 3, 4, 5, 6, 7})}}), kInvalidArgument,
                 "the request has 7 rows, the server takes at most 6");
  const GrpcTensor a = tensor<float>(kFloat, {2, 2}, {1, 2, 3, 4});
  expect_refused(ask({{"a", a}, {"b", tensor<int32_t>(kInt32, {1}, {1})}}, "pair"), kInvalidArgument,
                 "input \"b\": expected shape [2], found [1]");
  expect_refused(ask({{"x", x({1})}}, "", {"z"}), kInvalidArgument,
                 "output tensor alias not found in signature: z Outputs expected to be in the set {y}.");
  expect_refused(ask({{"x", x({1})}}, "none"), kInvalidArgument,
                 "Serving signature name: \"none\" not found in signature def");
  expect_refused(ask({{"x", x({666})}}), kInternal, "the device is gone");
  EXPECT_EQ(ask({{"x", x({1})}}).status.code, 0);  // others go on being answered
}

TEST_F(GrpcApiTest, RefusesNanAndInfinityByName) {
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY})
    expect_refused(ask({{"x", x({1, 2, bad})}}), kInvalidArgument, "input \"x\": element 2 is NaN or infinite");
  const GrpcTensor a = tensor<float>(kFloat, {2, 2}, {1, 2, NAN, 4});
  expect_refused(ask({{"a", a}, {"b", tensor<int32_t>(kInt32, {2}, {1, -1})}}, "pair"), kInvalidArgument,
                 "input \"a\": element 2 is NaN or infinite");
  EXPECT_EQ(ask({{"x", x({std::numeric_limits<float>::max(), -0.0f})}}).status.code, 0);
}

TEST_F(GrpcApiTest, SaysWhichModelOrVersionThereIsNot) {
  EXPECT_EQ(begin({{.name = "other"}, {}, {}}).get().status.code, kNotFound);
  EXPECT_EQ(begin({{.name = "half", .version = 2}, {}, {}}).get().status.code, kNotFound);
  EXPECT_EQ(begin({{.name = "half", .label = "bad"}, {}, {}}).get().status.code, kNotFound);
  EXPECT_EQ(begin({{.name = "half", .label = "good"}, {{"x", x({1})}}, {}}).get().status.code, 0);
  EXPECT_EQ(api->metadata({.name = "other"}).status.code, kNotFound);
  EXPECT_EQ(api->states({.name = "other"}).status.code, kNotFound);
}

TEST_F(GrpcApiTest, RefusesWhatTheQueueDoesNotHold) {
  gate->close();
  std::vector<std::future<GrpcAnswer>> asked;
  asked.push_back(begin({{.name = "half"}, {{"x", x({1})}}, {}}));
  gate->wait_for_call();
  for (int i = 0; i < 4; ++i) asked.push_back(begin({{.name = "half"}, {{"x", x({1, 2})}}, {}}));
  expect_refused(begin({{.name = "half"}, {{"x", x({1})}}, {}}).get(), kResourceExhausted,
                 "the queue of the model is full");
  gate->open();
  for (auto& one : asked) EXPECT_EQ(one.get().status.code, 0);
}

TEST_F(GrpcApiTest, EndsWhatWaitsTooLong) {
  GrpcApi hasty(models.get(), {.request_timeout = std::chrono::milliseconds(0)});
  gate->close();
  auto first = begin({{.name = "half"}, {{"x", x({1})}}, {}});
  gate->wait_for_call();
  std::promise<GrpcAnswer> late;
  hasty.predict({{.name = "half"}, {{"x", x({1})}}, {}},
                [&](GrpcAnswer&& answer) { late.set_value(std::move(answer)); });
  gate->open();
  EXPECT_EQ(late.get_future().get().status.code, kDeadlineExceeded);
  EXPECT_EQ(first.get().status.code, 0);
}

TEST_F(GrpcApiTest, TellsSignaturesAndStates) {
  const GrpcMetadata metadata = api->metadata({.name = "half"});
  EXPECT_EQ(metadata.model.version, 1);
  const auto pair = std::find_if(metadata.signatures.begin(), metadata.signatures.end(),
                                 [](const auto& s) { return s.key == "pair"; });
  ASSERT_NE(pair, metadata.signatures.end());
  EXPECT_EQ(pair->method_name, "tensorflow/serving/predict");
  EXPECT_EQ(pair->inputs.at("a").dims, (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(pair->inputs.at("b").dtype, kInt32);
  const auto file = std::find_if(metadata.signatures.begin(), metadata.signatures.end(),
                                 [](const auto& s) { return s.key == "file"; });
  EXPECT_EQ(file->inputs.at("image_bytes").dtype, kString);
  EXPECT_EQ(file->inputs.at("image_bytes").dims, std::vector<int64_t>{-1});
  const GrpcStates states = api->states({.name = "half"});
  ASSERT_EQ(states.versions.size(), 1u);
  EXPECT_EQ(states.versions[0].version, 1);
  EXPECT_EQ(states.versions[0].state, 30);  // AVAILABLE
}

TEST_F(GrpcApiTest, ClassifiesAndRegressesExamples) {
  const GrpcTask classify{{.name = "half", .signature = "classify"}},
      regress{{.name = "half", .signature = "regress"}, true};
  const std::vector<std::string> examples{example_x(0.25), example_x(1)};
  const GrpcResults classes = infer({classify}, examples);
  ASSERT_EQ(classes.status.code, 0) << classes.status.message;
  EXPECT_EQ(classes.results[0].model.version, 1);
  ASSERT_EQ(classes.results[0].classes.size(), 2u);
  EXPECT_EQ(classes.results[0].classes[0][1].label, "daisy \"1\"");
  EXPECT_EQ(classes.results[0].classes[0][1].score, 0.75f);
  const GrpcResults both = infer({classify, regress}, examples);
  ASSERT_EQ(both.results.size(), 2u);
  EXPECT_EQ(both.results[0].classes[1][0].score, 1.0f);
  EXPECT_EQ(both.results[1].values, (std::vector<float>{2.125f, 2.5f}));
  EXPECT_TRUE(both.results[1].regression);
}

TEST_F(GrpcApiTest, ExamplesHaveAFeatureForEachInput) {
  const auto tensors = [&](const std::string& signature, const std::string& one) {
    HalfPlus model;
    const Result<Arrays> out = example_inputs({one}, *find_signature(model, signature), model, {});
    return out.ok() ? to_text(out->begin()->second) + "; " + to_text(out->rbegin()->second) : out.status().message();
  };
  const float a[] = {0.5f, 2};
  const int64_t u[] = {0, 255}, beyond[] = {0, 256};
  EXPECT_EQ(tensors("pair", example([&](ExampleBuilder& b) { b.add_floats("a", a), b.add_int64("b", -3); })),
            "f32[1,2] 0.5 2; i32[1] -3");
  EXPECT_EQ(tensors("flag", example([&](ExampleBuilder& b) { b.add_int64s("u", u), b.add_int64("f", 1); })),
            "bool[1] 1; u8[1,2] 0 255");
  EXPECT_EQ(tensors("flag", example([&](ExampleBuilder& b) { b.add_int64s("u", beyond), b.add_int64("f", 1); })),
            "example 0: feature \"u\": there is a number that the dtype does not hold");
  EXPECT_EQ(tensors("pair", example([&](ExampleBuilder& b) { b.add_float("a", 1), b.add_int64("b", 1); })),
            "example 0: feature \"a\": expected a FloatList of 2, found a FloatList of 1");
  EXPECT_EQ(tensors("pair", example([&](ExampleBuilder& b) { b.add_floats("a", a), b.add_float("b", 1); })),
            "example 0: feature \"b\": expected an Int64List of 1, found a FloatList of 1");
  EXPECT_EQ(tensors("pair", example([&](ExampleBuilder& b) { b.add_floats("a", a); })),
            "example 0: feature \"b\": it is missing");
  EXPECT_EQ(tensors("serving_default", example_x(NAN)),
            "example 0: feature \"x\": there is a number that the dtype does not hold");
  EXPECT_EQ(tensors("file", example([&](ExampleBuilder& b) { b.add_bytes("image_bytes", "\1\2"); })),
            "f32[1,2] 1 2; f32[1,2] 1 2");
  EXPECT_NE(tensors("serving_default", "\xff").find("example 0: "), std::string::npos);
}

TEST_F(GrpcApiTest, SaysWhyExamplesAreNotInferred) {
  const auto refused = [&](std::vector<GrpcTask> tasks, std::vector<std::string> examples) {
    const GrpcResults results = infer(std::move(tasks), std::move(examples));
    EXPECT_TRUE(results.results.empty());
    return std::to_string(results.status.code) + " " + results.status.message;
  };
  const GrpcTask x{{.name = "half", .signature = "regress"}, true};
  EXPECT_EQ(refused({x}, {}), "3 Input is empty: expected at least one example");
  EXPECT_EQ(refused({}, {example_x(1)}), "3 Inference request contains no tasks");
  EXPECT_EQ(refused({x, x}, {example_x(1)}), "3 Duplicate evaluation of signature: regress");
  EXPECT_EQ(refused({x}, std::vector<std::string>(7, example_x(1))),
            "3 the request has 7 examples, the server takes at most 6");
  EXPECT_EQ(refused({{{.name = "half", .signature = "regress"}}}, {example_x(1)}),
            "3 the signature \"regress\" has no output 'scores' or 'probabilities' with a number a class");
  EXPECT_EQ(refused({{{.name = "half", .signature = "none"}}}, {example_x(1)}),
            "3 Serving signature name: \"none\" not found in signature def");
  EXPECT_EQ(refused({{{.name = "other"}}}, {example_x(1)}), "5 Servable not found for request: Latest(other)");
  EXPECT_EQ(refused({x, {{.name = "shout"}}}, {example_x(1)}),
            "3 All ModelSpecs in a MultiInferenceRequest must access the same model and version");
  EXPECT_EQ(refused({{{.name = "shout"}}}, {example_x(1)}), "3 the model shout writes texts: expected Predict");
  EXPECT_EQ(refused({x}, {example_x(666)}), "13 the device is gone");
}

TEST_F(GrpcApiTest, WritesTexts) {
  const auto write = [&](GrpcTensors inputs, const GrpcModel& model = {.name = "shout"}) {
    return begin({model, std::move(inputs), {}}).get();
  };
  const GrpcAnswer answer = write({{"inputs", {kString, {3}, {}, {"a", "bc", "d"}}}});
  EXPECT_EQ(answer.outputs.at("outputs").strings, (std::vector<std::string>{"A", "BC", "D"}));
  EXPECT_EQ(answer.outputs.at("outputs").dims, std::vector<int64_t>{3});
  EXPECT_EQ(answer.model.version, 1);
  expect_refused(write({{"text", {kString, {1}, {}, {"a"}}}}), kInvalidArgument,
                 "expected the input \"inputs\" alone, a list of texts");
  expect_refused(write({{"inputs", x({1})}}), kInvalidArgument,
                 "input \"inputs\": expected dtype DT_STRING, found DT_FLOAT");
  expect_refused(write({{"inputs", {kString, {1, 1}, {}, {"a"}}}}), kInvalidArgument,
                 "input \"inputs\": expected shape [-1] with at least one text");
  expect_refused(write({{"inputs", {kString, {5}, {}, {"a", "b", "c", "d", "e"}}}}), kInvalidArgument,
                 "the request has 5 texts, the server takes at most 4");
  GrpcPrediction cancelled{{.name = "shout"}, {{"inputs", {kString, {1}, {}, {"for ever"}}}}, {}};
  cancelled.gone = [asked = 0]() mutable { return ++asked == 5; };
  expect_refused(begin(std::move(cancelled)).get(), kCancelled, "who asked has gone");
  expect_refused(write({{"inputs", {kString, {1}, {}, {"a"}}}}, {.name = "shout", .version = 2}), kNotFound,
                 "the model of text shout has version 1 alone, and no labels");
  EXPECT_EQ(api->metadata({.name = "shout"}).signatures[0].inputs.at("inputs").dtype, kString);
  EXPECT_EQ(api->states({.name = "shout"}).versions[0].state, 30);
  EXPECT_NE(metrics.text().find("tenon_requests_total{model=\"shout\",version=\"1\",code=\"400\"} 4"),
            std::string::npos);
}

TEST_F(GrpcApiTest, OtherModelsTakeTheirPlace) {
  root_.write("third/7/plus", "3");
  root_.write("broken/1/plus", "no number");
  const std::string half = root_.path() + "/half", third = root_.path() + "/third";
  const std::shared_ptr<ModelVersions> before = models->find("half");
  EXPECT_EQ(
      reload({{.name = "half", .base_path = half, .labels = {{"good", 1}}}, {.name = "third", .base_path = third}})
          .message,
      "");
  EXPECT_EQ(models->find("half"), before);  // it stays as it was
  EXPECT_EQ(begin({{.name = "third"}, {{"x", x({2})}}, {}}).get().model.version, 7);
  const auto refused = [&](const GrpcModelConfig& config) {
    const GrpcStatus status = reload({config});
    EXPECT_EQ(begin({{.name = "third"}, {{"x", x({2})}}, {}}).get().status.code, 0);  // nothing has changed
    return std::to_string(status.code) + " " + status.message;
  };
  EXPECT_EQ(refused({.name = "half", .base_path = root_.path() + "/broken"}),
            "3 the model half has no version that can be loaded in '" + root_.path() + "/broken'; nothing was changed");
  EXPECT_EQ(refused({.name = "half", .base_path = root_.path() + "/.."}),
            "3 model 'half': base_path '" + root_.path() + "/..' is no directory or file in '" + root_.path() +
                "', which --allow_reload_config names");
  EXPECT_EQ(refused({.name = "a/b", .base_path = half}),
            "3 model 'a/b': that is no name of a model: it becomes a part of addresses");
  EXPECT_EQ(refused({.name = "shout", .base_path = half}), "3 model 'shout': a model of text has that name");
  EXPECT_EQ(refused({.name = "half", .base_path = half, .platform = "torch"}),
            "3 model 'half': model_platform is 'torch', expected tensorflow");
  EXPECT_EQ(reload({{.name = "a", .base_path = half}, {.name = "a", .base_path = half}}).message,
            "two models have the name 'a'");
  EXPECT_EQ(reload({{.name = "half", .base_path = half, .only = {1}}}).code, 0);
  EXPECT_NE(models->find("half"), before);
  EXPECT_EQ(begin({{.name = "third"}, {{"x", x({2})}}, {}}).get().status.code, kNotFound);
  EXPECT_EQ(ask({{"x", x({2})}}).status.code, 0);
  std::promise<GrpcStatus> promise;
  GrpcApi(models.get(), {}).reload({}, [&](GrpcStatus status) { promise.set_value(std::move(status)); });
  EXPECT_EQ(promise.get_future().get().code, 7);  // PERMISSION_DENIED
}

// The answer that an old model owes is given, while the new one already answers.
TEST_F(GrpcApiTest, AModelThatLeavesAnswersWhatItHas) {
  gate->close();
  const std::shared_ptr<Gate> old = gate;
  auto first = begin({{.name = "half"}, {{"x", x({2})}}, {}});
  old->wait_for_call();
  auto second = begin({{.name = "half"}, {{"x", x({4})}}, {}});
  EXPECT_EQ(reload({{.name = "half", .base_path = root_.path() + "/half", .newest = 2}}).message, "");
  EXPECT_EQ(ask({{"x", x({6})}}).status.code, 0);
  old->open();
  EXPECT_EQ(values_of<float>(first.get().outputs.at("y")), std::vector<float>{3});
  EXPECT_EQ(values_of<float>(second.get().outputs.at("y")), std::vector<float>{4});
}

TEST_F(GrpcApiTest, CountsAnswersByCode) {
  (void)ask({{"x", x({1})}});
  (void)ask({});
  const std::string text = metrics.text();
  EXPECT_NE(text.find("code=\"200\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("code=\"400\"} 1"), std::string::npos);
}

}  // namespace
}  // namespace tenon::server
