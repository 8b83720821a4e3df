// What is asked of a model: tensors; classes with their scores; one number an example.
#pragma once

#include <cstdint>
#include <vector>

#include "server/served_model.h"

namespace tenon::server {

enum class RequestMethod : uint8_t { kPredict, kClassify, kRegress };

// kInvalid: the signature cannot answer it: classes need an output "scores" or "probabilities" with a number a class, a regression one
// output with one number. As TF Serving by itself, it does not look at the signature's method_name.
Status check_method(const ServingSignature& signature, RequestMethod method);

// What the method answers with, among what the signature gave. REQUIRED: check_method.
const Array& class_scores(const ServingSignature& signature, const Arrays& outputs);
std::vector<float> regression_values(const ServingSignature& signature, const Arrays& outputs);

}  // namespace tenon::server
