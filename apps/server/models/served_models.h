// All models of a server. Each has a thread of its own that loads its versions and looks for new ones: one whose load takes long does not
// hold up the others.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "server/models/model_versions.h"

namespace tenon::server {

class WatchedModel;

class ServedModels {
 public:
  // Loads what there is, and returns when each model has been tried. kInvalid: two models have one name.
  static Result<std::unique_ptr<ServedModels>> open(const std::vector<ModelConfig>& configs, ModelLoader loader,
                                                    const BatchOptions& batching, Metrics* metrics, ServerLog log);
  ~ServedModels();  // as those of ModelVersions

  // From now on their directories are looked at so often.
  void watch(std::chrono::milliseconds every);

  // Other models in place of those that there are. One that stays as it was goes on; another is loaded first, beside those that it
  // replaces, and those leave after their last requests. `done` is called once, by any thread: kInvalid: a model is named twice, or
  // has no version that can be loaded; kUnavailable: another change goes on. Then nothing has changed. Thread safe.
  void replace(const std::vector<ModelConfig>& configs, std::function<void(Status)> done);

  // These are thread safe. nullptr when there is none of that name.
  std::shared_ptr<ModelVersions> find(std::string_view name) const;
  // The version that a request gets. kUnavailable: there is none.
  Result<std::shared_ptr<LoadedVersion>> find(std::string_view name, const VersionChoice& choice) const;
  std::vector<std::shared_ptr<ModelVersions>> all() const;
  // Whether each model has a version that answers.
  bool ready() const;

 private:
  using Models = std::vector<std::unique_ptr<WatchedModel>>;

  ServedModels(ModelLoader loader, const BatchOptions& batching, Metrics* metrics, ServerLog log);
  std::unique_ptr<WatchedModel> make(const ModelConfig& config) const;
  Status change(const std::vector<ModelConfig>& configs);

  const ModelLoader loader_;
  const BatchOptions batching_;
  Metrics* const metrics_;
  const ServerLog log_;
  mutable std::mutex mutex_;  // of these
  std::chrono::milliseconds every_{0};
  Models models_;
  Models leaving_;  // until their last requests
  bool changing_ = false;
  std::thread changer_;
};

}  // namespace tenon::server
