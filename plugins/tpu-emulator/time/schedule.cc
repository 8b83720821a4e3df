#include "time/schedule.h"

#include <algorithm>

namespace tpu {
namespace {

class Scheduler {
 public:
  Scheduler(const StepGraph& program, const std::vector<FusedKernel>& kernels)
      : program_(program),
        kernels_(kernels),
        waits_(kernels.size(), 0),
        followers_(kernels.size()),
        pending_reads_(program.base.size(), 0) {
    connect();
  }

  std::vector<uint32_t> run() {
    for (uint32_t k = 0; k < kernels_.size(); ++k)
      if (!waits_[k]) ready_.push_back(k);
    std::vector<uint32_t> order;
    order.reserve(kernels_.size());
    while (!ready_.empty()) {
      const size_t at = choose();
      const uint32_t kernel = ready_[at];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(at));
      order.push_back(kernel);
      for (uint32_t value : kernels_[kernel].reads) --pending_reads_[value];
      for (uint32_t follower : followers_[kernel])
        if (--waits_[follower] == 0) ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), follower), follower);
    }
    return order;
  }

 private:
  void connect() {
    std::vector<uint32_t> writer(program_.base.size(), TENON_NONE);
    for (uint32_t k = 0; k < kernels_.size(); ++k)
      for (uint32_t value : kernels_[k].writes) writer[value] = k;
    std::vector<std::vector<uint32_t>> readers(program_.base.size());
    for (uint32_t k = 0; k < kernels_.size(); ++k)
      for (uint32_t value : kernels_[k].reads) {
        ++pending_reads_[value];
        readers[value].push_back(k);
        if (writer[value] != TENON_NONE && writer[value] != k) follow(writer[value], k);
      }
    for (uint32_t value = 0; value < program_.alias_of.size(); ++value) {
      const uint32_t state = program_.alias_of[value], by = writer[value];
      if (state == TENON_NONE || by == TENON_NONE) continue;
      // A reader that needs the new value or comes after it in the graph would wait for itself: the old one is copied.
      for (uint32_t reader : readers[state])
        if (reader < by) follow(reader, by);
    }
  }

  void follow(uint32_t first, uint32_t second) {
    followers_[first].push_back(second);
    ++waits_[second];
  }

  // Bytes that are alive after the kernel less those before.
  double growth(uint32_t kernel) const {
    double bytes = 0;
    for (uint32_t value : kernels_[kernel].writes)
      if (program_.alias_of[value] == TENON_NONE) bytes += static_cast<double>(program_.bytes(value));
    for (uint32_t value : kernels_[kernel].reads)
      if (pending_reads_[value] == 1 && program_.input_of[value] == TENON_NONE && !program_.is_result[value])
        bytes -= static_cast<double>(program_.bytes(value));
    return bytes;
  }

  size_t choose() const {
    constexpr size_t kLook = 32;
    for (size_t i = 0; i < std::min(ready_.size(), kLook); ++i) {
      const PieceKind kind = program_.pieces[static_cast<size_t>(kernels_[ready_[i]].root)].kind;
      if (kind == PieceKind::kUpdate || kind == PieceKind::kCollective || growth(ready_[i]) < 0) return i;
    }
    return 0;
  }

  const StepGraph& program_;
  const std::vector<FusedKernel>& kernels_;
  std::vector<int> waits_;
  std::vector<std::vector<uint32_t>> followers_;
  std::vector<int> pending_reads_;  // of each value
  std::vector<uint32_t> ready_;     // ascending
};

}  // namespace

std::vector<uint32_t> schedule(const StepGraph& program, const std::vector<FusedKernel>& kernels) {
  return Scheduler(program, kernels).run();
}

}  // namespace tpu
