// HandleReloadConfigRequest: other models while the server answers.
#include <algorithm>
#include <filesystem>

#include "server/grpc/grpc_api.h"
#include "server/grpc/grpc_status.h"
#include "server/models/base_path.h"

namespace tenon::server {
namespace {

namespace fs = std::filesystem;

// Whether `path` is `root`, or lies below it, when all links are followed.
bool lies_below(const std::string& path, const std::string& root) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error) return false;
  const fs::path top = fs::canonical(root, error);
  return !error && std::mismatch(top.begin(), top.end(), whole.begin(), whole.end()).first == top.end();
}

}  // namespace

Result<ModelConfig> GrpcApi::config_of(const GrpcModelConfig& asked) const {
  const auto wrong = [&](const std::string& what) {
    return Status(Code::kInvalid, "model '" + asked.name + "': " + what);
  };
  if (!is_model_name(asked.name)) return wrong("that is no name of a model: it becomes a part of addresses");
  if (texts_of(asked.name)) return wrong("a model of text has that name");
  if (!asked.platform.empty() && asked.platform != "tensorflow")
    return wrong("model_platform is '" + asked.platform + "', expected tensorflow");
  if (!lies_below(asked.base_path, options_.reload_root) || !is_base_path(asked.base_path))
    return wrong("base_path '" + asked.base_path + "' is no directory or file in '" + options_.reload_root +
                 "', which --allow_reload_config names");
  if (asked.newest < 0) return wrong("the number of versions is negative");
  ModelConfig out{.name = asked.name, .base_path = asked.base_path, .newest = 1};
  out.newest = static_cast<int>(std::min<int64_t>(asked.newest, INT32_MAX));
  out.only.insert(asked.only.begin(), asked.only.end());
  if (!out.only.empty()) out.newest = 0;
  out.labels = asked.labels;
  return out;
}

void GrpcApi::reload(std::vector<GrpcModelConfig>&& models, std::function<void(GrpcStatus)> done) {
  if (options_.reload_root.empty())
    return done({kGrpcPermissionDenied,
                 "the models are those that the server was started with: it has no --allow_reload_config"});
  std::vector<ModelConfig> configs;
  for (const GrpcModelConfig& model : models) {
    Result<ModelConfig> config = config_of(model);
    if (!config.ok()) return done(grpc_status(config.status()));
    configs.push_back(config.take());
  }
  models_->replace(configs, [done = std::move(done)](const Status& status) { done(grpc_status(status)); });
}

}  // namespace tenon::server
