// The Transformer and GPT-2 train as in PyTorch: from the weights and on the sentences of tests/fixtures/make_transformer.py, whose losses in
// float32, in float64 and under autocast are in tests/fixtures/transformer.csv, on every device.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "models/models.h"
#include "tenon/strategy.h"

namespace tenon {
namespace {

constexpr int kSteps = 50, kBatches = 4;
constexpr int64_t kBatch = 8, kTokensOfSide = 12, kVocabulary = 53;

uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

double uniform(std::string_view name, int64_t i) {
  uint32_t h = 0x811c9dc5u;
  for (const char c : name) h = (h ^ static_cast<uint8_t>(c)) * 0x01000193u;
  return mix(static_cast<uint32_t>(i) + h * 0x9e3779b9u) * 0x1p-32;
}

Array weight(const std::string& name, const Type& type) {
  std::vector<float> values(static_cast<size_t>(type.shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = (2 * uniform(name, static_cast<int64_t>(i)) - 1) / 8;
    values[i] = static_cast<float>(name.ends_with("gamma")        ? value + 1
                                   : name.ends_with("embeddings") ? value * 1.5
                                                                  : value);
  }
  return Array(values, type.shape);
}

Array sentences(const std::string& side, int64_t batch) {
  std::vector<int32_t> tokens(static_cast<size_t>(kBatch * kTokensOfSide), 0);
  for (int64_t row = 0; row < kBatch; ++row) {
    const int64_t n = batch * kBatch + row;
    const auto words = static_cast<int64_t>(uniform(side + "/length", n) * (kTokensOfSide - 2)) + 1;
    const auto at = [&](int64_t t) -> int32_t& { return tokens[static_cast<size_t>(row * kTokensOfSide + t)]; };
    for (int64_t t = 0; t < words; ++t)
      at(t) = static_cast<int32_t>(uniform(side, kTokensOfSide * n + t) * (kVocabulary - 2)) + 2;
    at(words) = 1;
  }
  return Array(tokens, {kBatch, kTokensOfSide});
}

Params of_transformer() {
  return {{"param_set", std::string("tiny")},
          {"num_hidden_layers", int64_t{2}},
          {"vocab_size", kVocabulary},
          {"dropout", 0.0},
          {"label_smoothing", 0.1},
          {"optimizer", std::string("adam")},
          {"beta_2", 0.997},
          {"epsilon", 1e-9},
          {"learning_rate", 0.02},
          {"learning_rate_schedule", std::string("rsqrt")},
          {"warmup_steps", 20.0}};
}

Params of_gpt() {
  return {{"param_set", std::string("tiny")},
          {"vocab_size", kVocabulary},
          {"max_length", kTokensOfSide},
          {"dropout", 0.0},
          {"optimizer", std::string("adamw")},
          {"beta_2", 0.999},
          {"weight_decay", 0.1},
          {"learning_rate", 1e-3},
          {"learning_rate_schedule", std::string("constant")}};
}

// A model and the sides that it reads.
struct Case {
  const char* name;
  Tensor (*loss)(const Features& in, Mode mode);
  Arrays (*batch)(int64_t number);
};
const Case kCases[] = {
    {"transformer",
     [](const Features& in, Mode mode) { return models::transformer(in, in["targets"], mode, of_transformer()).loss; },
     [](int64_t k) {
       return Arrays{{"inputs", sentences("inputs", k)}, {"targets", sentences("targets", k)}};
     }},
    {"gpt", [](const Features& in, Mode mode) { return models::gpt(in, {}, mode, of_gpt()).loss; },
     [](int64_t k) {
       return Arrays{{"tokens", sentences("targets", k)}};
     }},
};

// By dtype.
std::map<std::string, std::vector<double>> losses_of_pytorch(const std::string& model) {
  std::ifstream file(TENON_FIXTURES "/transformer.csv");
  std::map<std::string, std::vector<double>> out;
  for (std::string line, field; std::getline(file, line);) {
    std::istringstream fields(line);
    if (!std::getline(fields, field, ',') || field != model || !std::getline(fields, field, ',')) continue;
    std::vector<double>& values = out[field];
    while (std::getline(fields, field, ',')) values.push_back(std::stod(field));
  }
  return out;
}

std::vector<double> trained(const char* device, const Case& model, const char* dtype_policy) {
  Strategy strategy(device, {.dtype_policy = dtype_policy});
  std::vector<Arrays> batches;
  for (int k = 0; k < kBatches; ++k) batches.push_back(model.batch(k));
  const auto loss_of = [&, loss = model.loss](Mode mode) {
    return strategy.function([=](const Features& in) { return Outputs{{"loss", loss(in, mode)}}; }, {.mode = mode});
  };
  Function train = loss_of(Mode::kTrain), evaluate = loss_of(Mode::kEval);
  evaluate(batches[0]);  // makes the weights
  for (const Strategy::VariableInfo& v : strategy.variables()) strategy.write(v.name, weight(v.name, v.type));

  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step)
    losses.push_back(train(batches[static_cast<size_t>(step % kBatches)])["loss"].to<double>()[0]);
  losses.push_back(evaluate(batches[0])["loss"].to<double>()[0]);
  return losses;
}

class TransformerLosses : public testing::TestWithParam<std::tuple<const char*, Case>> {
 protected:
  // The tolerance is relative.
  static void expect_those_of_pytorch(const std::vector<double>& losses, const char* dtype, double tolerance) {
    const auto& [device, model] = GetParam();
    const std::vector<double> peer = losses_of_pytorch(model.name)[dtype];
    ASSERT_EQ(peer.size(), losses.size());
    double largest = 0;
    for (size_t s = 0; s < peer.size(); ++s) {
      EXPECT_NEAR(losses[s], peer[s], tolerance * peer[s]) << "step " << s;
      largest = std::max(largest, std::fabs(losses[s] - peer[s]) / peer[s]);
    }
    std::printf("  %s, %s: largest relative difference from PyTorch in %s %.1e\n", device, model.name, dtype, largest);
  }
};

TEST_P(TransformerLosses, AreThoseOfPyTorchForFiftySteps) {
  const std::vector<double> losses = trained(std::get<0>(GetParam()), std::get<1>(GetParam()), "float32");
  expect_those_of_pytorch(losses, "float32", 1e-4);
  expect_those_of_pytorch(losses, "float64", 1e-4);
}

TEST_P(TransformerLosses, InMixedBfloat16AreThoseOfAutocastForFiftySteps) {
  const std::vector<double> losses = trained(std::get<0>(GetParam()), std::get<1>(GetParam()), "mixed_bfloat16");
  expect_those_of_pytorch(losses, "mixed_bfloat16", 0.02);
}

INSTANTIATE_TEST_SUITE_P(Devices, TransformerLosses,
                         testing::Combine(testing::Values("cpu", "opencl-gpu", "tpu-emulator:v2-8,dots=f32"),
                                          testing::ValuesIn(kCases)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param), 3) + "_" + std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace tenon
