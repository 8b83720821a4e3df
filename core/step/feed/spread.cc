#include "step/feed/spread.h"

#include <set>

#include "base/strings.h"

namespace tenon {

Spread Spread::over(const Device& device, InputPipelineConfig input) {
  Spread out;
  out.replicas = device.replicas();
  std::set<int> hosts;
  for (const UnitInfo& unit : device.units()) hosts.insert(unit.host);
  out.hosts = static_cast<int>(hosts.size());
  out.input = input;
  if (device.processes() > 1) {  // each reads its rows of the one order
    out.hosts = 1;
    out.input = InputPipelineConfig::kBroadcast;
  }
  return out;
}

int Spread::pipelines() const {
  switch (input) {
    case InputPipelineConfig::kPerShardV1:
      return replicas;
    case InputPipelineConfig::kPerHostV1:
    case InputPipelineConfig::kPerHostV2:
      return hosts;
    default:
      return 1;
  }
}

Status Spread::check_batch(int64_t batch_size, Mode mode) const {
  if (batch_size % replicas == 0) return {};
  return invalid(mode_name(mode), " batch size ", batch_size, " must be divisible by number of replicas ", replicas);
}

int64_t Spread::params_batch_size(int64_t batch_size) const {
  switch (input) {
    case InputPipelineConfig::kPerShardV1:
    case InputPipelineConfig::kPerHostV2:
      return batch_size / replicas;
    case InputPipelineConfig::kPerHostV1:
      return batch_size / hosts;
    default:
      return batch_size;
  }
}

}  // namespace tenon
