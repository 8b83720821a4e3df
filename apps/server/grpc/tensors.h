// TensorFlow's tensors and those of a signature.
#pragma once

#include "server/grpc/grpc_server.h"
#include "server/json/requests.h"
#include "tenon/tensorflow_types.h"

namespace tenon::server {

// The tensors of the signature's inputs, all with as many rows; files of images are decoded. kInvalid names the input.
Result<Arrays> signature_inputs(GrpcTensors&& given, const ServingSignature& signature, const ServedModel& model,
                                const RequestLimits& limits, int64_t* rows);

// The outputs of these names, all where there are none. kInvalid: the signature has no such output.
Result<GrpcTensors> signature_outputs(const Arrays& outputs, const ServingSignature& signature,
                                      const ServedModel& model, const std::vector<std::string>& names);

// Types of a signature's values; the first size, that of the rows, is -1.
GrpcTensors value_types(const std::vector<ServingValue>& values);

}  // namespace tenon::server
