// What the gRPC interface answers, without gRPC: the module that speaks it has TF Serving's own client as its test (share/interop).
#include "server/grpc/grpc_api.h"

#include <cmath>
#include <cstring>
#include <future>
#include <limits>

#include "server/grpc/tensors.h"
#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

// TensorFlow's numbers of types.
constexpr int kFloat = 1, kInt32 = 3, kUint8 = 4, kString = 7, kInt64 = 9, kBool = 10;
// gRPC's codes.
constexpr int kInvalidArgument = 3, kDeadlineExceeded = 4, kNotFound = 5, kResourceExhausted = 8, kInternal = 13;

template <class T>
GrpcTensor tensor(int dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  GrpcTensor out{dtype, std::move(dims), {}, {}};
  out.bytes.resize(values.size() * sizeof(T));
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}
GrpcTensor x(const std::vector<float>& values) { return tensor(kFloat, {std::ssize(values)}, values); }

template <class T>
std::vector<T> values_of(const GrpcTensor& t) {
  std::vector<T> out(t.bytes.size() / sizeof(T));
  std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
  return out;
}

class GrpcApiTest : public ::testing::Test {
 protected:
  GrpcApiTest() {
    directory_.write("1/plus", "2");
    const ModelLoader loader = [this](const std::string& path) {
      auto model = load_half_plus(path);
      gate = static_cast<HalfPlus&>(**model).gate;
      return model;
    };
    models = ServedModels::open({{.name = "half", .directory = directory_.path(), .labels = {{"good", 1}}}}, loader,
                                {.max_queued_rows = 8}, &metrics, [](const std::string&) {})
                 .take();
    api = std::make_unique<GrpcApi>(models.get(), &tokens, std::chrono::minutes(1), RequestLimits{.max_rows = 6});
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
  void expect_refused(const GrpcAnswer& answer, int code, const std::string& message) {
    EXPECT_EQ(answer.status.code, code);
    EXPECT_EQ(answer.status.message, message);
  }

  TestDirectory directory_;
  Metrics metrics;
  Tokens tokens;
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
  GrpcApi hasty(models.get(), &tokens, std::chrono::milliseconds(0), {});
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

TEST_F(GrpcApiTest, CountsAnswersByCode) {
  (void)ask({{"x", x({1})}});
  (void)ask({});
  const std::string text = metrics.text();
  EXPECT_NE(text.find("code=\"200\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("code=\"400\"} 1"), std::string::npos);
}

}  // namespace
}  // namespace tenon::server
