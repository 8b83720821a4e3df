#include "tenon/devices.h"

#include <algorithm>

#include "backend/forecast.h"
#include "backend/loader.h"
#include "backend/search_path.h"
#include "backend/units.h"

namespace tenon {
namespace {

// A backend without units here is one all the same; one that breaks the contract is not.
void list(const Candidate& candidate, const std::string& spec, Discovery* out) {
  const Result<const LoadedBackend*> loaded = load_backend(candidate.name, candidate.path);
  if (!loaded.ok()) {
    out->refusals.push_back({candidate.path, loaded.status().message()});
    return;
  }
  const LoadedBackend& backend = **loaded;
  BackendInfo info{backend.name, backend.version, candidate.path, {}, {}};
  Result<std::vector<UnitInfo>> units = enumerate_units(backend, spec);
  if (units.ok()) {
    info.units = std::move(*units);
    info.beside = beside_units(backend, spec);
  } else

    info.status = units.status();
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
  for (const Candidate& candidate : find_candidates(search, &out.refusals))
    if (name == "auto" || name == "tpu" || candidate.name == name) list(candidate, spec, &out);
  return out;
}

}  // namespace tenon
