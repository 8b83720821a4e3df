#include "fuse/chains.h"

#include <algorithm>

#include "ops/elementwise.h"

namespace opencl_gpu {

using tenon::plugin::NodeView;

namespace {

constexpr size_t kMostNodes = 48;     // of a chain: a kernel's text stays small
constexpr size_t kMostMemories = 20;  // of a chain: every OpenCL device takes so many arguments
constexpr size_t kMostSpreads = 8;    // the same

bool is_static(const NodeView& node) { return node.version() == 1 && node.has_result(0); }

bool may_join(const NodeView& node) { return is_static(node) && (is_elementwise(node.op()) || is_only_a_name(node)); }

}  // namespace

bool is_only_a_name(const NodeView& node) {
  return node.op() == "reshape" || (node.op() == "broadcast" && node.in(0).elements() == node.out(0).elements());
}

Chains::Chains(const tenon::plugin::Matching& matching, int64_t run)
    : index_(matching), graph_(matching.graph()), run_(run) {
  chain_of_.assign(graph_.n_nodes(), TENON_NONE);
  left_out_.assign(graph_.n_nodes(), false);
  find_spreads();
  for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
    if (matching.is_free(i) && may_join(graph_.node(i))) join(i);
  for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
    if (matching.is_free(i) && graph_.node(i).op() == "reduce") give_to_reduce(i);
  for (Chain& chain : chains_) find_interface(chain);
  find_left_out();
}

const Chain* Chains::chain_of(uint32_t node) const {
  if (chain_of_[node] == TENON_NONE) return nullptr;
  const Chain& chain = chains_[chain_of_[node]];
  return chain.is_plain() ? nullptr : &chain;
}

void Chains::find_spreads() {
  spreads_.assign(graph_.n_values(), {TENON_NONE, {}});
  for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
    const NodeView node = graph_.node(i);
    if (!is_static(node) || node.operands() < 1) continue;
    if (is_only_a_name(node))
      spreads_[node.result_id(0)] = spreads_[node.operand_id(0)];
    else if (node.op() == "broadcast" || node.op() == "slice")
      read_by_index(node);
  }
}

// What is side by side in a chain's result has to be one element there, or side by side too.
void Chains::read_by_index(const NodeView& node) {
  const Spread spread = spread_of(node);
  if (spread.stride.back() == 0 || spread.stride.back() == 1)
    spreads_[node.result_id(0)] = {node.operand_id(0), spread};
}

// Whether the chain may move behind everything before node i.
bool Chains::may_move_to(uint32_t chain, uint32_t i) const {
  for (uint32_t member : chains_[chain].nodes)
    for (uint32_t reader : index_.readers(graph_.node(member).result_id(0)))
      if (reader < i && !in_chain(reader, chain)) return false;
  return true;
}

bool Chains::fits(uint32_t chain, const NodeView& node) const {
  const Chain& c = chains_[chain];
  return c.nodes.size() < kMostNodes && graph_.node(c.nodes[0]).out(0).elements() == node.out(0).elements();
}

uint32_t Chains::chain_that_makes(uint32_t value) const {
  const auto maker = index_.maker(value);
  return maker ? chain_of_[maker->index()] : TENON_NONE;
}

void Chains::join(uint32_t i) {
  const NodeView node = graph_.node(i);
  uint32_t mine = TENON_NONE;
  for (int k = 0; k < node.operands(); ++k) {
    const uint32_t chain = chain_that_makes(node.operand_id(k));
    if (chain == TENON_NONE) continue;
    if (chain == mine || !fits(chain, node) || !may_move_to(chain, i)) continue;
    if (mine == TENON_NONE) {
      Chain with = chains_[chain];
      with.nodes.push_back(i);
      if (!find_interface(with)) continue;
      mine = chain;
      chains_[mine].nodes.push_back(i);
      chain_of_[i] = mine;
    } else {
      merge(chain, mine);
    }
  }
  if (mine != TENON_NONE || is_only_a_name(node)) return;  // a name alone is no work
  chain_of_[i] = static_cast<uint32_t>(chains_.size());
  chains_.push_back({});
  chains_.back().nodes = {i};
}

void Chains::merge(uint32_t from, uint32_t to) {
  Chain both = chains_[to];
  both.nodes.insert(both.nodes.end(), chains_[from].nodes.begin(), chains_[from].nodes.end());
  std::sort(both.nodes.begin(), both.nodes.end());
  if (both.nodes.size() > kMostNodes || !find_interface(both)) return;
  for (uint32_t node : chains_[from].nodes) chain_of_[node] = to;
  chains_[to].nodes = both.nodes;
  chains_[from].nodes.clear();
}

void Chains::give_to_reduce(uint32_t i) {
  const NodeView node = graph_.node(i);
  const uint32_t chain = is_static(node) ? chain_that_makes(node.operand_id(0)) : TENON_NONE;
  if (chain == TENON_NONE) return;
  if (chains_[chain].reduce != TENON_NONE || !may_move_to(chain, i)) return;
  Chain with = chains_[chain];
  with.reduce = i;
  if (!find_interface(with)) return;
  chains_[chain].reduce = i;
  chain_of_[i] = chain;
}

// A broadcast or slice by index, where the chain's other operands and the kernel's arguments leave room for that.
Chain::Operand Chains::operand_of(Chain& chain, uint32_t value) const {
  const Chain::Operand& spread = spreads_[value];
  if (std::count(chain.operands.begin(), chain.operands.end(), spread)) return spread;
  const size_t spreads = static_cast<size_t>(
      std::count_if(chain.operands.begin(), chain.operands.end(), [](const auto& o) { return !o.spread.n.empty(); }));
  // One element beside many is no spread over them: it is read from where it is stored.
  const bool whole = graph_.value(value).elements() == graph_.node(chain.nodes[0]).out(0).elements();
  if (spread.value == TENON_NONE || !whole || spreads >= kMostSpreads || !chain.axes.add(spread.spread, run_))
    return {value, {}};
  chain.any_spread = true;
  return spread;
}

// What the chain reads and what others read of it. false: more than one kernel takes.
bool Chains::find_interface(Chain& chain) const {
  chain.operands.clear();
  chain.results.clear();
  chain.any_spread = false;
  if (chain.nodes.empty()) return true;
  chain.axes = JointAxes(graph_.node(chain.nodes[0]).out(0).elements());
  const auto inside = [&](uint32_t node) {
    return node != TENON_NONE &&
           (node == chain.reduce || std::binary_search(chain.nodes.begin(), chain.nodes.end(), node));
  };
  for (uint32_t i : chain.nodes) {
    const NodeView node = graph_.node(i);
    for (int k = 0; k < node.operands(); ++k) {
      const uint32_t v = node.operand_id(k);
      if (const auto maker = index_.maker(v); maker && inside(maker->index())) continue;
      const Chain::Operand operand = operand_of(chain, v);
      if (!std::count(chain.operands.begin(), chain.operands.end(), operand)) chain.operands.push_back(operand);
    }
    const uint32_t y = node.result_id(0);
    const std::vector<uint32_t>& readers = index_.readers(y);
    if (!std::all_of(readers.begin(), readers.end(), inside) || readers.empty()) chain.results.push_back(y);
  }
  return chain.operands.size() + chain.results.size() + (chain.reduce != TENON_NONE) <= kMostMemories;
}

void Chains::find_left_out() {
  std::vector<bool> needed(graph_.n_values(), false);
  for (uint32_t r = 0; r < graph_.n_results(); ++r) needed[graph_.result(r).value] = true;
  for (uint32_t i = graph_.n_nodes(); i-- > 0;) {
    const NodeView node = graph_.node(i);
    if (const Chain* chain = chain_of(i)) {
      if (chain->place() == i)
        for (const Chain::Operand& o : chain->operands) needed[o.value] = true;
      continue;
    }
    if (is_static(node) && spreads_[node.result_id(0)].value != TENON_NONE && !needed[node.result_id(0)]) {
      left_out_[i] = true;
      continue;
    }
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k)) needed[node.operand_id(k)] = true;
  }
}

}  // namespace opencl_gpu
