// A backend of a dozen integer kernels on the SDK runtime, driven through the C ABI.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/host_backend.h"

namespace tenon::plugin::testing {

using Numbers = std::vector<int64_t>;

// A device with a pool of so many threads, and one queue. All values are i64, if nothing else is said.
//   add sub mul (a, b)    elementwise, either operand in place   neg (a)  the same on one thread
//   reverse (a)           not in place         slice (a), concat (a, b)   of flat values
// and ops of its own:
//   toy.plus (a, s)       a + the scalar s, in place             toy.total (a)    every element is the sum of all
//   toy.both (a, b)       a + b and a - b, each in place of a or b; either may be left out
//   toy.rotate (a)        through scratch, in place              toy.squares (a)  through each thread's own scratch
//   toy.least (a; k)      bool: a[0] >= k
//   toy.sum (a, b, ..)    of any number of operands
//   toy.backwards (a, b)  a - b reversed, in place of a alone    toy.fail (a; k)  a; throws INTERNAL if a[0] >= k
//   toy.gate (a)          a, on worker queues not before open_toy_gate()
//   toy.calls (a)         every element is the number of calls of this kernel so far, which has one thread
//   toy.pair (a)          every element is the number of threads that share it, two at most
//   toy.when (a)          every element is now_ps() while it ran
//   toy.first toy.second (a)   a + 1, a + 2; one behind the other they are rewritten as toy.fused, a + 1000, which no
//                              host may ask for (not with worker queues)
class Toy {
 public:
  explicit Toy(int threads = 1, bool worker_queues = false);
  ~Toy();
  Toy(const Toy&) = delete;

  tenon_backend table{};
  tenon_device* device = nullptr;
  tenon_queue* queue = nullptr;

  // Fails the test when it cannot be compiled.
  tenon_program* compile(const GraphBuilder& graph, uint32_t max_iterations = 1);
  tenon_status compile(const GraphBuilder& graph, const tenon_options& options, tenon_program** out,
                       tenon_info* info = nullptr);
  tenon_buffer* buffer(const Numbers& values);
  Numbers read(tenon_buffer* buffer, size_t n) const;
  void write(tenon_buffer* buffer, const Numbers& values) const;
  uint64_t bytes_in_use() const;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
  std::vector<tenon_buffer*> buffers_;
  std::vector<tenon_program*> programs_;
};

// toy.gate lets nothing pass while it is closed.
void close_toy_gate();
void open_toy_gate();

// The arguments of a run, laid out.
struct Arguments {
  std::vector<tenon_buffer*> inputs, results;
  std::vector<tenon_scalar> scalars;
  uint32_t iterations = 1;
  const tenon_feed* feed = nullptr;
};
tenon_status run(const Toy& toy, tenon_queue* queue, tenon_program* program, const Arguments& a,
                 uint32_t* done = nullptr);
// Fails the test on an error; returns how many iterations were done.
uint32_t run(const Toy& toy, tenon_program* program, const Arguments& a);

// Batches of one FEED input, `stop` of them.
class Batches {
 public:
  Batches(std::vector<tenon_buffer*> buffers, uint64_t stop) : buffers_(std::move(buffers)), stop_(stop) {}
  tenon_feed feed() { return {sizeof(tenon_feed), 0, this, next, release}; }
  std::vector<uint64_t> given, released;

 private:
  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point*);
  static void release(void* ctx, uint64_t i) { static_cast<Batches*>(ctx)->released.push_back(i); }
  std::vector<tenon_buffer*> buffers_;
  uint64_t stop_;
};

}  // namespace tenon::plugin::testing
