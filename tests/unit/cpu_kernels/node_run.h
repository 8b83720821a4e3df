// Runs one kernel of a table on plain memory, with guard bands, odd alignments and NaN-filled scratch.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/kernel.h"

namespace tenon::testing {

// Owns the bytes of operands and results of one node and calls its kernel.
class NodeRun {
 public:
  explicit NodeRun(const plugin::KernelTable& table) : table_(table) {}

  // Adds an operand; `data` holds its dense bytes. An absent optional operand: absent().
  template <class T>
  NodeRun& in(int32_t dtype, const std::vector<int64_t>& dims, const std::vector<T>& data) {
    add_operand(dtype, dims, data.data(), data.size() * sizeof(T));
    return *this;
  }
  NodeRun& absent();
  NodeRun& out(int32_t dtype, const std::vector<int64_t>& dims);
  NodeRun& no_out();  // a result that nobody asks for, before others; empty
  // Names the op; give the attributes on the returned builder, then call run().
  plugin::GraphBuilder& op(const char* name);

  // Compiles the node and runs it on `threads` threads.
  void run(uint32_t threads = 1);

  template <class T = float>
  std::vector<T> result(int i) const {
    if (!results_[i]) return {};
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
    void check() const;
  };
  static std::shared_ptr<Guarded> guarded(const void* data, size_t size);
  void add_operand(int32_t dtype, const std::vector<int64_t>& dims, const void* data, size_t size);

  const plugin::KernelTable& table_;
  plugin::GraphBuilder builder_;
  std::vector<uint32_t> ids_, result_ids_;
  std::vector<std::shared_ptr<Guarded>> operands_, results_;
};

}  // namespace tenon::testing
