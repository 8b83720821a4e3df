#include "onnx/test_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "output.h"
#include "tenon/strategy.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;

std::vector<OnnxTensor> tensors(const std::string& directory, const char* stem) {
  std::vector<OnnxTensor> out;
  for (int i = 0; i < 1000; ++i) {
    const std::string path = format("%s/%s_%d.pb", directory.c_str(), stem, i);
    if (!fs::exists(path)) break;
    out.push_back(read_onnx_tensor(path).take());
  }
  return out;
}

// Each unit of a device has all of it: axis 0 of what a function is given is that of one example alone.
Array with_axis(const Array& value) {
  std::vector<int64_t> dims = value.shape().vec();
  dims.insert(dims.begin(), 1);
  return Array({value.dtype(), Shape(dims)}, {value.bytes().begin(), value.bytes().end()});
}

Results results_of(const OnnxModel& model, const Arrays& inputs, const std::string& device) {
  const Strategy strategy(device);
  Function function = strategy.function(
      [&](const Features& in) {
        Features features;
        for (const auto& [name, x] : in.all()) {
          const std::vector<int64_t> dims = x.shape().vec();
          features.set(name, reshape(x, Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()))));
        }
        Outputs out;
        const Outputs given = model(features);
        for (size_t i = 0; i < given.all().size(); ++i) out.add(format("%zu", i), last(given.all()[i].second.tensor));
        return out;
      },
      {.name = "model", .remainder = Remainder::kWhole});
  Arrays given;
  for (const auto& [name, value] : inputs) given.emplace(name, with_axis(value));
  return function(given);
}

// Calls the model, with the numbers that it asks for.
Results results(OnnxModel model, Arrays inputs, const std::string& device) {
  for (;;) {
    try {
      return results_of(model, inputs, device);
    } catch (const Error&) {
      const auto wanted = inputs.find(model.wanted());
      if (wanted == inputs.end()) throw;
      OnnxOptions options = model.options();
      options.values.insert(inputs.extract(wanted));
      model = model.with(options).take();
    }
  }
}

void compare(const std::string& name, const Array& found, const Array& expected, const Tolerance& tolerance,
             Comparison& to) {
  if (!(found.shape() == expected.shape())) {
    if (to.passed)
      to.message = format("output '%s' is %s, expected %s", name.c_str(), found.type().str().c_str(),
                          expected.type().str().c_str());
    to.passed = false;
    return;
  }
  // bf16 may be two of its steps off, as ONNX's own tests allow.
  const double relative = expected.dtype() == DType::kBF16 ? std::max(tolerance.relative, 0x1p-6) : tolerance.relative;
  const std::vector<double> a = found.to<double>(), b = expected.to<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double error = std::fabs(a[i] - b[i]);
    to.max_error = std::isfinite(error) ? std::max(to.max_error, error) : INFINITY;
    if (error <= tolerance.absolute + relative * std::fabs(b[i])) continue;
    if (to.passed) to.message = format("output '%s'[%zu] is %.9g, expected %.9g", name.c_str(), i, a[i], b[i]);
    to.passed = false;
  }
}

Error no_data(const std::string& found) {
  return Error(Status(Code::kInvalid, "--data: " + found +
                                          "; expected a directory with input_0.pb, .. and output_0.pb, .., or with "
                                          "such directories test_data_set_0, .."));
}

}  // namespace

std::vector<TestData> test_data(const std::string& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw no_data(fs::exists(directory, error) ? format("'%s' is a file", directory.c_str())
                                               : format("there is no directory '%s'", directory.c_str()));
  std::vector<std::string> places;
  for (int i = 0; fs::is_directory(format("%s/test_data_set_%d", directory.c_str(), i)); ++i)
    places.push_back(format("%s/test_data_set_%d", directory.c_str(), i));
  if (places.empty()) places.push_back(directory);
  std::vector<TestData> out;
  for (const std::string& place : places) {
    out.push_back({place, tensors(place, "input"), tensors(place, "output")});
    if (out.back().outputs.empty()) throw no_data(format("'%s' has no output_0.pb", place.c_str()));
  }
  return out;
}

Comparison run_case(const OnnxModel& model, const TestData& data, const std::string& device,
                    const Tolerance& tolerance) {
  if (data.inputs.size() > model.inputs().size())
    throw Error(Status(Code::kInvalid, format("'%s' has %zu inputs, expected %zu", data.directory.c_str(),
                                              data.inputs.size(), model.inputs().size())));
  if (data.outputs.size() > model.outputs().size())
    throw Error(Status(Code::kInvalid, format("'%s' has %zu outputs, expected %zu", data.directory.c_str(),
                                              data.outputs.size(), model.outputs().size())));
  OnnxOptions options = model.options();
  Arrays inputs;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const Array& value = data.inputs[i].value;
    // A device is fed something; nothing is known.
    (value.elements() == 0 ? options.values : inputs).emplace(model.inputs()[i].name, value);
  }
  const Results found = results(model.with(options).take(), std::move(inputs), device);
  Comparison out;
  for (size_t i = 0; i < data.outputs.size(); ++i)
    compare(model.outputs()[i].name, found[format("%zu", i)], data.outputs[i].value, tolerance, out);
  return out;
}

}  // namespace tenon::runner
