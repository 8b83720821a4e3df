#include "train/profile/profile_recorder.h"

namespace tenon {

void ProfileRecorder::emit(const TraceEvent& event) {
  if (event.duration_ps == 0) return;  // a thread that had no part in it
  if (kernels_.size() >= kMaxKernels) {
    ++left_out_;
    return;
  }
  const auto [at, fresh] = index_.try_emplace(event.name, static_cast<uint32_t>(names_.size()));
  if (fresh) names_.push_back(at->first);
  kernels_.push_back({at->second, event.unit, event.lane, event.start_ps, event.duration_ps, event.flops, event.bytes});
}

void ProfileRecorder::waited(uint64_t i, uint64_t start_ps, uint64_t end_ps) {
  host_.push_back({step_ + static_cast<int64_t>(i) + 1, 0, start_ps, end_ps});
}

void ProfileRecorder::called(uint64_t start_ps, uint64_t end_ps) {
  host_.push_back({step_ + 1, -1, start_ps, end_ps});  // how many steps it did is not known yet
}

void ProfileRecorder::exchanged(const std::string& name, uint64_t bytes, uint64_t start_ps, uint64_t end_ps) {
  if (exchanges_.size() < kMaxKernels) exchanges_.push_back({name, bytes, start_ps, end_ps});
}

void ProfileRecorder::done(int64_t step) {
  if (!host_.empty() && host_.back().steps < 0) host_.back().steps = step - step_;
  step_ = step;
}

}  // namespace tenon
