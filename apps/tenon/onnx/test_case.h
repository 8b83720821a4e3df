// A model with inputs and the outputs that it should have, as ONNX's own test cases lie in directories.
#pragma once

#include <string>
#include <vector>

#include "tenon/array.h"
#include "tenon/onnx.h"

namespace tenon::runner {

struct TestData {
  std::string directory;
  std::vector<OnnxTensor> inputs, outputs;
};
// input_0.pb, output_0.pb, ..; of a directory that has test_data_set_0, .. those.
std::vector<TestData> test_data(const std::string& directory);

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

struct Comparison {
  bool passed = true;
  double max_error = 0;
  std::string message;  // of the first output that differs
};

// Runs the model on the device and compares. Inputs whose numbers have to be known when the function is traced are given then.
// Throws Error where it cannot be run.
Comparison run_case(const OnnxModel& model, const TestData& data, const std::string& device,
                    const Tolerance& tolerance);

}  // namespace tenon::runner
