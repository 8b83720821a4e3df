#include "backend/registry.h"

#include <algorithm>

#include "backend/abi.h"
#include "backend/loader.h"
#include "backend/search_path.h"
#include "backend/units.h"
#include "base/text.h"

namespace tenon {
namespace {

// 0: never chosen.
int rank_of(const UnitInfo& unit) {
  if (unit.emulated) return 0;
  return unit.kind == "accelerator" ? 3 : unit.kind == "gpu" ? 2 : 1;
}

struct Choice {
  int rank;
  const LoadedBackend* backend;
};

class Chooser {
 public:
  void add(const Candidate& candidate) {
    const Result<const LoadedBackend*> loaded = load_backend(candidate.name, candidate.path);
    if (!loaded.ok()) return explain(candidate.path, loaded.status());
    const Result<std::vector<UnitInfo>> units = enumerate_units(**loaded, "");
    if (!units.ok()) return explain(candidate.path, units.status());
    if (const int rank = rank_of(units->front())) choices_.push_back({rank, *loaded});
  }

  // The first that opens, best first.
  Result<std::shared_ptr<Device>> open(const SearchPath& search) {
    std::stable_sort(choices_.begin(), choices_.end(),
                     [](const Choice& a, const Choice& b) { return a.rank > b.rank; });
    for (const Choice& choice : choices_) {
      Result<std::shared_ptr<Device>> device = open_units(*choice.backend, "");
      if (device.ok()) return device;
      explain(choice.backend->path, device.status());
    }
    return Status(Code::kUnavailable, cat("device 'auto': no usable backend in ", join(search.directories),
                                          causes_.empty() ? "" : "; ", join(causes_, "; ")));
  }

 private:
  void explain(const std::string& path, const Status& status) { causes_.push_back(cat(path, ": ", status.message())); }

  std::vector<Choice> choices_;
  std::vector<std::string> causes_;
};

Result<std::shared_ptr<Device>> open_best() {
  const SearchPath search = search_path();
  std::vector<Refusal> ignored;
  Chooser chooser;
  for (const Candidate& candidate : find_candidates(search, &ignored)) chooser.add(candidate);
  return chooser.open(search);
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(std::string_view device) {
  const size_t colon = std::min(device.find(':'), device.size());
  const std::string_view name = device.substr(0, colon);
  const std::string spec(device.substr(std::min(colon + 1, device.size())));
  if (name == "auto" && spec.empty()) return open_best();
  TENON_ASSIGN(const LoadedBackend* backend, load_by_name(name));
  Result<std::shared_ptr<Device>> opened = open_units(*backend, spec);
  if (opened.ok() || spec.empty()) return opened;
  return Status(opened.status().code(), cat("device '", one_line(device), "': ", opened.status().message()));
}

}  // namespace tenon
