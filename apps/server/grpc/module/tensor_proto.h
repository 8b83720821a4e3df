// TensorFlow's protobuf of a tensor.
#pragma once

#include "prediction_service.pb.h"
#include "server/grpc/grpc_server.h"

namespace tenon::server {

namespace proto = ::tensorflow::serving;

// "": well; else what is wrong. Nothing is allocated that has more than *budget bytes, which it lessens.
std::string read_tensor(const proto::TensorProto& from, int64_t* budget, GrpcTensor* to);
// Elements stand in the list of their type, as TF Serving writes them.
void write_tensor(const GrpcTensor& from, proto::TensorProto* to);

}  // namespace tenon::server
