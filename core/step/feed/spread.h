// How a batch is spread: over the units of a device, which stand in hosts.
#pragma once

#include "backend/device.h"
#include "tenon/train_input.h"

namespace tenon {

struct Spread {
  int replicas = 1, hosts = 1;
  InputPipelineConfig input = InputPipelineConfig::kPerHostV1;

  static Spread over(const Device& device, InputPipelineConfig input = InputPipelineConfig::kPerHostV1);
  int pipelines() const;  // that feed training
  // An error where the units cannot have equal shares.
  Status check_batch(int64_t batch_size, Mode mode) const;
  // What params["batch_size"] is for a batch of so many examples.
  int64_t params_batch_size(int64_t batch_size) const;
};

}  // namespace tenon
