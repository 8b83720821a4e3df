// From what was recorded to the planes that viewers show.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tenon/devices.h"
#include "tenon/predicted_step.h"
#include "train/profile/profile_recorder.h"
#include "train/profile/profile_space.h"

namespace tenon {

// What a viewer is told of a node.
struct ProfileOp {
  std::string op, origin;  // "conv_grad_filter", "block3/conv1"
  std::string category;    // "convolution", "dot", "reduce", "update", "all-reduce", "data formatting", "fusion"
  std::string shape;       // of its first result: "f32[64,10]{1,0}"
};
std::map<std::string, ProfileOp, std::less<>> profile_ops(const Graph& graph);

struct ProfileSource {
  std::string device;  // "tpu-emulator:v3-8"
  std::vector<UnitInfo> units;
  DeviceFacts facts;
  std::map<std::string, ProfileOp, std::less<>> ops;  // by the names of nodes
  std::optional<PredictedStep> forecast;              // of a device that predicts
  std::string host;
  std::string process;  // "rank 1 (node3)" of several; else empty
  int64_t first_step = 1, steps = 0;  // that were recorded
  uint64_t begin_unix_ns = 0;         // when recording began; and by steady_ps():
  uint64_t begin_ps = 0, end_ps = 0;
};

// Times of a device that is emulated are predictions: its planes say so, and the host's plane then holds predictions too,
// never what was measured here.
ProfileSpace make_profile(const ProfileRecorder& recorder, const ProfileSource& source);
bool is_predicted(const ProfileSource& source);

}  // namespace tenon
