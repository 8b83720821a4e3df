#include "server/models/model_versions.h"

#include <algorithm>
#include <utility>

#include "server/models/base_path.h"
#include "server/models/files_fingerprint.h"

namespace tenon::server {
namespace {

constexpr size_t kKeptStates = 16;

std::string label_text(const std::string& label, int64_t number) {
  return "the label '" + label + "' names version " + std::to_string(number);
}
std::string shown(const std::string& model, int64_t number) { return model + " " + std::to_string(number); }

}  // namespace

bool is_model_name(std::string_view name) { return !name.empty() && name.find_first_of("/:% ?#") == name.npos; }

const char* state_name(VersionState state) {
  switch (state) {
    case VersionState::kStart:
      return "START";
    case VersionState::kLoading:
      return "LOADING";
    case VersionState::kAvailable:
      return "AVAILABLE";
    case VersionState::kUnloading:
      return "UNLOADING";
    case VersionState::kEnd:
      break;
  }
  return "END";
}

ModelVersions::ModelVersions(ModelConfig config, ModelLoader loader, const BatchOptions& batching, Metrics* metrics,
                             ServerLog log)
    : config_(std::move(config)),
      loader_(std::move(loader)),
      batching_(batching),
      metrics_(metrics),
      log_(std::move(log)) {}

ModelVersions::~ModelVersions() {
  for (const auto& [number, version] : served_) version->batcher.end();
  for (const auto& version : retired_) version->batcher.end();
}

void ModelVersions::set_state(int64_t number, VersionState state, Status error) {
  const std::lock_guard lock(mutex_);
  states_[number] = {number, state, std::move(error)};
  size_t ended = 0;
  for (auto it = states_.begin(); it != states_.end();)
    it = it->second.state == VersionState::kEnd && ++ended > kKeptStates ? states_.erase(it) : std::next(it);
}

// What failed before is tried again when its files are others, and have not changed since the last look: a copy may be going on.
bool ModelVersions::worth_trying(int64_t number, const std::string& path) {
  const auto it = failures_.find(number);
  if (it == failures_.end()) return true;
  const uint64_t now = files_fingerprint(path);
  const bool still = std::exchange(it->second.seen_files, now) == now;
  return still && now != it->second.loaded_files;
}

std::shared_ptr<LoadedVersion> ModelVersions::load(int64_t number, const std::string& path) {
  set_state(number, VersionState::kLoading);
  const uint64_t files = files_fingerprint(path);
  Result<std::unique_ptr<ServedModel>> model = Status(Code::kInternal, "not loaded");
  try {
    model = loader_(path);
  } catch (const Error& e) {
    model = e.status();
  } catch (const std::exception& e) {
    model = Status(Code::kInternal, e.what());
  }
  if (!model.ok()) {
    Failure& failure = failures_[number];
    if (failure.message != model.status().message())
      log_(shown(config_.name, number) + " cannot be loaded: " + model.status().message());
    failure = {files, files, model.status().message()};
    set_state(number, VersionState::kEnd, model.status());
    return nullptr;
  }
  failures_.erase(number);
  log_(shown(config_.name, number) + " is loaded from " + path);
  return std::make_shared<LoadedVersion>(number, std::move(*model), batching_, metrics_->version(config_.name, number));
}

// A complaint is told once, until there is another one.
void ModelVersions::tell(std::string* last, std::string complaint) const {
  if (complaint == *last) return;
  *last = std::move(complaint);
  if (!last->empty()) log_(config_.name + ": " + *last);
}

// The versions that are served, as "2, 1"; "none". REQUIRED: the mutex is held.
std::string ModelVersions::served_text() const {
  std::string out;
  for (const auto& entry : served_) out += (out.empty() ? "" : ", ") + std::to_string(entry.first);
  return out.empty() ? "none" : out;
}

// Labels that name what is not served.
std::string ModelVersions::label_complaint() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [label, number] : config_.labels)
    if (!served_.contains(number))
      out += (out.empty() ? "" : "; ") + label_text(label, number) + ", which is not served";
  return out.empty() ? out : out + "; served: " + served_text();
}

void ModelVersions::retire() {
  const std::lock_guard lock(mutex_);
  retiring_ = true;
  for (const auto& [number, version] : served_) {
    retired_.push_back(version);
    states_[number].state = VersionState::kUnloading;
  }
  served_.clear();
}

bool ModelVersions::dropped() const {
  const std::lock_guard lock(mutex_);
  return retired_.empty();
}

void ModelVersions::poll() {
  drop_unused();
  if (const std::lock_guard lock(mutex_); retiring_) return;
  const Result<std::vector<ExportedVersion>> found = versions_at(config_.base_path);
  std::string complaint;
  if (!found.ok())
    complaint = found.status().message();
  else if (found->empty())
    complaint = "'" + config_.base_path + "' has no version: expected directories whose names are numbers";
  tell(&last_complaint_, complaint);
  if (!complaint.empty()) return;  // what was loaded goes on
  Versions wanted;
  for (const ExportedVersion& v : *found) {
    if (config_.newest > 0 && std::ssize(wanted) == config_.newest) break;
    if (!config_.only.empty() && !config_.only.contains(v.number)) continue;
    std::shared_ptr<LoadedVersion> version;
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = served_.find(v.number); it != served_.end()) version = it->second;
    }
    if (!version && worth_trying(v.number, v.path)) version = load(v.number, v.path);
    if (version) wanted.emplace(v.number, std::move(version));
  }
  std::erase_if(failures_, [&](const auto& failure) {
    return std::none_of(found->begin(), found->end(), [&](const auto& v) { return v.number == failure.first; });
  });
  if (!wanted.empty()) serve(std::move(wanted));
  tell(&last_label_complaint_, label_complaint());
}

void ModelVersions::serve(Versions wanted) {
  for (const auto& [number, version] : wanted) set_state(number, VersionState::kAvailable);  // before a request gets it
  std::vector<int64_t> leaving;
  {
    const std::lock_guard lock(mutex_);
    if (retiring_) return;  // it came too late
    for (const auto& [number, version] : served_)
      if (!wanted.contains(number)) retired_.push_back(version), leaving.push_back(number);
    served_ = std::move(wanted);
  }
  for (const int64_t number : leaving) set_state(number, VersionState::kUnloading);
  drop_unused();
}

// Nobody else can get one that is retired: that it is used no more does not change.
void ModelVersions::drop_unused() {
  std::vector<std::shared_ptr<LoadedVersion>> unused;
  {
    const std::lock_guard lock(mutex_);
    const auto used = std::stable_partition(retired_.begin(), retired_.end(),
                                            [](const auto& version) { return version.use_count() > 1; });
    std::move(used, retired_.end(), std::back_inserter(unused));
    retired_.erase(used, retired_.end());
  }
  for (auto& version : unused) {
    const int64_t number = version->number;
    version.reset();
    const std::lock_guard lock(mutex_);
    if (served_.contains(number)) continue;  // it came back meanwhile
    states_[number].state = VersionState::kEnd;
  }
}

// The version that a request gets that names none. REQUIRED: one is served; the mutex is held.
const std::shared_ptr<LoadedVersion>* ModelVersions::pick() const {
  auto it = served_.begin();
  if (config_.canary == 0 || served_.size() < 2) return &it->second;
  // Multiples of the golden ratio fall evenly: of any n requests the share is right within one or two.
  const double turn = static_cast<double>(picks_.fetch_add(1)) * 0.6180339887498949;
  if (turn - static_cast<double>(static_cast<uint64_t>(turn)) >= config_.canary) ++it;
  return &it->second;
}

Result<std::shared_ptr<LoadedVersion>> ModelVersions::find(const VersionChoice& choice) const {
  const std::lock_guard lock(mutex_);
  if (!choice.number && choice.label.empty()) {
    if (served_.empty())
      return Status(Code::kUnavailable, "Servable not found for request: Latest(" + config_.name + ")");
    return *pick();
  }
  int64_t number = choice.number.value_or(-1);
  if (!choice.label.empty()) {
    const auto label = config_.labels.find(choice.label);
    if (label == config_.labels.end())
      return Status(Code::kUnavailable, "Unrecognized servable version label: " + choice.label);
    number = label->second;
  }
  if (const auto it = served_.find(number); it != served_.end()) return it->second;
  std::string why = "Servable not found for request: Specific(" + config_.name + ", " + std::to_string(number) + ")";
  if (!choice.label.empty())
    why += "; " + label_text(choice.label, number) + ", which is not served; served: " + served_text();
  return Status(Code::kUnavailable, why);
}

std::vector<VersionStatus> ModelVersions::states() const {
  const std::lock_guard lock(mutex_);
  std::vector<VersionStatus> out;
  for (const auto& [number, status] : states_) out.push_back(status);
  return out;
}

}  // namespace tenon::server
