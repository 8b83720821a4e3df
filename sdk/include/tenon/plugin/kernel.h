// Kernels: how a backend that stands on the SDK runtime does its arithmetic.
//
// A backend fills a KernelTable: for each op that it knows, which nodes it accepts and a factory that
// makes the kernel of one node. The factory runs once, at compile time, and may allocate, look up and
// decide as it likes; the kernel runs every step and does none of that.
//
// One gang of threads walks the whole plan together. The runtime calls a kernel's `run` on every
// thread of the gang at once (call.index of call.count) and makes all threads wait for each other
// before a node that needs the result; a kernel of at most one thread is called on one thread only.
// Results must not depend on call.count: split work into pieces by the shapes alone, and add partial
// sums in a fixed order.
//
// C++17. Nothing here is ABI: a backend is built with the runtime that it was written for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/plugin/device_driver.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// A spinning barrier of `count` threads that truly run at once.
class Barrier {
 public:
  void arrive_and_wait(uint32_t count) {
    if (count <= 1) return;
    const uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (uint32_t spins = 1; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      // after some microseconds: where others want the cores too, the thread that is waited for gets one
      if (spins > 256) std::this_thread::yield();
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

 private:
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
};

// Part [begin, end) of a range.
struct Slice {
  int64_t begin, end;
};

// Where an operand or result lies in this run: a base pointer (arena, constants, an input, a result)
// plus an offset that the planner chose. base < 0: absent.
struct Place {
  int32_t base = -1;
  uint64_t offset = 0;
};

// One thread's view of one node in one step.
struct Call {
  uint32_t index = 0;              // this thread of the gang
  uint32_t count = 1;              // threads in the gang
  void* scratch = nullptr;         // kernel.scratch_bytes, shared by the threads; contents undefined
  void* thread_scratch = nullptr;  // kernel.thread_scratch_bytes of this thread's own; undefined

  // Operand i, or nullptr when it is absent. Dense, row-major, at least aligned to its element.
  template <class T = float>
  const T* in(int i) const {
    const Place& p = operands_[i];
    return p.base < 0 ? nullptr : reinterpret_cast<const T*>(bases_[p.base] + p.offset);
  }
  // Result i; never overlaps an operand unless the kernel allowed it by `in_place`.
  template <class T = float>
  T* out(int i) const {
    const Place& p = results_[i];
    return p.base < 0 ? nullptr : reinterpret_cast<T*>(bases_[p.base] + p.offset);
  }

  // On a device with memory of its own (device_backend.h): where operand i, result i and the scratch lie, and the
  // stream that the work goes to. An absent operand's memory is nullptr.
  DeviceAddress in_address(int i) const { return address(operands_[i]); }
  DeviceAddress out_address(int i) const { return address(results_[i]); }
  DeviceAddress scratch_address() const { return scratch_address_; }
  DeviceStream* stream = nullptr;

  // This thread's even share of n pieces of work.
  Slice share(int64_t n) const { return {n * index / count, n * (index + 1) / count}; }
  // The same, in multiples of `grain`.
  Slice share(int64_t n, int64_t grain) const {
    const Slice s = share((n + grain - 1) / grain);
    return {s.begin * grain, s.end * grain < n ? s.end * grain : n};
  }
  // Waits until all threads of the gang have come here.
  void barrier() const { barrier_->arrive_and_wait(count); }

  // Set by the executor.
  uint8_t* const* bases_ = nullptr;
  const Place* operands_ = nullptr;
  const Place* results_ = nullptr;
  Barrier* barrier_ = nullptr;
  const uint64_t* base_offsets_ = nullptr;  // of the bases of a device, beside its memory
  DeviceAddress scratch_address_;

 private:
  DeviceAddress address(const Place& p) const {
    if (p.base < 0) return {};
    return {bases_[p.base], base_offsets_[p.base] + p.offset};
  }
};

// What a factory makes of one node.
struct Kernel {
  std::function<void(const Call&)> run;
  uint32_t threads = 1;               // the most threads that help; 1: run is called on one thread
  uint64_t scratch_bytes = 0;         // 64-byte aligned
  uint64_t thread_scratch_bytes = 0;  // 64-byte aligned, for each thread
  // (operand, result) pairs that may be the same memory where they are of one size: elementwise kernels, updates of
  // state.
  std::vector<std::pair<int, int>> in_place;
  std::string algorithm;  // that was chosen, where there are several: "winograd 3x3"; for `tenon inspect plan`
};

constexpr uint32_t kAllThreads = UINT32_MAX;

// What a factory may know beside the node.
struct Env {
  const tenon_host* host = nullptr;
  uint32_t threads = 1;            // the largest gang
  bool deterministic = false;      // no choice by the clock
  DeviceDriver* device = nullptr;  // of a device with memory of its own
};

struct Verdict {
  int32_t answer = TENON_TAKE;
  std::string reason;  // of a refusal
};
inline Verdict take() { return {TENON_TAKE, {}}; }
inline Verdict decompose() { return {TENON_DECOMPOSE, {}}; }
inline Verdict refuse(std::string reason) { return {TENON_REFUSE, std::move(reason)}; }

using Accept = std::function<Verdict(const NodeView&)>;
using Factory = std::function<Kernel(const NodeView&, const Env&)>;

struct Entry {
  Accept accept;  // pure; must agree with what `make` can do
  Factory make;
  bool own = false;  // no graph of the host has it
};

class KernelTable {
 public:
  // A node of the backend's own, that its rewrite of a graph puts in (HostBackend::rewrite): a host that asks for it is
  // told that there is no such kernel.
  void add_own(std::string_view op, Factory make) {
    entries_[key(op, 1)] = Entry{[](const NodeView&) { return take(); }, std::move(make), true};
  }
  void add(std::string_view op, Accept accept, Factory make, uint32_t version = 1) {
    entries_[key(op, version)] = Entry{std::move(accept), std::move(make), false};
  }
  // The entry for an op, or nullptr.
  const Entry* find(std::string_view op, uint32_t version) const {
    const auto it = entries_.find(key(op, version));
    return it == entries_.end() ? nullptr : &it->second;
  }
  size_t size() const { return entries_.size(); }
  // The op of each entry, in no order.
  std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_) names.push_back(entry.first.substr(0, entry.first.rfind('@')));
    return names;
  }

 private:
  static std::string key(std::string_view op, uint32_t version) {
    return std::string(op) + "@" + std::to_string(version);
  }
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace tenon::plugin
