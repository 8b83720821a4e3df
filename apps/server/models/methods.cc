#include "server/models/methods.h"

namespace tenon::server {
namespace {

const ServingValue* scores_of(const ServingSignature& signature) {
  for (const char* const name : {"scores", "probabilities"})
    for (const ServingValue& output : signature.outputs)
      if (output.name == name && output.kind == ServingValue::Kind::kTensor && output.type.shape.rank() == 1 &&
          is_float(output.type.dtype))
        return &output;
  return nullptr;
}

bool regresses(const ServingSignature& signature) {
  return signature.outputs.size() == 1 && signature.outputs[0].kind == ServingValue::Kind::kTensor &&
         signature.outputs[0].type.shape.elements() == 1;
}

}  // namespace

Status check_method(const ServingSignature& signature, RequestMethod method) {
  const auto lacks = [&](const char* what) {
    return Status(Code::kInvalid, "the signature \"" + signature.key + "\" " + what);
  };
  if (method == RequestMethod::kClassify && !scores_of(signature))
    return lacks("has no output 'scores' or 'probabilities' with a number a class");
  if (method == RequestMethod::kRegress && !regresses(signature)) return lacks("has more than one number an example");
  return {};
}

const Array& class_scores(const ServingSignature& signature, const Arrays& outputs) {
  return outputs.at(scores_of(signature)->tensor);
}

std::vector<float> regression_values(const ServingSignature& signature, const Arrays& outputs) {
  return outputs.at(signature.outputs[0].tensor).to<float>();
}

}  // namespace tenon::server
