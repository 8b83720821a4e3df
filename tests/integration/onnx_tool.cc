// Trains a model of an ONNX file, for `make check-interop` (share/interop/check_onnx_models.py).
//
//   onnx_tool train FILE.onnx DIRECTORY STEPS RATE
//
// Each step takes the same batch, DIRECTORY/input_0.pb, .. and DIRECTORY/labels.pb, i64 classes, and descends by SGD on the mean softmax
// cross entropy of the first output. Prints the loss of each step.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tenon/losses.h"
#include "tenon/onnx.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"

using namespace tenon;

namespace {

Arrays batch_of(const OnnxModel& model, const std::string& directory) {
  Arrays out;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const OnnxTensor tensor = read_onnx_tensor(directory + "/input_" + std::to_string(i) + ".pb").take();
    out.emplace(model.inputs()[i].name, tensor.value);
  }
  out.emplace("label", read_onnx_tensor(directory + "/labels.pb").take().value);
  return out;
}

void train(const std::string& path, const std::string& directory, int steps, double rate) {
  const OnnxModel model = import_onnx(path).take();
  const Arrays batch = batch_of(model, directory);
  Strategy strategy("cpu");
  Function step = strategy.function(
      [&](const Features& in) {
        const Outputs outputs = model(in);
        const Tensor logits = outputs.all()[0].second.tensor;
        const Tensor loss = sparse_categorical_crossentropy(in["label"], logits, {.from_logits = true});
        minimize(SGD(rate), loss);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  for (int i = 0; i < steps; ++i) std::printf("%.7f\n", step(batch)["loss"].item());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 || std::string(argv[1]) != "train")
    return std::fprintf(stderr, "usage: onnx_tool train FILE.onnx DIRECTORY STEPS RATE\n"), 2;
  try {
    train(argv[2], argv[3], std::atoi(argv[4]), std::atof(argv[5]));
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "onnx_tool: %s\n", e.what()), 1;
  }
  return 0;
}
