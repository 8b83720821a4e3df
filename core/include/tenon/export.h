// Trained models as what serves them: version directories that TensorFlow, TF Serving and Tenon open
// (tenon/exported_model.h).
//
//   std::string path = estimator.export_saved_model("flowers/export", data, {.labels = {"daisy", "rose"}}).take();
//
// DIR/VERSION has TensorFlow's SavedModel: saved_model.pb, variables/; and below assets.extra/tenon Tenon's graph of
// it, class names, and a manifest with the size and crc32c of each file. It is there whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/dataset.h"
#include "tenon/strategy.h"

namespace tenon {

// How a file of an image becomes an example: the options of Dataset::images of the same names.
struct ExportedImages {
  std::string feature = "image";  // the model's feature, f32[height, width, channels]
  int height = 0, width = 0, channels = 3;
  PixelRange range = PixelRange::kMinusOneToOne;
  ResizeKind resize = ResizeKind::kLegacy;
  Alpha alpha = Alpha::kDrop;
  Colour background = {255, 255, 255};
};

enum class ExportFormat : uint8_t {
  kSavedModel,  // for TensorFlow and Tenon. What TensorFlow has no op for is an error that lists all such nodes
  kTenon,       // the same without TensorFlow's graph
  // VERSION/model.onnx, of up to 2 GB: the signature of tensors, whose rows are the dimension "batch", and class names
  // in its metadata. A directory that ends with ".onnx" is the file itself
  kOnnx,
};

struct ExportOptions {
  // The directory's number, larger than those that there are. 0: the seconds since 1970, as TensorFlow names it, or one
  // more than the largest.
  int64_t version = 0;
  std::string checkpoint = {};  // a prefix, a .safetensors file, or a directory: its newest; empty: of model_dir
  std::vector<std::string> labels = {};  // class names, in order: each signature with "classid" answers "class" too
  // Models of images answer files too: the signature "image_bytes". As the default signature, or beside it:
  std::optional<ExportedImages> images = {};
  bool tensor_default = false;  // "serving_default" takes the tensor where there is `images`
  ExportFormat format = ExportFormat::kSavedModel;
  bool frozen = false;  // weights are constants of TensorFlow's graph, of up to 2 GB, and there is nothing of Tenon's
  int keep = 0;         // newest versions that stay; 0: all
};

// The same of any function of tensors, with the values that the strategy's variables have: its features' types are of
// an example, its outputs have a row an example each. `checkpoint` is not heeded. Other errors are those of
// Estimator::export_saved_model.
//
//   export_function(strategy, [&](const Features& in) { return Outputs{{"probabilities", softmax(model(in["image"]))}}; },
//                   {{"image", {DType::kF32, {28, 28, 1}}}}, "model/export").take();
Result<std::string> export_function(const Strategy& strategy, const TensorFunction& function,
                                    const std::vector<FeatureSpec>& features, const std::string& export_dir_base,
                                    const ExportOptions& options = {});

}  // namespace tenon
