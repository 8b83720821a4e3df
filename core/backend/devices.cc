#include "tenon/devices.h"

#include <algorithm>

#include "backend/load/loader.h"
#include "backend/load/search_path.h"
#include "backend/units.h"

namespace tenon {
namespace {

// A backend without units here, or whose device cannot be opened, is one all the same; one that breaks the contract is not.
void list(const Candidate& candidate, const Result<Sighting>& seen, Discovery* out) {
  if (!seen.ok()) {
    out->refusals.push_back({candidate.path, seen.status().message()});
    return;
  }
  BackendInfo info{candidate.name, seen->version, candidate.path, {}, seen->enumerated, seen->beside, seen->facts};
  if (info.status.ok()) {
    Result<std::vector<UnitInfo>> units = describe_units(candidate.name, seen->units);
    info.status = units.ok() ? seen->opened : units.status();
    if (info.status.ok()) info.units = std::move(*units);
  }
  if (info.status.code() == Code::kAbi)
    out->refusals.push_back({candidate.path, info.status.message()});
  else
    out->backends.push_back(std::move(info));
}

}  // namespace

Discovery discover_backends(std::string_view device) {
  const size_t colon = std::min(device.find(':'), device.size());
  const std::string_view name = device.substr(0, colon);
  const std::string spec(device.substr(std::min(colon + 1, device.size())));
  SearchPath search = search_path();
  Discovery out;
  out.directories = search.directories;
  out.refusals = std::move(search.refusals);
  std::vector<Candidate> candidates = find_candidates(search, &out.refusals);
  const bool named = !is_choice(name);
  if (named) std::erase_if(candidates, [&](const Candidate& c) { return c.name != name; });
  const auto seen = see_backends(candidates, {spec, named ? Use::kDevice : Use::kUnlessEmulated});
  for (size_t i = 0; i < candidates.size(); ++i) list(candidates[i], seen[i], &out);
  drop_copies();
  return out;
}

}  // namespace tenon
