#include "runtime/plan/planner.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "runtime/barriers.h"
#include "runtime/plan/arena_layout.h"
#include "runtime/plan/views.h"
#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

void copy_bytes(const Call& call, uint64_t bytes) {
  const Slice s = call.share(static_cast<int64_t>(bytes), 4096);
  if (s.end > s.begin)
    std::memcpy(call.out<uint8_t>(0) + s.begin, call.in<uint8_t>(0) + s.begin, static_cast<size_t>(s.end - s.begin));
}

Kernel copy_kernel(uint64_t bytes, const Env& env) {
  Kernel k;
  if (env.device) {
    k.run = [bytes](const Call& call) { call.stream->copy(call.out_address(0), call.in_address(0), bytes); };
    return k;
  }
  k.threads = bytes >= (64u << 10) ? kAllThreads : 1;
  k.run = [bytes](const Call& call) { copy_bytes(call, bytes); };
  return k;
}

class Planner {
 public:
  Planner(const GraphView& graph, const KernelTable& table, const Env& env)
      : graph_(graph),
        table_(table),
        env_(env),
        plan_(interface_of(graph)),
        buffer_of_(buffers_of(graph)),
        storage_(graph.n_values()),
        readers_(graph.n_values()),
        views_(find_views(graph)) {}

  Plan make() {
    make_kernels();
    find_readers();
    place_inputs();
    place_constants();
    place_results();
    place_values();
    place_scratch();
    place_stages();
    finish_arena();
    fill_steps();
    drop_views();
    add_result_copies();
    keep_layout();
    add_barriers(graph_, plan_);
    return std::move(plan_);
  }

 private:
  // Where a value lies: a fixed place, or block `block` of the arena.
  struct Storage {
    Place place;
    int32_t block = -1;
  };

  bool is_view(const NodeView& node) const { return views_.idle[node.index()]; }
  // The values that a node reads and writes, as memory sees them.
  uint32_t operand(const NodeView& node, int k) const { return views_.root[node.operand_id(k)]; }
  uint32_t result(const NodeView& node, int k) const { return views_.root[node.result_id(k)]; }
  uint32_t result_value(uint32_t r) const { return views_.root[graph_.result(r).value]; }

  void make_kernels() {
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      const NodeView node = graph_.node(i);
      if (is_view(node)) {
        plan_.steps.push_back({});
        plan_.steps.back().node = i;
        continue;
      }
      const Verdict verdict = answer_of(node, table_);
      if (verdict.answer != TENON_TAKE)
        throw NoKernel(std::string(node.op()) + " '" + std::string(node.name()) + "': " + verdict.reason);
      Step step;
      step.node = i;
      step.kernel = table_.find(node.op(), node.version())->make(node, env_);
      plan_.steps.push_back(std::move(step));
    }
    n_ = graph_.n_nodes();
  }

  void find_readers() {
    for (uint32_t i = 0; i < n_; ++i) {
      const NodeView node = graph_.node(i);
      for (int k = 0; k < node.operands(); ++k)
        if (node.has(k)) readers_[operand(node, k)].push_back(i);
    }
    for (uint32_t i = 0; i < graph_.n_results(); ++i) is_result_.push_back(result_value(i));
  }

  int32_t input_base(int32_t buffer) const { return kBaseFirstInput + buffer; }
  int32_t result_base(uint32_t r) const { return kBaseFirstInput + plan_.n_buffers + static_cast<int32_t>(r); }

  void place_inputs() {
    is_buffer_.assign(graph_.n_values(), false);
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) {
      const uint32_t v = graph_.input(i).value;
      if (buffer_of_[i] >= 0) {
        storage_[v].place = {input_base(buffer_of_[i]), 0};
        is_buffer_[v] = true;
      } else {
        storage_[v].block = new_block(0, n_, 64);
        block_scalar_.back() = i;
        scalar_values_.push_back(v);
      }
    }
  }

  void place_constants() {
    for (uint32_t i = 0; i < graph_.n_constants(); ++i) {
      const tenon_constant& c = graph_.constant(i);
      const ValueView value = graph_.value(c.value);
      const uint64_t size = static_cast<uint64_t>(value.bytes());
      const uint64_t at = align_up(plan_.constants.size());
      plan_.constants.resize(at + size);
      for (uint64_t b = 0; b != size; b += c.bytes)  // whole, or an element that fills it
        std::memcpy(&plan_.constants[at + b], graph_.constant_data(c), c.bytes);
      storage_[c.value].place = {kBaseConstants, at};
    }
  }

  bool placed(uint32_t v) const { return storage_[v].place.base >= 0 || storage_[v].block >= 0; }

  // The node that defines each value, of those that a node defines.
  std::vector<uint32_t> definers() const {
    std::vector<uint32_t> node(graph_.n_values());
    for (uint32_t i = 0; i < n_; ++i) {
      const NodeView view = graph_.node(i);
      for (int k = 0; k < view.results(); ++k)
        if (view.has_result(k)) node[view.result_id(k)] = i;
    }
    return node;
  }

  // Whether node `i` may write result value v over state s: everybody else has read s by then, and the
  // node itself may work in place.
  bool may_overwrite(uint32_t s, uint32_t i, uint32_t v) const {
    for (uint32_t r : readers_[s])
      if (r > i) return false;
    if (std::count(is_result_.begin(), is_result_.end(), s)) return false;
    return reads_only_in_place(i, s, v);
  }

  bool reads_only_in_place(uint32_t i, uint32_t s, uint32_t v) const {
    const NodeView node = graph_.node(i);
    const auto& pairs = plan_.steps[i].kernel.in_place;
    for (int k = 0; k < node.operands(); ++k) {
      if (!node.has(k) || operand(node, k) != s) continue;
      if (node.in(k).bytes() != graph_.value(s).bytes()) return false;  // a part of it
      const bool allowed = std::any_of(pairs.begin(), pairs.end(), [&](const std::pair<int, int>& p) {
        return p.first == k && p.second < node.results() && node.result_id(p.second) == v;
      });
      if (!allowed) return false;
    }
    return true;
  }

  // Results are computed where they end up when that is possible.
  void place_results() {
    const std::vector<uint32_t> definer = definers();
    for (uint32_t r = 0; r < graph_.n_results(); ++r) {
      const tenon_result& result = graph_.result(r);
      const uint32_t value = result_value(r);
      if (placed(value)) continue;  // an input, a constant, another result
      if (!result.alias) {
        storage_[value].place = {result_base(r), 0};
        continue;
      }
      const uint32_t node = definer[value], state = graph_.input(result.alias - 1).value;
      if (is_view(graph_.node(node))) continue;  // a join: while its first part is written, the state may still be read
      if (may_overwrite(state, node, value)) storage_[value].place = storage_[state].place;
    }
  }

  int32_t new_block(uint32_t first, uint32_t last, uint64_t bytes) {
    blocks_.push_back({first, last, align_up(bytes)});
    block_maker_.push_back(TENON_NONE);
    block_scalar_.push_back(TENON_NONE);
    return static_cast<int32_t>(blocks_.size() - 1);
  }

  uint32_t last_use(uint32_t v, uint32_t definer) const {
    if (std::count(is_result_.begin(), is_result_.end(), v)) return n_;
    return readers_[v].empty() ? definer : readers_[v].back();
  }

  // An operand whose block ends with this node and that the kernel may overwrite.
  int32_t reusable_block(const NodeView& node, uint32_t v, int result) {
    for (const auto& [in, res] : plan_.steps[node.index()].kernel.in_place) {
      if (res != result || !node.has(in)) continue;
      const uint32_t o = this->operand(node, in);
      const int32_t block = storage_[o].block;
      if (block < 0 || blocks_[block].last != node.index()) continue;  // a scalar's lasts to the end
      if (written_here(node, result, block)) continue;
      if (graph_.value(o).bytes() != graph_.value(v).bytes() || !reads_only_in_place(node.index(), o, v)) continue;
      return block;
    }
    return -1;
  }

  // Whether an earlier result of this node, which nobody may read, has taken the block already.
  bool written_here(const NodeView& node, int result, int32_t block) const {
    for (int k = 0; k < result; ++k)
      if (node.has_result(k) && storage_[this->result(node, k)].block == block) return true;
    return false;
  }

  void place_values() {
    for (uint32_t i = 0; i < n_; ++i) {
      const NodeView node = graph_.node(i);
      for (int k = 0; k < node.results(); ++k) {
        if (!node.has_result(k) || placed(result(node, k))) continue;
        const uint32_t v = result(node, k);
        const uint32_t last = last_use(v, i);
        const int32_t reuse = reusable_block(node, v, k);
        if (reuse >= 0) blocks_[reuse].last = last;
        check_size(node, "a value", static_cast<uint64_t>(graph_.value(v).bytes()));
        storage_[v].block = reuse >= 0 ? reuse : new_block(i, last, static_cast<uint64_t>(graph_.value(v).bytes()));
        if (reuse < 0) block_maker_.back() = i;
      }
    }
  }

  void place_scratch() {
    for (uint32_t i = 0; i < n_; ++i) {
      const Kernel& kernel = plan_.steps[i].kernel;
      check_size(graph_.node(i), "scratch", kernel.scratch_bytes);
      scratch_.push_back(kernel.scratch_bytes ? new_block(i, i, kernel.scratch_bytes) : -1);
      plan_.thread_scratch_bytes = std::max(plan_.thread_scratch_bytes, align_up(kernel.thread_scratch_bytes));
      plan_.threads = std::max(plan_.threads, std::min(kernel.threads, env_.threads));
    }
  }

  uint64_t largest_buffer() const { return env_.device ? env_.device->largest_buffer() : UINT64_MAX; }
  uint64_t largest_part() const {
    constexpr uint64_t kAlignment = 64;
    return largest_buffer() / kAlignment * kAlignment;
  }

  void check_size(const NodeView& node, const char* what, uint64_t bytes) const {
    if (bytes <= largest_part()) return;  // what is more may wrap when it is aligned
    throw Error(TENON_OUT_OF_MEMORY, std::string(node.op()) + " '" + std::string(node.name()) + "': " + what + " of " +
                                         std::to_string(bytes) + " bytes is more than this device's largest buffer, " +
                                         std::to_string(largest_buffer()));
  }

  Place place_of_result(uint32_t r) const {
    const tenon_result& result = graph_.result(r);
    return result.alias ? Place{input_base(buffer_of_[result.alias - 1]), 0} : Place{result_base(r), 0};
  }

  // A state that is handed on from another state goes through the arena, since both may be overwritten.
  void place_stages() {
    for (uint32_t r = 0; r < graph_.n_results(); ++r) {
      const uint32_t v = result_value(r);
      const bool staged = is_buffer_[v] && storage_[v].place.base != place_of_result(r).base;
      stages_.push_back(staged ? new_block(n_, n_, plan_.result_bytes[r]) : -1);
    }
  }

  void finish_arena() {
    plan_.arena_parts = place_blocks(blocks_, largest_part());
    if (!env_.device) {
      plan_.thread_scratch = plan_.arena_parts[0];
      plan_.arena_parts[0] += plan_.thread_scratch_bytes * plan_.threads;
    }
    for (uint32_t v : scalar_values_) plan_.scalars.push_back({place_of(v), graph_.value(v).dtype()});
  }

  Place place_of(uint32_t v) const {
    const Storage& s = storage_[v];
    return s.block < 0 ? s.place : plan_.arena_place(blocks_[s.block].offset);
  }

  Place place_in_root(uint32_t v) const {
    Place place = place_of(views_.root[v]);
    place.offset += views_.offset[v];
    return place;
  }

  void fill_steps() {
    for (uint32_t i = 0; i < n_; ++i) {
      const NodeView node = graph_.node(i);
      Step& step = plan_.steps[i];
      for (int k = 0; k < node.operands(); ++k)
        step.operands.push_back(node.has(k) ? place_in_root(node.operand_id(k)) : Place{});
      for (int k = 0; k < node.results(); ++k)
        step.results.push_back(node.has_result(k) ? place_in_root(node.result_id(k)) : Place{});
      // kernels may ask for optional operands past the end of the list
      step.operands.resize(step.operands.size() + 8);
      step.results.resize(step.results.size() + 8);
      if (scratch_[i] >= 0) step.scratch = plan_.arena_place(blocks_[scratch_[i]].offset);
    }
  }

  void drop_views() {
    plan_.steps.erase(std::remove_if(plan_.steps.begin(), plan_.steps.end(),
                                     [&](const Step& s) { return is_view(graph_.node(s.node)); }),
                      plan_.steps.end());
  }

  void add_copy(Place from, Place to, uint64_t bytes) {
    Step step;
    step.kernel = copy_kernel(bytes, env_);
    step.operands = {from};
    step.results = {to};
    plan_.steps.push_back(std::move(step));
  }

  // Results that could not be computed in place are copied at the end.
  void add_result_copies() {
    std::vector<std::tuple<Place, Place, uint64_t>> last;
    for (uint32_t r = 0; r < graph_.n_results(); ++r) {
      const Place to = place_of_result(r);
      Place from = place_of(result_value(r));
      if (from.base == to.base) continue;
      const uint64_t bytes = plan_.result_bytes[r];
      if (stages_[r] >= 0) {
        const Place stage = plan_.arena_place(blocks_[stages_[r]].offset);
        add_copy(from, stage, bytes);
        from = stage;
      }
      last.push_back({from, to, bytes});
    }
    for (const auto& [from, to, bytes] : last) add_copy(from, to, bytes);
  }

  void keep_layout() {
    MemoryLayout& to = plan_.memory;
    for (uint32_t v = 0; v < graph_.n_values(); ++v) {
      const Storage& s = storage_[views_.root[v]];
      const uint64_t at = s.block < 0 && s.place.base >= 0 ? s.place.offset : 0;
      to.values.push_back({s.place.base, s.block, at + views_.offset[v]});
    }
    to.blocks = std::move(blocks_);
    to.makers = std::move(block_maker_);
    to.scalars = std::move(block_scalar_);
  }

  GraphView graph_;
  const KernelTable& table_;
  const Env& env_;
  Plan plan_;
  std::vector<int32_t> buffer_of_;
  uint32_t n_ = 0;
  std::vector<Storage> storage_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<uint32_t> is_result_;
  Views views_;
  std::vector<bool> is_buffer_;  // each value: it is an input's buffer
  std::vector<uint32_t> scalar_values_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> block_maker_, block_scalar_;  // as in MemoryLayout
  std::vector<int32_t> scratch_, stages_;             // blocks of each node, of each result; -1: none
};

}  // namespace

Verdict answer_of(const NodeView& node, const KernelTable& table) {
  if (const std::string_view name = unknown_attribute(node); !name.empty())
    return refuse("attribute '" + std::string(name) + "' is not known here");
  if (const std::string value = unknown_value(node); !value.empty()) return refuse(value + " is not known here");
  const Entry* entry = table.find(node.op(), node.version());
  if (entry) return entry->accept(node);
  return {TENON_DECOMPOSE, "no kernel for this op"};
}

Plan make_plan(const GraphView& graph, const KernelTable& table, const Env& env) {
  return Planner(graph, table, env).make();
}

}  // namespace tenon::plugin
