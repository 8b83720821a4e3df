#include "server/models/served_models.h"

#include <algorithm>
#include <condition_variable>
#include <set>
#include <utility>

namespace tenon::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeaveTime{20};  // between looks whether the last request is answered

Status check_names(const std::vector<ModelConfig>& configs) {
  std::set<std::string_view> names;
  for (const ModelConfig& config : configs)
    if (!names.insert(config.name).second)
      return Status(Code::kInvalid, "two models have the name '" + config.name + "'");
  return {};
}

}  // namespace

class WatchedModel {
 public:
  // Begins to load. every: 0: it looks once.
  WatchedModel(std::shared_ptr<ModelVersions> versions, milliseconds every)
      : versions_(std::move(versions)), every_(every), thread_([this] { run(); }) {}
  ~WatchedModel() {
    set([this] { ending_ = true; });
    thread_.join();
  }
  const std::shared_ptr<ModelVersions>& versions() const { return versions_; }
  void wait_until_tried() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tried_; });
  }
  void watch(milliseconds every) {
    set([&] { every_ = every; });
  }
  // No request gets it any more.
  void leave() {
    versions_->retire();
    watch(kLeaveTime);
  }

 private:
  template <class Change>
  void set(const Change& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }
  void run() {
    for (std::unique_lock lock(mutex_); !ending_;) {
      lock.unlock();
      versions_->poll();
      lock.lock();
      tried_ = true;
      changed_.notify_all();
      const milliseconds every = every_;
      const auto other = [&] { return ending_ || every_ != every; };
      every.count() > 0 ? void(changed_.wait_for(lock, every, other)) : changed_.wait(lock, other);
    }
  }

  const std::shared_ptr<ModelVersions> versions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  milliseconds every_;
  bool tried_ = false, ending_ = false;
  std::thread thread_;
};

ServedModels::ServedModels(ModelLoader loader, const BatchOptions& batching, Metrics* metrics, ServerLog log)
    : loader_(std::move(loader)), batching_(batching), metrics_(metrics), log_(std::move(log)) {}

std::unique_ptr<WatchedModel> ServedModels::make(const ModelConfig& config) const {
  return std::make_unique<WatchedModel>(std::make_shared<ModelVersions>(config, loader_, batching_, metrics_, log_),
                                        every_);
}

Result<std::unique_ptr<ServedModels>> ServedModels::open(const std::vector<ModelConfig>& configs, ModelLoader loader,
                                                         const BatchOptions& batching, Metrics* metrics,
                                                         ServerLog log) {
  TENON_TRY(check_names(configs));
  std::unique_ptr<ServedModels> out(new ServedModels(std::move(loader), batching, metrics, std::move(log)));
  for (const ModelConfig& config : configs) out->models_.push_back(out->make(config));
  for (const auto& model : out->models_) model->wait_until_tried();
  return out;
}

ServedModels::~ServedModels() {
  if (changer_.joinable()) changer_.join();
}

void ServedModels::watch(milliseconds every) {
  const std::lock_guard lock(mutex_);
  every_ = every;
  for (const auto& model : models_) model->watch(every);
}

void ServedModels::replace(const std::vector<ModelConfig>& configs, std::function<void(Status)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(changing_, true)) {
      if (changer_.joinable()) changer_.join();  // it has done what it had to do
      changer_ = std::thread([this, configs, done = std::move(done)] {
        const Status status = change(configs);
        {
          const std::lock_guard ends(mutex_);
          changing_ = false;
        }
        done(status);
      });
      return;
    }
  }
  done(Status(Code::kUnavailable, "another change of the models goes on"));
}

Status ServedModels::change(const std::vector<ModelConfig>& configs) {
  TENON_TRY(check_names(configs));
  Models fresh;  // nullptr: it stays
  {
    const std::lock_guard lock(mutex_);
    for (const ModelConfig& config : configs) {
      const bool same = std::any_of(models_.begin(), models_.end(),
                                    [&](const auto& model) { return model->versions()->config() == config; });
      fresh.push_back(same ? nullptr : make(config));
    }
  }
  for (const auto& model : fresh) {
    if (!model) continue;
    model->wait_until_tried();
    if (const auto& versions = *model->versions(); !versions.find({}).ok())
      return Status(Code::kInvalid, "the model " + versions.config().name + " has no version that can be loaded in '" +
                                        versions.config().base_path + "'; nothing was changed");
  }
  Models gone;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < configs.size(); ++i)
      for (auto& model : models_)
        if (!fresh[i] && model && model->versions()->config() == configs[i]) fresh[i] = std::move(model);
    for (auto& model : models_)
      if (model) gone.push_back(std::move(model));
    models_ = std::move(fresh);
  }
  std::string names;
  for (const ModelConfig& config : configs) names += (names.empty() ? "" : ", ") + config.name;
  log_("other models are served now: " + (names.empty() ? "none" : names));
  for (const auto& model : gone) model->leave();
  std::erase_if(leaving_, [](const auto& model) { return model->versions()->dropped(); });
  std::move(gone.begin(), gone.end(), std::back_inserter(leaving_));
  return {};
}

std::shared_ptr<ModelVersions> ServedModels::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& model : models_)
    if (model->versions()->config().name == name) return model->versions();
  return nullptr;
}

Result<std::shared_ptr<LoadedVersion>> ServedModels::find(std::string_view name, const VersionChoice& choice) const {
  for (std::shared_ptr<ModelVersions> model = find(name); model;) {
    auto version = model->find(choice);
    if (version.ok()) return version;
    if (auto now = find(name); now != model)
      model = std::move(now);  // it was replaced meanwhile
    else
      return version;
  }
  return Status(Code::kUnavailable, "Servable not found for request: Latest(" + std::string(name) + ")");
}

std::vector<std::shared_ptr<ModelVersions>> ServedModels::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ModelVersions>> out;
  for (const auto& model : models_) out.push_back(model->versions());
  return out;
}

bool ServedModels::ready() const {
  const auto models = all();
  return std::all_of(models.begin(), models.end(), [](const auto& model) { return model->find({}).ok(); });
}

}  // namespace tenon::server
