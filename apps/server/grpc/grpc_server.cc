#include "server/grpc/grpc_server.h"

#include "tenon/part.h"

namespace tenon::server {

Result<std::unique_ptr<GrpcServer>> start_grpc(const GrpcOptions& options, GrpcHandler* handler) {
  TENON_ASSIGN(const Part part, Part::open({"server/grpc", "gRPC", "tenon-server", "libgrpc++-dev"}));
  const auto version = part.function<tenon_grpc_version_fn>("tenon_grpc_version");
  const auto start = part.function<tenon_grpc_start_fn>("tenon_grpc_start");
  if (!version || !start || version() != kGrpcVersion) return part.other_version();
  std::string why;
  std::unique_ptr<GrpcServer> server(start(&options, handler, &why));
  if (!server) return Status(Code::kUnavailable, why);
  return server;
}

}  // namespace tenon::server
