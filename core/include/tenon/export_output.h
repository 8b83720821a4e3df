// What a model answers once it is exported: outputs by signature, in the names and by the rules of TensorFlow's
// Estimator.
//
//   spec.export_outputs = {{"serving_default", PredictOutput({{"probabilities", p}, {"classid", id}})},
//                          {"classify", ClassificationOutput({.scores = p, .classes = id})}};
//
// The functions throw tenon::Error that names the kind of output, what it expected and what it was given.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

class ExportOutput {
 public:
  enum class Kind : uint8_t { kPredict, kClassification, kRegression };
  using Named = std::vector<std::pair<std::string, Tensor>>;

  ExportOutput(Kind kind, Named outputs) : kind_(kind), outputs_(std::move(outputs)) {}
  Kind kind() const { return kind_; }
  const Named& outputs() const { return outputs_; }  // a row an example each

 private:
  Kind kind_;
  Named outputs_;
};

// Anything, by name; one tensor alone is "output".
ExportOutput PredictOutput(Tensor output);
ExportOutput PredictOutput(const ExportOutput::Named& outputs);
// "scores", floats [batch, classes], and "classes", whole numbers; one of them may be absent.
struct ClassificationTensors {
  Tensor scores = {}, classes = {};
};
ExportOutput ClassificationOutput(const ClassificationTensors& tensors);
// "outputs", floats.
ExportOutput RegressionOutput(Tensor value);

// By signature. One alone is "serving_default" too, whatever it is called; of several one has to have that name.
using ExportOutputs = std::vector<std::pair<std::string, ExportOutput>>;

// What an exported model takes and gives under one name.
struct ExportSignature {
  struct Value {
    std::string name;
    Type type;  // of an example
  };
  std::string key;          // "serving_default"
  std::string method_name;  // "tensorflow/serving/predict", "../classify", "../regress"
  std::vector<Value> inputs, outputs;
};

}  // namespace tenon
