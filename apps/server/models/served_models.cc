#include "server/models/served_models.h"

#include <algorithm>

namespace tenon::server {

Result<std::unique_ptr<ServedModels>> ServedModels::open(const std::vector<ModelConfig>& configs,
                                                         const ModelLoader& loader, const BatchOptions& batching,
                                                         Metrics* metrics, const ServerLog& log) {
  std::unique_ptr<ServedModels> out(new ServedModels);
  for (const ModelConfig& config : configs) {
    if (out->find(config.name)) return Status(Code::kInvalid, "two models have the name '" + config.name + "'");
    out->models_.push_back(std::make_unique<ModelVersions>(config, loader, batching, metrics, log));
  }
  for (const auto& model : out->models_) model->poll();
  return out;
}

ServedModels::~ServedModels() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

void ServedModels::watch(std::chrono::milliseconds every) {
  watcher_ = std::thread([this, every] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, every, [this] { return ending_; })) {
      lock.unlock();
      for (const auto& model : models_) model->poll();
      lock.lock();
    }
  });
}

ModelVersions* ServedModels::find(std::string_view name) const {
  for (const auto& model : models_)
    if (model->config().name == name) return model.get();
  return nullptr;
}

bool ServedModels::ready() const {
  return std::all_of(models_.begin(), models_.end(), [](const auto& model) { return model->find({}).ok(); });
}

}  // namespace tenon::server
