// BERT-large's pre-training step (Devlin et al. 2018), built from layers, on a TPU that is predicted:
//
//   bert_preflight [--tpu v3-32] [--batch 448] [--length 512] [--kernels N]
//
// 24 layers of 1024, 16 heads, 4096 between; the words that were masked (15 %) are predicted through the transposed
// embeddings, the next sentence from the first place. LAMB, bf16 activations, f32 variables. Published for v3-32, batch
// 448, length 512: 460.5 ms a step.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"
#include "tenon/preflight.h"
#include "tenon/variables.h"

namespace {

using namespace tenon;

constexpr int64_t kSize = 1024, kHeads = 16, kInner = 4096, kLayers = 24, kWords = 30522;
constexpr double kDropout = 0.1;

Tensor normalised(Tensor x) { return layer_normalization(x, {.epsilon = 1e-12}); }

Tensor embed(Tensor tokens, Tensor table) {
  const int64_t length = tokens.dim(1);
  const Tensor places = variable(tokens, "positions", {length, kSize}, random_normal(0, 0.02));
  const Tensor x = cast(gather(table, tokens, 0) + places, compute_dtype(tokens));
  return dropout(normalised(x), kDropout);
}

Tensor layer(Tensor x) {
  const Tensor attended =
      multi_head_attention(x, x, {.num_heads = kHeads, .key_dim = kSize / kHeads, .dropout = kDropout});
  x = normalised(dropout(attended, {.rate = kDropout, .residual = x}));
  const Tensor inner = dense(x, {.units = kInner, .activation = gelu_tanh});
  return normalised(dropout(dense(inner, {.units = kSize}), {.rate = kDropout, .residual = x}));
}

// Features "tokens"[B, T], "masked"[B, M]: places of the words to predict; labels[B, M]: those words.
EstimatorSpec bert(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor tokens = features["tokens"], masked = features["masked"];
  const Tensor table = variable(tokens, "embeddings", {kWords, kSize}, random_normal(0, 0.02));
  Tensor x = embed(tokens, table);
  for (int64_t i = 0; i < kLayers; ++i) x = layer(x);
  const Tensor words = gather(x, masked, 1, 1);  // [B, M, kSize]
  Tensor y = reshape(words, {words.elements() / kSize, kSize});
  y = normalised(dense(y, {.units = kSize, .activation = gelu_tanh}));
  const Tensor logits = cast(dot(y, cast(table, y.dtype()), {.tb = true}), DType::kF32);
  EstimatorSpec spec{.mode = mode};
  spec.loss = sparse_categorical_crossentropy(reshape(labels, {labels.elements()}), logits, {.from_logits = true});
  spec.train_op = minimize(Lamb(), spec.loss);
  return spec;
}

int run(const std::string& machine, int64_t batch, int64_t length, size_t kernels) {
  const int64_t masked = (length * 15 + 99) / 100;
  const std::vector<FeatureSpec> features = {
      {"tokens", {DType::kI32, {length}}}, {"masked", {DType::kI32, {masked}}}, {"label", {DType::kI32, {masked}}}};
  const Result<Preflight> result = preflight(bert, {{"dtype_policy", std::string("mixed_bfloat16")}}, features,
                                             "tpu-emulator:" + machine, {.batch_size = batch});
  if (!result.ok()) {
    std::fprintf(stderr, "bert_preflight: %s\n", result.status().message().c_str());
    return 1;
  }
  const Preflight& p = *result;
  const PredictedStep& step = p.step;
  std::printf(
      "%s, batch %ld, length %ld: %s, %.1f ms a step; device %.1f ms (exchange %.1f, optimizer %.1f), infeed %.1f\n",
      machine.c_str(), batch, length, std::string(verdict_name(p.verdict)).c_str(), step.step_ms, step.device_ms,
      step.collective_ms, step.update_ms, step.infeed_ms);
  std::printf("%ld parameters, %.2f of %.2f GiB, matrix units %.1f %%\n", p.parameters,
              static_cast<double>(p.memory.peak) / (1 << 30), static_cast<double>(p.memory.capacity) / (1 << 30),
              100 * step.matrix_utilisation());
  std::vector<PredictedKernel> longest = step.kernels;
  std::sort(longest.begin(), longest.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  for (size_t i = 0; i < std::min(kernels, longest.size()); ++i)
    std::printf("%8.3f ms %-12s %-12s %8.1f MB %8.2f GFLOP  %s, %d nodes\n", longest[i].ms, longest[i].category.c_str(),
                longest[i].bound.c_str(), static_cast<double>(longest[i].padded_bytes) * 1e-6,
                static_cast<double>(longest[i].flops) * 1e-9, longest[i].name.c_str(), longest[i].nodes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string machine = "v3-32";
  int64_t batch = 448, length = 512;
  size_t kernels = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--tpu")) machine = argv[i + 1];
    if (!std::strcmp(argv[i], "--batch")) batch = std::atoll(argv[i + 1]);
    if (!std::strcmp(argv[i], "--length")) length = std::atoll(argv[i + 1]);
    if (!std::strcmp(argv[i], "--kernels")) kernels = static_cast<size_t>(std::atoll(argv[i + 1]));
  }
  return run(machine, batch, length, kernels);
}
