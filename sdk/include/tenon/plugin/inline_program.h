// Programs of an InlineDevice: arguments are checked and bound, batches pulled, scalars, rows of results and the end
// of a run seen to; a backend computes one iteration. C++17, header only.
//
//   struct Program : tenon::plugin::InlineProgram { void step(..) override; };   // what compile makes
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tenon/plugin/element.h"
#include "tenon/plugin/graph.h"
#include "tenon/plugin/inline_device.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

class InlineProgram {
 public:
  // Keeps no pointer into the graph. Each run needs `workspace` bytes.
  InlineProgram(InlineDevice& device, const GraphView& graph, const tenon_options& options, uint64_t workspace)
      : device_(device), workspace_(workspace), max_iterations_(std::max(options.max_iterations, 1u)) {
    std::vector<int64_t> buffer_of;
    for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
      const ValueView value = graph.value(graph.input(i).value);
      buffer_of.push_back(static_cast<int64_t>(inputs_.size()));
      if (graph.input(i).role == TENON_ROLE_SCALAR)
        scalars_.push_back(value.dtype());
      else
        inputs_.push_back({static_cast<uint64_t>(value.bytes()), graph.input(i).role == TENON_ROLE_FEED});
    }
    for (uint32_t i = 0; i < graph.n_results(); ++i) {
      const tenon_result& r = graph.result(i);
      results_.push_back(
          {static_cast<uint64_t>(graph.value(r.value).bytes()), r.mode, r.alias ? buffer_of[r.alias - 1] : -1});
    }
  }
  virtual ~InlineProgram() {
    for (uint8_t* p : spare_) device_.release(p, workspace_);
  }
  InlineProgram(const InlineProgram&) = delete;
  InlineProgram& operator=(const InlineProgram&) = delete;

  // One iteration. in: of each input that is no scalar; out: of each result, this iteration's row; scalars: in order,
  // each in its dtype at the start of its 8 bytes; workspace: 64-byte aligned, undefined. A state and the result that
  // updates it in place are the same memory. Called by several threads at once, with different arguments.
  virtual void step(uint8_t* const* in, uint8_t* const* out, const uint64_t* scalars, uint8_t* workspace) const = 0;

  // What compile says of memory; code: bytes of code and constants.
  tenon_info info(uint64_t code) const {
    tenon_info i{};
    for (const Input& input : inputs_) i.argument_bytes += input.bytes;
    for (const Result& result : results_) i.result_bytes += result.alias < 0 ? result.bytes : 0;
    i.workspace_bytes = workspace_;
    i.code_bytes = code;
    i.peak_bytes = i.argument_bytes + i.result_bytes + i.workspace_bytes + i.code_bytes;
    i.capacity_bytes = InlineDevice::installed();
    return i;
  }

  // Makes sure that a run finds its workspace. Throws OUT_OF_MEMORY: there is none, or it is above the limit (0: none).
  void reserve(uint64_t limit) {
    uint8_t* p = limit && workspace_ > limit ? nullptr : lend();
    if (!p)
      throw Error(TENON_OUT_OF_MEMORY, "compile: there is no workspace of " + std::to_string(workspace_) + " bytes");
    give_back(p);
  }

  // Runs as tenon_run says, and adds to the queue. Throws when nothing happened.
  void run(InlineQueue& queue, const tenon_run& run, uint64_t* ticket, uint32_t* done) {
    if (run.iterations == 0 || run.iterations > max_iterations_)
      throw Error(TENON_INVALID,
                  "run: the program was compiled for 1 to " + std::to_string(max_iterations_) + " iterations");
    Arguments a = bind(run);
    a.workspace = lend();
    if (!a.workspace) throw Error(TENON_OUT_OF_MEMORY, "run: out of memory for the workspace");
    const char* failure = nullptr;
    const uint32_t completed = iterate(run, a, &failure);
    give_back(a.workspace);
    if (failure && completed == 0) throw Error(TENON_INVALID, failure);
    if (failure) queue.failure = failure;
    if (done) *done = completed;
    *ticket = ++queue.ticket;
  }

 private:
  struct Input {
    uint64_t bytes;
    bool is_feed;
  };
  struct Result {
    uint64_t bytes;  // of one row
    int32_t mode;
    int64_t alias;  // index in inputs_, or -1
  };
  struct Arguments {
    std::vector<uint8_t*> in, out;
    std::vector<uint64_t> scalars;
    std::vector<tenon_buffer*> fed;
    uint8_t* workspace = nullptr;
  };

  uint8_t* lend() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spare_.empty()) return device_.allocate(workspace_);
    uint8_t* p = spare_.back();
    spare_.pop_back();
    return p;
  }
  void give_back(uint8_t* p) {
    const std::lock_guard<std::mutex> lock(mutex_);
    spare_.push_back(p);
  }

  static uint8_t* address(tenon_buffer* buffer, uint64_t bytes, const char* what) {
    if (!buffer || buffer_of(buffer)->bytes < bytes)
      throw Error(TENON_INVALID, std::string("run: ") + what + " buffer is missing or too small");
    return buffer_of(buffer)->data;
  }

  Arguments bind(const tenon_run& run) const {
    Arguments a;
    if ((!inputs_.empty() && !run.inputs) || (!results_.empty() && !run.results) || (!scalars_.empty() && !run.scalars))
      throw Error(TENON_INVALID, "run: inputs, results or scalars are missing");
    a.scalars.resize(scalars_.size());
    a.fed.resize(inputs_.size() + 1);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool comes_later = run.feed && inputs_[i].is_feed;
      a.in.push_back(comes_later ? nullptr : address(run.inputs[i], inputs_[i].bytes, "an input"));
    }
    for (size_t r = 0; r < results_.size(); ++r) {
      const Result& result = results_[r];
      const uint64_t rows = result.mode == TENON_MODE_EACH ? run.iterations : 1;
      a.out.push_back(address(run.results[r], result.bytes * rows, "a result"));
      if (result.alias >= 0 && run.results[r] != run.inputs[result.alias])
        throw Error(TENON_INVALID, "run: an aliased result is not its input's buffer");
    }
    return a;
  }

  // The iterations that were done; *failure: what ended them early.
  uint32_t iterate(const tenon_run& run, Arguments& a, const char** failure) const {
    for (uint32_t i = 0; i < run.iterations; ++i) {
      tenon_point after{};
      if (run.feed && !run.feed->next(run.feed->ctx, i, a.fed.data(), &after)) return i;
      if (run.feed) *failure = bind_batch(after, a);
      for (size_t k = 0; k < scalars_.size(); ++k)
        put_scalar(run.scalars[i * scalars_.size() + k], scalars_[k], &a.scalars[k]);
      if (!*failure) step(a.in.data(), a.out.data(), a.scalars.data(), a.workspace);
      if (run.feed) run.feed->release(run.feed->ctx, i);
      if (*failure) return i;
      if (ended(a)) return i + 1;
    }
    return run.iterations;
  }

  const char* bind_batch(const tenon_point& after, Arguments& a) const {
    if (after.queue)
      if (const char* text = queue_of(after.queue)->failure.load()) return text;
    for (size_t i = 0, next = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_feed) continue;
      const InlineBuffer* batch = buffer_of(a.fed[next++]);
      if (!batch || batch->bytes < inputs_[i].bytes) return "run: a fed buffer is missing or too small";
      a.in[i] = batch->data;
    }
    return nullptr;
  }

  // Whether an UNTIL result ends the run. Moves the results of each iteration to their next row.
  bool ended(Arguments& a) const {
    bool end = false;
    for (size_t r = 0; r < results_.size(); ++r) {
      end = end || (results_[r].mode == TENON_MODE_UNTIL && *a.out[r] != 0);
      if (results_[r].mode == TENON_MODE_EACH) a.out[r] += results_[r].bytes;
    }
    return end;
  }

  InlineDevice& device_;
  uint64_t workspace_;
  uint32_t max_iterations_;
  std::vector<Input> inputs_;  // those that are no scalars
  std::vector<Result> results_;
  std::vector<int32_t> scalars_;  // dtypes
  std::mutex mutex_;
  std::vector<uint8_t*> spare_;  // workspaces: lent to runs, so that two may go on at once
};

inline tenon_program* handle_of(InlineProgram* p) { return reinterpret_cast<tenon_program*>(p); }
inline InlineProgram* program_of(tenon_program* p) { return reinterpret_cast<InlineProgram*>(p); }

// The body of the entry `supports`: a verdict for each node, by verdict_of(NodeView).
template <class F>
void answer_nodes(const tenon_graph& graph, const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride,
                  F verdict_of) {
  static thread_local std::vector<std::string> reasons;  // live until this thread's next call
  reasons.assign(n, {});
  const GraphView view(graph);
  for (uint32_t i = 0; i < n; ++i) {
    const Verdict verdict = verdict_of(view.node(nodes[i]));
    reasons[i] = verdict.reason;
    const tenon_verdict v{verdict.answer, 1, 0, reasons[i].empty() ? nullptr : reasons[i].c_str()};
    std::memcpy(reinterpret_cast<uint8_t*>(out) + i * stride, &v, std::min<uint64_t>(stride, sizeof v));
  }
}

namespace inline_entries {

inline void program_destroy(tenon_program* program) { delete program_of(program); }

inline tenon_status run(tenon_queue* queue, const tenon_run* given, uint64_t* ticket, uint32_t* done) {
  return guarded([&] {
    const tenon_run run = known(given);
    if (done) *done = 0;
    check_flags(run.flags | (run.feed ? run.feed->flags : 0), 0, "run");
    queue_of(queue)->begin(run.after, run.n_after);
    if (!run.program) throw Error(TENON_INVALID, "run: needs a program");
    program_of(run.program)->run(*queue_of(queue), run, ticket, done);
  });
}

}  // namespace inline_entries

// Sets the entries of inline_device.h, and those of programs but compile.
inline void add_program_entries(tenon_backend& table) {
  add_inline_entries(table);
  table.program_destroy = inline_entries::program_destroy;
  table.run = inline_entries::run;
}

}  // namespace tenon::plugin
