// Examples of TensorFlow, as Classify, Regress and MultiInference bring them.
#pragma once

#include <string>
#include <vector>

#include "server/json/requests.h"

namespace tenon::server {

// The tensors of the signature's inputs: each is the feature of its name, with as many values as an example of it has. Floats are a
// FloatList, integers and bools an Int64List, files of images a BytesList. kInvalid names the example and the input.
Result<Arrays> example_inputs(const std::vector<std::string>& examples, const ServingSignature& signature,
                              const ServedModel& model, const RequestLimits& limits);

}  // namespace tenon::server
