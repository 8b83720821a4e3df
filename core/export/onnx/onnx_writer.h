// A graph that is exported, as ONNX's (https://onnx.ai, operator set 18): the bytes of model.onnx.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "export/portable_graph.h"
#include "tenon/exported_model.h"

namespace tenon {

struct OnnxContents {
  const PortableGraph& graph;         // of tensors; its results are named as the signatures' `tensor` says
  const ServingSignature& signature;  // whose inputs and outputs are the model's; none is an image, labels are left out
  const std::vector<std::string>& labels;  // class names; the model says them in its metadata
  std::function<Result<Array>(const std::string& variable)> variable;  // none: the model lacks its weights
};

// What ONNX has no op for is one error that lists all nodes and why; a model of more than 2 GB is an error.
Result<std::string> onnx_model(const OnnxContents& contents);

}  // namespace tenon
