// What the gRPC interface answers: predictions, classes, regressions, metadata and states of the models, in TF Serving's words; and other
// models in their place.
#pragma once

#include <string>

#include "server/grpc/grpc_server.h"
#include "server/http/tokens.h"
#include "server/json/requests.h"
#include "server/models/served_models.h"
#include "server/text/text_batcher.h"
#include "tenon/text.h"

namespace tenon::server {

struct GrpcApiOptions {
  Tokens tokens = {};
  std::chrono::milliseconds request_timeout{30000};
  RequestLimits limits = {};
  std::string reload_root = {};  // directory below which models may lie that a call of reload() names; empty: none may
};

class GrpcApi : public GrpcHandler {
 public:
  // `models` and `texts` outlive it; the last may be nullptr.
  GrpcApi(ServedModels* models, GrpcApiOptions options, const TextModels* texts = nullptr)
      : models_(models), options_(std::move(options)), texts_(texts) {}

  bool allow(std::string_view authorization) const override { return options_.tokens.allow(authorization); }
  std::string shown(std::string_view message) const override { return terminal_text(message); }
  void predict(GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done) override;
  void infer(GrpcInference&& request, std::function<void(GrpcResults&&)> done) override;
  void reload(std::vector<GrpcModelConfig>&& models, std::function<void(GrpcStatus)> done) override;
  GrpcMetadata metadata(const GrpcModel& model) const override;
  GrpcStates states(const GrpcModel& model) const override;

 private:
  void write_texts(TextBatcher& batcher, GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done);
  TextBatcher* texts_of(const std::string& model) const;
  Result<ModelConfig> config_of(const GrpcModelConfig& asked) const;
  Clock::time_point deadline() const { return Clock::now() + options_.request_timeout; }

  ServedModels* const models_;
  const GrpcApiOptions options_;
  const TextModels* const texts_;
};

}  // namespace tenon::server
