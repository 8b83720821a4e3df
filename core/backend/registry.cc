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
  std::vector<UnitInfo> units;  // of the default SPEC
};

// Names that stand for the best that there is.
bool is_choice(std::string_view device) { return device == "auto" || device == "tpu"; }

ResolvedDevice resolved(const std::string& device, const std::vector<UnitInfo>& units) {
  const UnitInfo& first = units.front();
  const auto together = [&](const UnitInfo& u) { return u.domain == first.domain; };
  return {
      device, first.kind, static_cast<int>(std::count_if(units.begin(), units.end(), together)), first.emulated, {}};
}

class Chooser {
 public:
  void add(const Candidate& candidate) {
    const Result<const LoadedBackend*> loaded = load_backend(candidate.name, candidate.path);
    if (!loaded.ok()) return explain(candidate.path, loaded.status());
    const Result<std::vector<UnitInfo>> units = enumerate_units(**loaded, "");
    if (!units.ok()) return explain(candidate.path, units.status());
    const UnitInfo& first = units->front();
    found_.push_back(cat(candidate.name, first.emulated ? " (emulated: only by name)" : cat(" (", first.kind, ")")));
    if (const int rank = rank_of(first)) choices_.push_back({rank, *loaded, *units});
  }

  Result<ResolvedDevice> best(const SearchPath& search) {
    sort();
    if (choices_.empty()) return nothing(search);
    ResolvedDevice out = resolved(choices_[0].backend->name, choices_[0].units);
    out.searched = cat("looked for a TPU, a GPU, a CPU; found ", join(found_));
    return out;
  }

  // The first that opens, best first.
  Result<std::shared_ptr<Device>> open(const SearchPath& search) {
    sort();
    for (const Choice& choice : choices_) {
      Result<std::shared_ptr<Device>> device = open_units(*choice.backend, "");
      if (device.ok()) return device;
      explain(choice.backend->path, device.status());
    }
    return nothing(search);
  }

 private:
  void sort() {
    std::stable_sort(choices_.begin(), choices_.end(),
                     [](const Choice& a, const Choice& b) { return a.rank > b.rank; });
  }
  Status nothing(const SearchPath& search) const {
    return Status(Code::kUnavailable, cat("device 'auto': no usable backend in ", join(search.directories),
                                          causes_.empty() ? "" : "; ", join(causes_, "; ")));
  }
  void explain(const std::string& path, const Status& status) { causes_.push_back(cat(path, ": ", status.message())); }

  std::vector<Choice> choices_;
  std::vector<std::string> causes_, found_;
};

Chooser choices(const SearchPath& search) {
  std::vector<Refusal> ignored;
  Chooser chooser;
  for (const Candidate& candidate : find_candidates(search, &ignored)) chooser.add(candidate);
  return chooser;
}

// NAME[:SPEC]
struct Named {
  explicit Named(std::string_view device)
      : name(device.substr(0, device.find(':'))), spec(device.substr(std::min(name.size() + 1, device.size()))) {}
  std::string_view name;
  std::string spec;
};

Status with_device(std::string_view device, const std::string& spec, const Status& status) {
  return spec.empty() ? status : Status(status.code(), cat("device '", one_line(device), "': ", status.message()));
}

}  // namespace

Result<ResolvedDevice> resolve_device(std::string_view device) {
  if (is_choice(device)) {
    const SearchPath search = search_path();
    return choices(search).best(search);
  }
  const Named named(device);
  TENON_ASSIGN(const LoadedBackend* backend, load_by_name(named.name));
  const Result<std::vector<UnitInfo>> units = enumerate_units(*backend, named.spec);
  if (!units.ok()) return with_device(device, named.spec, units.status());
  return resolved(std::string(device), *units);
}

Result<std::shared_ptr<Device>> open_device(std::string_view device) {
  if (is_choice(device)) {
    const SearchPath search = search_path();
    return choices(search).open(search);
  }
  const Named named(device);
  TENON_ASSIGN(const LoadedBackend* backend, load_by_name(named.name));
  Result<std::shared_ptr<Device>> opened = open_units(*backend, named.spec);
  if (opened.ok()) return opened;
  return with_device(device, named.spec, opened.status());
}

}  // namespace tenon
