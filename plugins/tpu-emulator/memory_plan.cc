#include "memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tpu {
namespace {

constexpr uint64_t kTile = 1024;
constexpr uint64_t kProgramReserved = 4096;
constexpr uint64_t kCodeBytes = 8192;  // of a kernel

uint64_t whole_tiles(uint64_t bytes) { return (bytes + kTile - 1) / kTile * kTile; }

// Free ranges of an arena that grows at its end.
class Arena {
 public:
  uint64_t take(uint64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit != by_size_.end()) {
      const auto [size, at] = *fit;
      remove(at, size);
      if (size > bytes) insert(at + bytes, size - bytes);
      return at;
    }
    uint64_t at = height_;
    if (!by_offset_.empty()) {  // the free end grows
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == height_) {
        at = last;
        remove(last, size);
      }
    }
    height_ = at + bytes;
    return at;
  }

  void give(uint64_t at, uint64_t bytes) {
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.end() && at + bytes == next->first) {
      const uint64_t more = next->second;
      remove(at + bytes, more);
      bytes += more;
      next = by_offset_.lower_bound(at);
    }
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == at) {
        remove(before, size);
        at = before;
        bytes += size;
      }
    }
    insert(at, bytes);
  }

  uint64_t height() const { return height_; }

 private:
  void insert(uint64_t at, uint64_t bytes) {
    by_offset_[at] = bytes;
    by_size_.insert({bytes, at});
  }
  void remove(uint64_t at, uint64_t bytes) {
    by_offset_.erase(at);
    by_size_.erase({bytes, at});
  }

  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  uint64_t height_ = 0;
};

// Indices of blocks by the time that they begin, and by the time after which they end.
struct Events {
  explicit Events(const std::vector<Block>& blocks) : begin(blocks.size()), end(blocks.size()) {
    std::iota(begin.begin(), begin.end(), 0u);
    end = begin;
    std::stable_sort(begin.begin(), begin.end(),
                     [&](uint32_t a, uint32_t b) { return blocks[a].first < blocks[b].first; });
    std::stable_sort(end.begin(), end.end(), [&](uint32_t a, uint32_t b) { return blocks[a].last < blocks[b].last; });
  }
  std::vector<uint32_t> begin, end;
};

// In the order of time, each in the smallest gap that holds it.
uint64_t place_by_time(std::vector<Block>& blocks) {
  const Events events(blocks);
  Arena arena;
  size_t ended = 0;
  for (uint32_t i : events.begin) {
    for (; ended < events.end.size() && blocks[events.end[ended]].last < blocks[i].first; ++ended)
      arena.give(blocks[events.end[ended]].offset, whole_tiles(blocks[events.end[ended]].bytes));
    blocks[i].offset = arena.take(whole_tiles(blocks[i].bytes));
  }
  return arena.height();
}

// The largest first, each at the lowest offset where nothing is that lives when it does.
uint64_t place_by_size(std::vector<Block>& blocks) {
  std::vector<uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<uint32_t> placed;  // by offset
  uint64_t height = 0;
  for (uint32_t i : order) {
    const uint64_t bytes = whole_tiles(blocks[i].bytes);
    uint64_t at = 0;
    for (uint32_t j : placed) {
      if (blocks[j].last < blocks[i].first || blocks[i].last < blocks[j].first) continue;
      if (blocks[j].offset >= at + bytes) break;
      at = std::max(at, blocks[j].offset + whole_tiles(blocks[j].bytes));
    }
    blocks[i].offset = at;
    height = std::max(height, at + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at,
                                   [&](uint64_t offset, uint32_t j) { return offset < blocks[j].offset; }),
                  i);
  }
  return height;
}

class Planner {
 public:
  Planner(const StepGraph& program, const std::vector<Kernel>& kernels)
      : program_(program), kernels_(kernels), allocation_of_(program.base.size(), TENON_NONE) {}

  MemoryPlan run(const Machine& machine) {
    arguments();
    live_ranges();
    reuse();
    finish(machine);
    return std::move(plan_);
  }

 private:
  void arguments() {
    const uint32_t end = static_cast<uint32_t>(kernels_.size());
    for (uint32_t i = 0; i < program_.graph.n_inputs(); ++i) {
      const uint32_t value = program_.graph.input(i).value;
      Allocation a;
      a.value = value;
      a.node = TENON_NONE;
      a.layout = program_.layouts[value];
      a.offset = plan_.argument_bytes;
      a.last = end;
      plan_.argument_bytes += whole_tiles(a.layout.bytes);
      plan_.allocations.push_back(std::move(a));
    }
    n_arguments_ = plan_.allocations.size();
  }

  void live_ranges() {
    for (uint32_t k = 0; k < kernels_.size(); ++k) {
      for (uint32_t value : kernels_[k].reads)
        if (const uint32_t i = allocation_of_[value]; i != TENON_NONE)
          plan_.allocations[i].last = std::max(plan_.allocations[i].last, k);  // a result lives on
      for (uint32_t value : kernels_[k].writes) {
        if (program_.alias_of[value] != TENON_NONE) continue;  // in the state's place
        Allocation a;
        a.value = value;
        a.node = kernels_[k].root;
        a.layout = program_.layouts[value];
        a.first = k;
        a.last = program_.is_result[value] ? static_cast<uint32_t>(kernels_.size()) : k;
        allocation_of_[value] = static_cast<uint32_t>(plan_.allocations.size());
        plan_.allocations.push_back(std::move(a));
      }
    }
  }

  // An elementwise kernel writes over an operand that it is the last to read; a product only over what its epilogue reads.
  void reuse() {
    reused_by_.assign(plan_.allocations.size(), TENON_NONE);
    for (uint32_t k = 0; k < kernels_.size(); ++k)
      for (uint32_t value : kernels_[k].writes) {
        const uint32_t to = allocation_of_[value];
        if (to == TENON_NONE) continue;
        for (uint32_t read : kernels_[k].reads) {
          const uint32_t from = allocation_of_[read];
          if (from == TENON_NONE || reused_by_[from] != TENON_NONE || plan_.allocations[from].last != k) continue;
          if (plan_.allocations[from].layout.bytes != plan_.allocations[to].layout.bytes || !in_step(kernels_[k], read))
            continue;
          reused_by_[from] = to;
          break;
        }
      }
  }

  // Whether the kernel reads each element of the value only to make the one in the same place.
  bool in_step(const Kernel& kernel, uint32_t value) const {
    if (kernel.bound == Bound::kInterconnect) return true;
    for (int i : program_.consumers[value]) {
      const Piece& piece = program_.pieces[static_cast<size_t>(i)];
      if (piece.kind == PieceKind::kElementwise) continue;
      if (std::binary_search(kernel.nodes.begin(), kernel.nodes.end(), piece.node)) return false;
    }
    return true;
  }

  void finish(const Machine& machine) {
    // A chain of values in one place is one block.
    std::vector<Block> blocks;
    std::vector<uint32_t> block_of(plan_.allocations.size(), TENON_NONE);
    for (size_t i = n_arguments_; i < plan_.allocations.size(); ++i) {
      const Allocation& a = plan_.allocations[i];
      if (block_of[i] == TENON_NONE) {
        block_of[i] = static_cast<uint32_t>(blocks.size());
        blocks.push_back({a.layout.bytes, 0, a.first, a.last});
      }
      Block& block = blocks[block_of[i]];
      block.last = std::max(block.last, a.last);
      if (reused_by_[i] != TENON_NONE) block_of[reused_by_[i]] = block_of[i];
    }
    plan_.temp_live_bytes = most_alive(blocks);
    plan_.temp_bytes = place(blocks);
    for (size_t i = n_arguments_; i < plan_.allocations.size(); ++i)
      plan_.allocations[i].offset = plan_.argument_bytes + blocks[block_of[i]].offset;
    plan_.program_bytes = plan_.temp_bytes + kProgramReserved + kCodeBytes * kernels_.size();
    plan_.reserved_bytes = machine.hbm_reserved_bytes;
    plan_.capacity_bytes = machine.hbm_bytes;
    plan_.total_bytes = plan_.reserved_bytes + plan_.argument_bytes + plan_.program_bytes;
    std::stable_sort(plan_.allocations.begin(), plan_.allocations.end(),
                     [](const Allocation& a, const Allocation& b) { return a.layout.bytes > b.layout.bytes; });
  }

  const StepGraph& program_;
  const std::vector<Kernel>& kernels_;
  std::vector<uint32_t> allocation_of_;  // of values that kernels write
  std::vector<uint32_t> reused_by_;      // the allocation that takes this one's place
  size_t n_arguments_ = 0;
  MemoryPlan plan_;
};

}  // namespace

uint64_t most_alive(const std::vector<Block>& blocks) {
  const Events events(blocks);
  uint64_t alive = 0, most = 0;
  size_t ended = 0;
  for (uint32_t i : events.begin) {
    for (; ended < events.end.size() && blocks[events.end[ended]].last < blocks[i].first; ++ended)
      alive -= whole_tiles(blocks[events.end[ended]].bytes);
    alive += whole_tiles(blocks[i].bytes);
    most = std::max(most, alive);
  }
  return most;
}

uint64_t place(std::vector<Block>& blocks) {
  constexpr size_t kManyBlocks = 4096;  // placing by size looks at pairs
  const uint64_t by_time = place_by_time(blocks);
  if (by_time == most_alive(blocks) || blocks.size() > kManyBlocks) return by_time;
  std::vector<Block> again = blocks;
  const uint64_t by_size = place_by_size(again);
  if (by_size >= by_time) return by_time;
  blocks = std::move(again);
  return by_size;
}

MemoryPlan plan_memory(const StepGraph& program, const std::vector<Kernel>& kernels, const Machine& machine) {
  return Planner(program, kernels).run(machine);
}

}  // namespace tpu
