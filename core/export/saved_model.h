// TensorFlow's graph of an exported model: the bytes of saved_model.pb (tensorflow/core/protobuf/saved_model.proto; share/proto/
// saved_model.proto has the part of it that is written).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "export/portable_graph.h"
#include "tenon/exported_model.h"

namespace tenon {

struct SavedModelContents {
  const PortableGraph& graph;  // of tensors; its results are named "KEY/OUTPUT", or as the signatures' `tensor` says
  const std::vector<ServingSignature>& signatures;
  const std::optional<ExportedImages>& images;  // of inputs of kind kImage
  const std::vector<std::string>& labels;       // of outputs of kind kLabel
  // The values of variables, where they become constants; none: they are restored from variables/variables, by their names.
  std::function<Result<Array>(const std::string& variable)> frozen = {};
};

// What TensorFlow has no op for is one error that lists all nodes and why. With more than 2 GB of constants: an error.
Result<std::string> saved_model(const SavedModelContents& contents);

}  // namespace tenon
