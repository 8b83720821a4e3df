// The versions of one model that are served: which are there, which one a request gets, and how they come and go.
//
// The newest versions that can be loaded are served. A new one is loaded beside the old ones; from then on requests get it, and an old
// one is dropped after its last request. One that cannot be loaded, as it is damaged or only half there, costs a line of the log
// and is tried again when its files change; the others go on.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/models/batcher.h"

namespace tenon::server {

// Whether it can be a part of an address.
bool is_model_name(std::string_view name);

struct ModelConfig {
  std::string name;
  std::string base_path;                       // where its versions lie (base_path.h)
  int newest = 1;                              // versions that are served; 0: all
  std::set<int64_t> only = {};                 // where there are any: of these alone
  std::map<std::string, int64_t> labels = {};  // of versions
  double canary =
      0;  // > 0: of the requests that name no version, the share that the newest gets; the others get the one before it
  bool operator==(const ModelConfig&) const = default;
};

struct LoadedVersion {
  LoadedVersion(int64_t n, std::unique_ptr<ServedModel> model, const BatchOptions& options,
                const std::shared_ptr<VersionMetrics>& m)
      : number(n), metrics(m), batcher(std::move(model), options, m) {}
  const int64_t number;
  const std::shared_ptr<VersionMetrics> metrics;
  Batcher batcher;
};

// Which version a request wants: that of the number, that of the label, or any.
struct VersionChoice {
  std::optional<int64_t> number = {};
  std::string label = {};
};

// TF Serving's.
enum class VersionState : uint8_t { kStart, kLoading, kAvailable, kUnloading, kEnd };
const char* state_name(VersionState state);  // "AVAILABLE"

struct VersionStatus {
  int64_t number = 0;
  VersionState state = VersionState::kStart;
  Status error = {};
};

// What a server tells its people, one line each. Thread safe.
using ServerLog = std::function<void(const std::string&)>;

class ModelVersions {
 public:
  ModelVersions(ModelConfig config, ModelLoader loader, const BatchOptions& batching, Metrics* metrics, ServerLog log);
  // Ends the batchers: versions that somebody still has answer no more.
  ~ModelVersions();

  const ModelConfig& config() const { return config_; }
  // Looks at the base path once: loads what is new, drops what is not needed. One thread at a time.
  void poll();
  // Drops what has had its last request. poll() does it too.
  void drop_unused();
  // From now on no request gets a version; poll() does no more than drop_unused().
  void retire();
  bool dropped() const;  // all that was retired

  // The rest is thread safe. kUnavailable: there is no such version.
  Result<std::shared_ptr<LoadedVersion>> find(const VersionChoice& choice) const;
  // Newest first; of versions that have ended the last 16.
  std::vector<VersionStatus> states() const;

 private:
  // A version that could not be loaded.
  struct Failure {
    uint64_t loaded_files = 0, seen_files = 0;  // fingerprints: of what was tried, and at the last look
    std::string message;
  };
  using Versions = std::map<int64_t, std::shared_ptr<LoadedVersion>, std::greater<>>;

  std::shared_ptr<LoadedVersion> load(int64_t number, const std::string& path);
  bool worth_trying(int64_t number, const std::string& path);
  void serve(Versions wanted);
  std::string label_complaint() const;
  std::string served_text() const;
  void tell(std::string* last, std::string complaint) const;
  void set_state(int64_t number, VersionState state, Status error = {});
  const std::shared_ptr<LoadedVersion>* pick() const;

  const ModelConfig config_;
  const ModelLoader loader_;
  const BatchOptions batching_;
  Metrics* const metrics_;
  const ServerLog log_;
  std::map<int64_t, Failure> failures_;
  std::string last_complaint_, last_label_complaint_;
  bool retiring_ = false;

  mutable std::mutex mutex_;
  Versions served_;
  std::vector<std::shared_ptr<LoadedVersion>> retired_;  // until their last request
  std::map<int64_t, VersionStatus, std::greater<>> states_;
  mutable std::atomic<uint64_t> picks_ = 0;
};

}  // namespace tenon::server
