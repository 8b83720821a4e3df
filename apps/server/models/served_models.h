// All models of a server, and the thread that looks for their new versions.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "server/models/model_versions.h"

namespace tenon::server {

class ServedModels {
 public:
  // Loads what there is. kInvalid: two models have one name.
  static Result<std::unique_ptr<ServedModels>> open(const std::vector<ModelConfig>& configs, const ModelLoader& loader,
                                                    const BatchOptions& batching, Metrics* metrics,
                                                    const ServerLog& log);
  ~ServedModels();  // as those of ModelVersions

  // From now on their directories are looked at so often.
  void watch(std::chrono::milliseconds every);

  // Thread safe; nullptr when there is none of that name.
  ModelVersions* find(std::string_view name) const;
  const std::vector<std::unique_ptr<ModelVersions>>& all() const { return models_; }
  // Whether each model has a version that answers.
  bool ready() const;

 private:
  ServedModels() = default;
  std::vector<std::unique_ptr<ModelVersions>> models_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread watcher_;
};

}  // namespace tenon::server
