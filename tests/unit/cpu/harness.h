// Runs one kernel of a table on plain memory, with guard bands, odd alignments and NaN-filled scratch.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/kernel.h"

namespace tenon::testing {

struct TypeOf {
  int32_t dtype;
  std::vector<int64_t> dims;
};

// Owns the bytes of operands and results of one node and calls its kernel.
class NodeRun {
 public:
  explicit NodeRun(const plugin::KernelTable& table) : table_(table) {}

  // Adds an operand; `data` holds its dense bytes. An absent optional operand: absent().
  template <class T>
  NodeRun& in(int32_t dtype, std::vector<int64_t> dims, const std::vector<T>& data) {
    ids_.push_back(builder_.input(dtype, dims, TENON_ROLE_FEED));
    operands_.push_back(guarded(data.data(), data.size() * sizeof(T)));
    return *this;
  }
  NodeRun& absent() {
    ids_.push_back(TENON_NONE);
    operands_.push_back(nullptr);
    return *this;
  }
  NodeRun& out(int32_t dtype, std::vector<int64_t> dims) {
    const uint32_t id = builder_.value(dtype, dims);
    int64_t bytes = plugin::dtype_bytes(dtype);
    for (int64_t d : dims) bytes *= d;
    results_.push_back(guarded(nullptr, static_cast<size_t>(bytes)));
    result_ids_.push_back(id);
    return *this;
  }
  // Names the op; give the attributes on the returned builder, then call run().
  plugin::GraphBuilder& op(const char* name) { return builder_.node(name, ids_, result_ids_).name("n"); }

  // Compiles the node and runs it on `threads` threads.
  void run(uint32_t threads = 1) {
    for (uint32_t id : result_ids_) builder_.result(id);
    const plugin::FlatGraph flat = builder_.build();
    const plugin::GraphView graph(*flat.graph());
    const plugin::NodeView node = graph.node(0);
    const plugin::Entry* entry = table_.find(node.op(), node.version());
    ASSERT_NE(entry, nullptr) << "no kernel for " << node.op();
    ASSERT_EQ(entry->accept(node).answer, TENON_TAKE) << entry->accept(node).reason;
    plugin::Env env;
    env.threads = threads;
    const plugin::Kernel kernel = entry->make(node, env);
    const uint32_t gang = std::min(threads, kernel.threads);

    std::vector<uint8_t*> bases;
    std::vector<plugin::Place> ins, outs;
    for (auto& o : operands_) {
      ins.push_back({o ? static_cast<int32_t>(bases.size()) : -1, 0});
      if (o) bases.push_back(o->data());
    }
    for (auto& o : results_) {
      outs.push_back({static_cast<int32_t>(bases.size()), 0});
      bases.push_back(o->data());
    }
    const auto scratch = nan_filled(kernel.scratch_bytes);
    std::vector<std::unique_ptr<uint8_t[], void (*)(uint8_t*)>> own;
    for (uint32_t i = 0; i < gang; ++i) own.push_back(nan_filled(kernel.thread_scratch_bytes));
    plugin::Barrier barrier;
    const auto part = [&](uint32_t i) {
      plugin::Call call;
      call.index = i;
      call.count = gang;
      call.scratch = scratch.get();
      call.thread_scratch = own[i].get();
      call.bases_ = bases.data();
      call.operands_ = ins.data();
      call.results_ = outs.data();
      call.barrier_ = &barrier;
      kernel.run(call);
    };
    std::vector<std::thread> team;
    for (uint32_t i = 1; i < gang; ++i) team.emplace_back(part, i);
    part(0);
    for (auto& t : team) t.join();
    for (auto& o : operands_)
      if (o) o->check();
    for (auto& o : results_) o->check();
  }

  template <class T = float>
  std::vector<T> result(int i) const {
    std::vector<T> v(results_[i]->size / sizeof(T));
    std::memcpy(v.data(), results_[i]->data(), v.size() * sizeof(T));
    return v;
  }

 private:
  struct Guarded {
    static constexpr size_t kBand = 256;
    std::vector<uint8_t> bytes;
    size_t size;
    uint8_t* data() { return bytes.data() + kBand; }
    void check() const {
      for (size_t i = 0; i < kBand; ++i) {
        ASSERT_EQ(bytes[i], 0xA5) << "written before the start";
        ASSERT_EQ(bytes[kBand + size + i], 0xA5) << "written past the end";
      }
    }
  };
  static std::shared_ptr<Guarded> guarded(const void* data, size_t size) {
    auto g = std::make_shared<Guarded>();
    g->size = size;
    g->bytes.assign(size + 2 * Guarded::kBand, 0xA5);
    if (data && size) std::memcpy(g->data(), data, size);
    if (!data) std::memset(g->data(), 0xFF, size);  // NaN
    return g;
  }
  static std::unique_ptr<uint8_t[], void (*)(uint8_t*)> nan_filled(uint64_t bytes) {
    const uint64_t room = (bytes + 127) / 64 * 64;
    auto* p = static_cast<uint8_t*>(::operator new[](room, std::align_val_t(64)));
    std::memset(p, 0xFF, room);
    return {p, [](uint8_t* q) { ::operator delete[](q, std::align_val_t(64)); }};
  }

  const plugin::KernelTable& table_;
  plugin::GraphBuilder builder_;
  std::vector<uint32_t> ids_, result_ids_;
  std::vector<std::shared_ptr<Guarded>> operands_, results_;
};

}  // namespace tenon::testing
