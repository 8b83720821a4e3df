// gRPC's codes: https://grpc.github.io/grpc/core/md_doc_statuscodes.html
#pragma once

#include <string>

#include "server/grpc/grpc_server.h"

namespace tenon::server {

enum GrpcCode : int {
  kGrpcCancelled = 1,
  kGrpcInvalidArgument = 3,
  kGrpcDeadlineExceeded = 4,
  kGrpcNotFound = 5,
  kGrpcPermissionDenied = 7,
  kGrpcResourceExhausted = 8,
  kGrpcUnimplemented = 12,
  kGrpcInternal = 13,
  kGrpcUnavailable = 14
};

GrpcStatus grpc_status(const Status& status);
inline GrpcStatus grpc_not_found(const Status& status) { return {kGrpcNotFound, status.message()}; }
inline GrpcStatus grpc_too_busy() { return {kGrpcResourceExhausted, "the queue of the model is full"}; }

// The version that answers, as it is told to who asked.
inline GrpcModel told(GrpcModel model, int64_t version) {
  model.version = version;
  if (model.signature.empty()) model.signature = "serving_default";
  return model;
}
inline Status no_signature(const std::string& key) {
  return Status(Code::kInvalid, "Serving signature name: \"" + key + "\" not found in signature def");
}

}  // namespace tenon::server
