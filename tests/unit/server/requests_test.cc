// Bodies of requests and answers, as TF Serving's users write and read them. Answers of half_plus_two are those of its tutorial.
#include "server/json/requests.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "server/json/base64.h"
#include "server/json/rest_answers.h"
#include "server/narrow_float.h"
#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

// One with the input x, a number of that type.
class OneInput : public HalfPlus {
 public:
  explicit OneInput(DType dtype) : signatures_{{"serving_default", "", {tensor_value("x", dtype, {})}, {}}} {}
  const std::vector<ServingSignature>& signatures() const override { return signatures_; }

 private:
  std::vector<ServingSignature> signatures_;
};

std::string answer_of(std::string body, RequestMethod method = RequestMethod::kPredict,
                      const RequestLimits& limits = {}) {
  HalfPlus model;
  Result<ParsedRequest> request = parse_request(&body, method, model, limits);
  if (!request.ok()) return request.status().message();
  const Result<Arrays> outputs = model.predict(request->signature->key, request->inputs);
  if (method == RequestMethod::kClassify) return classify_answer(model, *request->signature, *outputs);
  if (method == RequestMethod::kRegress) return regress_answer(*request->signature, *outputs);
  return predict_answer(model, *request->signature, request->format, *outputs, request->rows);
}

void expect_error(const std::string& body, const std::string& part, RequestMethod method = RequestMethod::kPredict) {
  EXPECT_NE(answer_of(body, method).find(part), std::string::npos)
      << body.substr(0, 200) << " gave " << answer_of(body, method);
}

TEST(Requests, RowsOfOneInputAreValuesOrObjects) {
  EXPECT_EQ(answer_of(R"({"instances": [1.0, 2.0, 5.0]})"), "{\"predictions\":[2.5,3.0,4.5]}\n");
  EXPECT_EQ(answer_of(R"({"instances": [{"x": 1.0}, {"x": 2}, {"x": 5.0}], "unknown": {}})"),
            "{\"predictions\":[2.5,3.0,4.5]}\n");
  EXPECT_EQ(answer_of(R"({"signature_name": "serving_default", "instances": [1]})"), "{\"predictions\":[2.5]}\n");
}

TEST(Requests, ColumnsAreValuesOrObjects) {
  EXPECT_EQ(answer_of(R"({"inputs": [1.0, 2.0, 5.0]})"), "{\"outputs\":[2.5,3.0,4.5]}\n");
  EXPECT_EQ(answer_of(R"({"inputs": {"x": [1.0]}})"), "{\"outputs\":[2.5]}\n");
  EXPECT_EQ(answer_of(R"({"signature_name": "pair", "inputs": {"a": [[1, 2], [3, 4]], "b": [3, -1]}})"),
            "{\"outputs\":{\"sum\":[3.0,7.0],\"big\":[12884901888,-4294967296]}}\n");
}

TEST(Requests, RowsOfSeveralInputsAreObjects) {
  EXPECT_EQ(
      answer_of(R"({"signature_name": "pair", "instances": [{"b": 3, "a": [0.5, 0.25]}, {"a": [1, 1], "b": 0}]})"),
      "{\"predictions\":[{\"sum\":0.75,\"big\":12884901888},{\"sum\":2.0,\"big\":0}]}\n");
}

TEST(Requests, FilesComeInBase64AndClassesGoAsText) {
  const std::string expected = "{\"predictions\":[\"daisy \\\"1\\\"\"]}\n";
  EXPECT_EQ(answer_of(R"({"signature_name": "file", "instances": [{"b64": "aGk="}]})"), expected);
  EXPECT_EQ(answer_of(R"({"signature_name": "file", "instances": [{"image_bytes": {"b64": "aGk"}}]})"), expected);
  EXPECT_EQ(answer_of(R"({"signature_name": "file", "inputs": [{"b64": "aGk="}, {"b64": "aGk="}]})"),
            "{\"outputs\":[\"rose\",\"daisy \\\"1\\\"\"]}\n");
  expect_error(R"({"signature_name": "file", "instances": [{"b64": "a*k="}]})",
               "key: image_bytes of 'instances' list. Error: Unable to base64 decode");
  expect_error(R"({"signature_name": "file", "instances": [{"b64": ""}]})",
               "key: image_bytes of 'instances' list. Error: it is no image");
  expect_error(R"({"signature_name": "file", "instances": ["aGk="]})", "expected {\"b64\": \"..\"}");
  expect_error(R"({"signature_name": "file", "instances": [{"b64": 3}]})", "does not have named input: b64");
}

TEST(Requests, BytesAndBoolsKeepTheirTypes) {
  EXPECT_EQ(answer_of(R"({"signature_name": "flag", "instances": [{"u": [0, 255], "f": true}]})"),
            "{\"predictions\":[{\"u\":[0,255],\"f\":true}]}\n");
  expect_error(R"({"signature_name": "flag", "instances": [{"u": [0, 256], "f": true}]})",
               "JSON Value: 256 Type: Number is not of expected type: u8");
  expect_error(R"({"signature_name": "flag", "instances": [{"u": [-1, 0], "f": true}]})",
               "JSON Value: -1 Type: Number");
  expect_error(R"({"signature_name": "flag", "instances": [{"u": [1, 0], "f": 1}]})",
               "key: f of 'instances' list. Error: JSON Value: 1 Type: Number is not of expected type: bool");
  expect_error(R"({"signature_name": "pair", "instances": [{"a": [1, 1], "b": 2147483648}]})",
               "is not of expected type: i32");
  expect_error(R"({"signature_name": "pair", "instances": [{"a": [1, 1], "b": 1.0}]})", "is not of expected type: i32");
}

// Bits by IEEE 754: of binary16 0x3c00 is 1, 0x2e66 0.1, 0x7bff 65504, 0x0001 2^-24; bfloat16 is the upper half of a float.
TEST(Requests, FloatsOf16BitsAreRounded) {
  const auto bits_of = [](DType dtype, const std::string& rows) -> std::vector<uint16_t> {
    OneInput model(dtype);
    std::string body = "{\"instances\": [" + rows + "]}";
    const Result<ParsedRequest> request = parse_request(&body, RequestMethod::kPredict, model, {});
    EXPECT_TRUE(request.ok()) << request.status().message();
    if (!request.ok()) return {};
    const auto bytes = request->inputs.at("x").bytes();
    std::vector<uint16_t> out(bytes.size() / 2);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  const auto error_of = [](DType dtype, const std::string& row) {
    OneInput model(dtype);
    std::string body = "{\"instances\": [" + row + "]}";
    return parse_request(&body, RequestMethod::kPredict, model, {}).status().message();
  };
  EXPECT_EQ(bits_of(DType::kF16, "1, 0.1, 65504, 65519.9, -2, 6e-8, 2049, 0"),
            (std::vector<uint16_t>{0x3c00, 0x2e66, 0x7bff, 0x7bff, 0xc000, 0x0001, 0x6800, 0}));
  EXPECT_EQ(bits_of(DType::kBF16, "1, 0.1, 3e38, -2, 257"),
            (std::vector<uint16_t>{0x3f80, 0x3dcd, 0x7f62, 0xc000, 0x4380}));
  EXPECT_NE(error_of(DType::kF16, "65520").find("Cannot convert JSON value: 65520 to f16 without loss"),
            std::string::npos);
  EXPECT_NE(error_of(DType::kBF16, "1e39").find("to bf16 without loss"), std::string::npos);
  EXPECT_NE(error_of(DType::kF16, "\"1\"").find("Type: String is not of expected type: f16"), std::string::npos);
}

// Each of the 2^16 values, and what lies halfway to the next one, which goes to the even one: as IEEE 754 rounds.
TEST(NarrowFloat, RoundsToNearestEven) {
  const auto check = [](auto type, int fraction, int bias) {
    using T = decltype(type);
    const auto value_of = [&](int bits) {
      const int exponent = bits >> fraction, units = bits & ((1 << fraction) - 1);
      return exponent == 0 ? std::ldexp(units, 1 - bias - fraction)
                           : std::ldexp(units + (1 << fraction), exponent - bias - fraction);
    };
    const int infinity = 0x7fff >> fraction << fraction;
    for (int bits = 0; bits < infinity; ++bits) {
      const double value = value_of(bits), middle = (value + value_of(bits + 1)) / 2;
      ASSERT_EQ(T(value).bits, bits);
      ASSERT_EQ(T(-value).bits, bits | 0x8000);
      ASSERT_EQ(T(middle).bits, bits % 2 == 0 ? bits : bits + 1) << bits;
      ASSERT_EQ(T(std::nextafter(middle, 0)).bits, bits);
      ASSERT_EQ(T(std::nextafter(middle, 1e300)).bits, bits + 1);
    }
    EXPECT_FALSE(T(INFINITY).finite());
    EXPECT_FALSE(T(1e300).finite());
  };
  check(F16{}, 10, 15);
  check(Bf16{}, 7, 127);
}

TEST(Requests, ClassifyAndRegressTakeExamples) {
  EXPECT_EQ(
      answer_of(R"({"signature_name": "classify", "examples": [{"x": 0.25}, {"x": 1}]})", RequestMethod::kClassify),
      "{\"results\":[[[\"rose\",0.25],[\"daisy \\\"1\\\"\",0.75]],[[\"rose\",1.0],[\"daisy \\\"1\\\"\",0.0]]]}\n");
  EXPECT_EQ(answer_of(R"({"signature_name": "regress", "examples": [{"x": 1}, {"x": 2}]})", RequestMethod::kRegress),
            "{\"results\":[2.5,3.0]}\n");
  expect_error(R"({"examples": [{"x": 1}]})",
               "the signature \"serving_default\" has no output 'scores' or 'probabilities' with a number a class",
               RequestMethod::kClassify);
  // The method's name is not looked at, as TF Serving does by itself.
  EXPECT_EQ(answer_of(R"({"examples": [{"x": 1}, {"x": 2}]})", RequestMethod::kRegress), "{\"results\":[2.5,3.0]}\n");
  expect_error(R"({"signature_name": "pair", "examples": [{"a": [1, 2], "b": 1}]})",
               "has more than one number an example", RequestMethod::kRegress);
  expect_error(R"({"signature_name": "regress", "instances": [1]})", "key 'examples' is expected",
               RequestMethod::kRegress);
}

TEST(Requests, ErrorsNameWhatIsWrong) {
  for (const auto& [body, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "JSON Parse error"},
           {"nothing", "JSON Parse error"},
           {"[1, 2]", "Type: Array is not of expected type: Object"},
           {"{}", "Missing 'inputs' or 'instances' key"},
           {R"({"instances": [1], "inputs": [1]})", "Not expecting both 'inputs' and 'instances' keys"},
           {R"({"instances": [1], "instances": [1]})", "\"instances\" is there twice"},
           {R"({"instances": []})", "'instances' must be a list with at least one element"},
           {R"({"instances": 3})", "'instances' must be a list with at least one element"},
           {R"({"instances": null})", "'instances' must be a list"},
           {R"({"inputs": []})", "Failed to process input: x"},
           {R"({"instances": [1], "signature_name": "other"})",
            "Serving signature name: \"other\" not found in signature def"},
           {R"({"instances": [1], "signature_name": 3})", "'signature_name' key must be a string value"},
           {R"({"instances": [1, "2"]})",
            "Failed to process element: 1 key: x of 'instances' list. Error: JSON Value: \"2\" Type: String is not of "
            "expected type: f32"},
           {R"({"instances": [[1]]})", "Encountered list at unexpected level: 1"},
           {R"({"instances": [null]})", "Type: Null is not of expected type: f32"},
           {R"({"instances": [{"y": 1}]})", "does not have named input: y; expected x"},
           {R"({"instances": [{"x": 1, "x": 2}]})", "the key is there twice"},
           {R"({"instances": [{}]})", "it has no x"},
           {R"({"instances": [1, NaN]})",
            "Failed to process element: 1 key: x of 'instances' list. Error: JSON Value: \"NaN\" Type: String"},
           {R"({"instances": [-Infinity, NaN, Infinity]})",
            "Failed to process element: 0 key: x of 'instances' list. Error: JSON Value: \"-Infinity\""},
           {R"({"inputs": {"x": [NaN]}})", "Failed to process input: x row: 0. Error: JSON Value: \"NaN\""},
           {R"({"note": "\"NaN", "instances": [Infinity]})",
            "key: x of 'instances' list. Error: JSON Value: \"Infinity\""},
           {R"({"signature_name": "file", "instances": [{"b64": Infinity}]})", "JSON Parse error"},
           {R"({"other": NaN, "instances": [1]})", "JSON Parse error"},
           {R"({"instances": [NaN})", "JSON Parse error"},
           {R"({"instances": [1, Infinit]})", "JSON Parse error"},
           {R"({"instances": [1e39]})", "Cannot convert JSON value: 1e+39 to f32 without loss of precision"},
           {R"({"instances": [1e999]})", "JSON Parse error"},
           {R"({"instances": [16777217]})", "Cannot convert JSON value: 16777217 to f32"},
           {R"({"instances": [1,]})", "JSON Parse error"},
           {R"({"instances": [1]} x)", "JSON Parse error"},
           {"{\"instances\": [\"\xff\"]}", "JSON Parse error"},
           {R"({"signature_name": "pair", "instances": [[1, 2]]})", "the signature has the inputs a,b"},
           {R"({"signature_name": "pair", "instances": [{"a": [1, 2]}]})",
            "key: b of 'instances' list. Error: JSON object must have keys: a,b"},
           {R"({"signature_name": "pair", "instances": [{"a": [1, 2, 3], "b": 1}]})",
            "key: a of 'instances' list. Error: Encountered list at unexpected size: 3 at level: 1 expected size: 2"},
           {R"({"signature_name": "pair", "instances": [{"a": [1], "b": 1}]})", "unexpected size: 1"},
           {R"({"signature_name": "pair", "instances": [{"a": [1, [2]], "b": 1}]})",
            "Encountered list at unexpected level"},
           {R"({"signature_name": "pair", "instances": [{"a": 1, "b": 1}]})",
            "JSON Value: 1 found at incorrect level: 1"},
           {R"({"signature_name": "pair", "inputs": [1]})", "expected an object with the keys a,b"},
           {R"({"signature_name": "pair", "inputs": {"a": [[1, 2]]}})", "Missing named input: b in 'inputs' object."},
           {R"({"signature_name": "pair", "inputs": {"a": [[1, 2]], "b": [1, 2]}})",
            "Tensor name: b has inconsistent batch size: 2 expecting: 1"},
           {R"({"signature_name": "pair", "inputs": {"a": [[1, 2]], "b": 1}})", "Failed to process input: b"},
       })
    expect_error(body, part);
}

TEST(Requests, NestingRowsAndMemoryHaveLimits) {
  std::string deep = "{\"instances\": ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  expect_error(deep, "JSON Parse error");
  for (int i = 0; i < 100000; ++i) deep += ']';
  expect_error(deep + "}", "JSON Parse error");
  EXPECT_NE(answer_of(R"({"instances": [1, 2, 3]})", RequestMethod::kPredict, {.max_rows = 2}).find("more rows than 2"),
            std::string::npos);
  EXPECT_NE(answer_of(R"({"inputs": [1, 2, 3]})", RequestMethod::kPredict, {.max_rows = 2}).find("more rows than 2"),
            std::string::npos);
  EXPECT_NE(answer_of(R"({"inputs": [1, 2, 3]})", RequestMethod::kPredict, {.max_bytes = 8}).find("too much memory"),
            std::string::npos);
  EXPECT_EQ(answer_of(R"({"inputs": [1, 2]})", RequestMethod::kPredict, {.max_bytes = 8}), "{\"outputs\":[2.5,3.0]}\n");
}

TEST(Requests, LargeValuesAreCutInMessages) {
  const std::string text(100000, 'a');
  EXPECT_LT(answer_of("{\"instances\": [\"" + text + "\"]}").size(), 400u);
}

// Any bits: what is printed reads back as the same number, and so does what is sent.
TEST(Requests, FloatsReadBackTheSame) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    HalfPlus model;
    const ServingSignature& signature = model.signatures()[0];
    const std::string text =
        predict_answer(model, signature, RequestFormat::kRows, {{"y", Array(std::vector<float>{value})}}, 1);
    const float back = std::strtof(text.c_str() + std::string("{\"predictions\":[").size(), nullptr);
    ASSERT_EQ(std::bit_cast<uint32_t>(back), std::bit_cast<uint32_t>(value)) << text;
    std::string body = "{\"instances\":[" + text.substr(16, text.size() - 16 - 3) + "]}";
    const ParsedRequest request = parse_request(&body, RequestMethod::kPredict, model, {}).take();
    ASSERT_EQ(std::bit_cast<uint32_t>(request.inputs.at("x").to<float>()[0]), std::bit_cast<uint32_t>(value)) << body;
  }
}

TEST(Requests, AnswersWithoutANumberAreNull) {
  HalfPlus model;
  const Arrays outputs{{"y", Array(std::vector<float>{NAN, INFINITY, -0.0f})}};
  EXPECT_EQ(predict_answer(model, model.signatures()[0], RequestFormat::kRows, outputs, 3),
            "{\"predictions\":[null,null,-0.0]}\n");
}

TEST(Base64, IsThatOfRfc4648) {
  const auto text_of = [](std::string_view text) {
    const auto bytes = from_base64(text);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "none";
  };
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                                                       {"Zg==", "f"},
                                                                                       {"Zm8=", "fo"},
                                                                                       {"Zm9v", "foo"},
                                                                                       {"Zm9vYg==", "foob"},
                                                                                       {"Zm9vYmE=", "fooba"},
                                                                                       {"Zm9vYmFy", "foobar"}})
    EXPECT_EQ(text_of(text), expected);
  EXPECT_EQ(text_of("_-8"), "\xff\xef");
  EXPECT_EQ(text_of("/+8="), "\xff\xef");
  for (const char* const bad : {"Z", "Zm9v=Zg", "Z m8=", "Zg===", "Zm9vY", "\n"})
    EXPECT_EQ(text_of(bad), "none") << bad;
}

}  // namespace
}  // namespace tenon::server
