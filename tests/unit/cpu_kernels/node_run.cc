#include "node_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <thread>

namespace tenon::testing {
namespace {

std::unique_ptr<uint8_t[], void (*)(uint8_t*)> nan_filled(uint64_t bytes) {
  const uint64_t room = (bytes + 127) / 64 * 64;
  auto* p = static_cast<uint8_t*>(::operator new[](room, std::align_val_t(64)));
  std::memset(p, 0xFF, room);
  return {p, [](uint8_t* q) { ::operator delete[](q, std::align_val_t(64)); }};
}

}  // namespace

void NodeRun::Guarded::check() const {
  for (size_t i = 0; i < kBand; ++i) {
    ASSERT_EQ(bytes[i], 0xA5) << "written before the start";
    ASSERT_EQ(bytes[kBand + size + i], 0xA5) << "written past the end";
  }
}

std::shared_ptr<NodeRun::Guarded> NodeRun::guarded(const void* data, size_t size) {
  auto g = std::make_shared<Guarded>();
  g->size = size;
  g->bytes.assign(size + 2 * Guarded::kBand, 0xA5);
  if (data && size) std::memcpy(g->data(), data, size);
  if (!data) std::memset(g->data(), 0xFF, size);  // NaN
  return g;
}

void NodeRun::add_operand(int32_t dtype, const std::vector<int64_t>& dims, const void* data, size_t size) {
  ids_.push_back(builder_.input(dtype, dims, TENON_ROLE_FEED));
  operands_.push_back(guarded(data, size));
}

NodeRun& NodeRun::absent() {
  ids_.push_back(TENON_NONE);
  operands_.push_back(nullptr);
  return *this;
}

NodeRun& NodeRun::out(int32_t dtype, const std::vector<int64_t>& dims) {
  const uint32_t id = builder_.value(dtype, dims);
  int64_t bytes = plugin::dtype_bytes(dtype);
  for (int64_t d : dims) bytes *= d;
  results_.push_back(guarded(nullptr, static_cast<size_t>(bytes)));
  result_ids_.push_back(id);
  return *this;
}

NodeRun& NodeRun::no_out() {
  results_.push_back(nullptr);
  result_ids_.push_back(TENON_NONE);
  return *this;
}

plugin::GraphBuilder& NodeRun::op(const char* name) { return builder_.node(name, ids_, result_ids_).name("n"); }

void NodeRun::run(uint32_t threads) {
  for (uint32_t id : result_ids_)
    if (id != TENON_NONE) builder_.result(id);
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
    outs.push_back({o ? static_cast<int32_t>(bases.size()) : -1, 0});
    if (o) bases.push_back(o->data());
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
  for (auto& o : results_)
    if (o) o->check();
}

}  // namespace tenon::testing
