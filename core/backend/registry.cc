#include "backend/registry.h"

#include <algorithm>

#include "backend/abi.h"
#include "backend/load/loader.h"
#include "backend/load/search_path.h"
#include "backend/units.h"
#include "base/process/job.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr int kBest = 3;

// 0: never chosen.
int rank_of(const UnitInfo& unit) {
  if (unit.emulated) return 0;
  return unit.kind == "accelerator" ? kBest : unit.kind == "gpu" ? 2 : 1;
}

// 0: no kind.
int rank_of_kind(std::string_view name) { return name == "tpu" ? kBest : name == "gpu" ? 2 : name == "cpu" ? 1 : 0; }

struct Choice {
  int rank;
  Candidate backend;
  std::vector<UnitInfo> units;  // of the default SPEC
};

// Why a backend was not taken.
struct Cause {
  std::string path, text;
  int rank;  // of its units
};

const Use kAnyDevice{"", Use::kUnlessEmulated};

ResolvedDevice resolved(const std::string& device, const std::vector<UnitInfo>& units) {
  const UnitInfo& first = units.front();
  const auto together = [&](const UnitInfo& u) { return u.domain == first.domain; };
  const auto own = static_cast<int>(std::count_if(units.begin(), units.end(), together));
  return {device, first.kind, own * job().count, first.emulated, {}};
}

class Chooser {
 public:
  void add(const Candidate& candidate, const Result<Sighting>& seen) {
    if (!seen.ok()) return explain(candidate.path, seen.status());
    if (!seen->enumerated.ok()) return explain(candidate.path, seen->enumerated);
    const Result<std::vector<UnitInfo>> units = describe_units(candidate.name, seen->units);
    if (!units.ok()) return explain(candidate.path, units.status());
    const UnitInfo& first = units->front();
    found_.push_back(cat(candidate.name, first.emulated ? " (emulated: only by name)" : cat(" (", first.kind, ")")));
    if (!seen->opened.ok()) return explain(candidate.path, seen->opened, rank_of(first));
    if (const int rank = rank_of(first)) choices_.push_back({rank, candidate, *units});
  }

  Result<ResolvedDevice> best(const SearchPath& search) {
    sort();
    if (choices_.empty()) return nothing(search);
    ResolvedDevice out = resolved(choices_[0].backend.name, choices_[0].units);
    out.searched = cat("looked for a TPU, a GPU, a CPU; found ", join(found_));
    for (const Cause& c : causes_) out.passed_over.push_back({c.path, c.text, c.rank <= choices_[0].rank});
    return out;
  }

  // The best of one rank.
  Result<ResolvedDevice> best_of(int rank) const {
    for (const Choice& c : choices_)
      if (c.rank == rank) return resolved(c.backend.name, c.units);
    return Status(Code::kUnavailable, "there is none");
  }
  std::string found() const { return join(found_); }

  // The first that opens, best first.
  Result<std::shared_ptr<Device>> open(const SearchPath& search) {
    sort();
    for (const Choice& choice : choices_) {
      Result<std::shared_ptr<Device>> device = open_choice(choice.backend);
      if (device.ok()) return device;
      explain(choice.backend.path, device.status());
    }
    return nothing(search);
  }

 private:
  static Result<std::shared_ptr<Device>> open_choice(const Candidate& candidate) {
    TENON_ASSIGN(const LoadedBackend* backend, load_backend(candidate.name, candidate.path, kAnyDevice));
    return open_units(*backend, "");
  }
  void sort() {
    std::stable_sort(choices_.begin(), choices_.end(),
                     [](const Choice& a, const Choice& b) { return a.rank > b.rank; });
  }
  Status nothing(const SearchPath& search) const {
    std::string text = cat("device 'auto': no usable backend in ", join(search.directories));
    for (const Cause& c : causes_) text += cat("; ", c.path, ": ", c.text);
    return Status(Code::kUnavailable, std::move(text));
  }
  // Nobody knows how good unseen units are: a backend that broke the contract may have had the best.
  void explain(const std::string& path, const Status& status) {
    explain(path, status, status.code() == Code::kUnavailable ? 0 : kBest + 1);
  }
  void explain(const std::string& path, const Status& status, int rank) {
    causes_.push_back({path, status.message(), rank});
  }

  std::vector<Choice> choices_;
  std::vector<Cause> causes_;
  std::vector<std::string> found_;
};

Chooser choices(const SearchPath& search) {
  std::vector<Refusal> ignored;
  Chooser chooser;
  const std::vector<Candidate> candidates = find_candidates(search, &ignored);
  const std::vector<Result<Sighting>> seen = see_backends(candidates, kAnyDevice);
  for (size_t i = 0; i < candidates.size(); ++i) chooser.add(candidates[i], seen[i]);
  return chooser;
}

// NAME[:SPEC]
struct Named {
  explicit Named(std::string_view device)
      : name(device.substr(0, device.find(':'))), spec(device.substr(std::min(name.size() + 1, device.size()))) {}
  std::string_view name;
  std::string spec;
};

}  // namespace

Result<ResolvedDevice> resolve_device(std::string_view device) {
  if (is_choice(device)) {
    const SearchPath search = search_path();
    return choices(search).best(search);
  }
  const Named named(device);
  TENON_ASSIGN(const LoadedBackend* backend, load_by_name(named.name, {named.spec, Use::kDevice}));
  const Result<std::vector<UnitInfo>> units = enumerate_units(*backend, named.spec);
  if (!units.ok()) return with_device(named.name, named.spec, units.status());
  return resolved(std::string(device), *units);
}

Result<ResolvedDevice> resolve_device(std::initializer_list<std::string_view> wanted) {
  const std::vector<std::string_view> names(wanted);
  const Chooser here = choices(search_path());
  const std::string searched = cat("looked for ", join(names), "; found ", here.found());
  std::vector<Refusal> passed_over;
  for (const std::string_view name : names) {
    const int rank = rank_of_kind(name);
    Result<ResolvedDevice> device = rank > 0 ? here.best_of(rank) : resolve_device(name);
    if (device.ok()) {
      device->searched = searched;
      device->passed_over = std::move(passed_over);
      return device;
    }
    if (device.status().code() != Code::kUnavailable) return device;
    passed_over.push_back({std::string(name), device.status().message(), rank > 0});
  }
  std::string text = searched;
  for (const Refusal& r : passed_over) text += cat("; ", r.path, ": ", r.cause);
  return Status(Code::kUnavailable, std::move(text));
}

Result<std::shared_ptr<Device>> open_device(std::string_view device) {
  if (is_choice(device)) {
    const SearchPath search = search_path();
    Result<std::shared_ptr<Device>> opened = choices(search).open(search);
    drop_copies();
    return opened;
  }
  const Named named(device);
  TENON_ASSIGN(const LoadedBackend* backend, load_by_name(named.name, {named.spec, Use::kDevice}));
  Result<std::shared_ptr<Device>> opened = open_units(*backend, named.spec);
  if (opened.ok()) return opened;
  return with_device(named.name, named.spec, opened.status());
}

}  // namespace tenon
