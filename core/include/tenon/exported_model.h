// A model that was exported (tenon/export.h), opened: on any device, without the code that built it.
//
//   ExportedModel model = ExportedModel::open("flowers/export/1764194400").take();
//   Strategy strategy("cpu");
//   Function predict = model.function(strategy);              // of the signature "serving_default"
//   Results r = predict({{"image", images}});                 // any number of rows
//   float p = r["probabilities"].row(0).to<float>()[0];
//
// Nothing that the files say is believed: sizes, hashes and types are held against each other before anything is made
// of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/export.h"
#include "tenon/strategy.h"

namespace tenon {

// An input or output of a signature.
struct ServingValue {
  enum class Kind : uint8_t {
    kTensor,  // numbers
    kImage,   // an input: the bytes of a JPEG, PNG or WebP file, which become the tensor `tensor`
    kLabel,   // an output: the class name of the number in the tensor `tensor`
  };
  std::string name;  // "image_bytes"
  Kind kind = Kind::kTensor;
  std::string tensor;  // of the function: the same as `name` where it is a tensor
  Type type;           // of that tensor, of an example: without the rows
};

struct ServingSignature {
  std::string key;          // "serving_default"
  std::string method_name;  // "tensorflow/serving/predict"
  std::vector<ServingValue> inputs, outputs;
};

// A directory whose name is a number, as TF Serving finds versions.
struct ExportedVersion {
  int64_t number = 0;
  std::string path;
};
// Newest first, each number once: 7 before 007. kUnavailable: the directory cannot be read.
Result<std::vector<ExportedVersion>> exported_versions(const std::string& directory);

// Copies are handles to the same. Thread safe.
class ExportedModel {
 public:
  // A version directory. Reads Tenon's part of it, and of the weights only what there is.
  static Result<ExportedModel> open(const std::string& directory);

  const std::string& directory() const;
  int64_t version() const;  // the directory's name; -1 where that is no number
  const std::vector<ServingSignature>& signatures() const;
  // nullptr when there is none of that key.
  const ServingSignature* signature(std::string_view key) const;
  const std::vector<std::string>& labels() const;
  std::string label(int64_t class_id) const;  // its number in text where it has no name

  // The values of its variables go to the strategy, unless they are there; to be called before the first function runs.
  Status load(Strategy& strategy) const;
  // Takes the signature's tensors, by name; results have a row an example. Throws Error where there is no such
  // signature.
  Function function(const Strategy& strategy, std::string_view signature = "serving_default") const;

  // What a file becomes: a row of the tensor that an input of kind kImage stands for. kInvalid: it is no image.
  // REQUIRED: there is such an input.
  Result<Array> image_row(std::span<const std::byte> file) const;

 private:
  struct Impl;
  explicit ExportedModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// A version on a device, compiled for some batch sizes: what a server calls.
struct ServableOptions {
  std::string device = "auto";
  std::vector<int64_t> batch_sizes = {1, 2, 4, 8, 16, 32};  // increasing; a call has at most the last of them
};

// Used by one thread at a time.
class Servable {
 public:
  // With its weights in the device's memory; every signature has run once with each batch size.
  static Result<std::unique_ptr<Servable>> open(const ExportedModel& model, const ServableOptions& options);

  const ExportedModel& model() const { return model_; }
  int64_t max_rows() const { return options_.batch_sizes.back(); }

  // The tensors of the signature's inputs, all with as many rows, 1 to max_rows(); its outputs' tensors for them. They
  // are padded to the next batch size, in which one row's result does not depend on the others. kInvalid names the
  // input that does not fit.
  Result<Arrays> predict(std::string_view signature, const Arrays& inputs);

 private:
  Servable(ExportedModel model, ServableOptions options);
  const Function* function_of(const std::vector<std::string>& tensors) const;  // nullptr: there is none yet
  ExportedModel model_;
  ServableOptions options_;
  Strategy strategy_;
  std::vector<std::pair<std::string, Function>> functions_;  // by signature
};

}  // namespace tenon
