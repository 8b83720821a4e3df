// What the gRPC interface answers: predictions, metadata and states of the models, in TF Serving's words.
#pragma once

#include "server/grpc/grpc_server.h"
#include "server/http/tokens.h"
#include "server/json/requests.h"
#include "server/models/served_models.h"

namespace tenon::server {

class GrpcApi : public GrpcHandler {
 public:
  // `models` and `tokens` outlive it.
  GrpcApi(const ServedModels* models, const Tokens* tokens, std::chrono::milliseconds request_timeout,
          const RequestLimits& limits)
      : models_(models), tokens_(tokens), request_timeout_(request_timeout), limits_(limits) {}

  bool allow(std::string_view authorization) const override { return tokens_->allow(authorization); }
  void predict(GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done) override;
  GrpcMetadata metadata(const GrpcModel& model) const override;
  GrpcStates states(const GrpcModel& model) const override;

 private:
  Result<std::shared_ptr<LoadedVersion>> find(const GrpcModel& model) const;
  const ServedModels* models_;
  const Tokens* tokens_;
  const std::chrono::milliseconds request_timeout_;
  const RequestLimits limits_;
};

}  // namespace tenon::server
