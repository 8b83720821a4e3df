#include "fuse_chains.h"

#include <algorithm>
#include <map>

#include "elementwise.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::GraphView;
using tenon::plugin::KernelTable;
using tenon::plugin::Rewrite;
using tenon::plugin::Rewritten;

constexpr char kChain[] = "opencl-gpu.chain";
constexpr size_t kMostNodes = 48;    // of a chain: a kernel's text stays small
constexpr size_t kMostMemories = 20;  // of a chain: every OpenCL device takes so many arguments

struct Chain {
  std::vector<uint32_t> nodes;  // in order; the chain stands where its last one stood
  std::vector<uint32_t> operands, results;
};

// A node that any order of its neighbours in the graph suits: it joins the chains of its operands where nothing between them
// and it reads what they make.
class Chains {
 public:
  explicit Chains(const GraphView& graph) : graph_(graph), readers_(graph.n_values()), maker_(graph.n_values(), TENON_NONE) {
    chain_of_.assign(graph.n_nodes(), TENON_NONE);
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
      const NodeView node = graph.node(i);
      for (int k = 0; k < node.operands(); ++k)
        if (node.has(k)) readers_[node.operand_id(k)].push_back(i);
      for (int k = 0; k < node.results(); ++k)
        if (node.has_result(k)) maker_[node.result_id(k)] = i;
    }
    for (uint32_t r = 0; r < graph.n_results(); ++r) readers_[graph.result(r).value].push_back(TENON_NONE);
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      if (may_join(graph.node(i))) join(i);
    for (Chain& chain : chains_) find_interface(chain);
  }

  // The chain that stands in the place of the node's; nullptr: the node stays.
  const Chain* chain_of(uint32_t node) const {
    if (chain_of_[node] == TENON_NONE) return nullptr;
    const Chain& chain = chains_[chain_of_[node]];
    return chain.nodes.size() > 1 ? &chain : nullptr;
  }
  bool any() const {
    return std::any_of(chains_.begin(), chains_.end(), [](const Chain& c) { return c.nodes.size() > 1; });
  }

 private:
  static bool may_join(const NodeView& node) {
    if (node.version() != 1 || node.out(0).has_extents()) return false;
    return is_elementwise(node.op()) || node.op() == "reshape";
  }

  bool in_chain(uint32_t node, uint32_t chain) const { return node != TENON_NONE && chain_of_[node] == chain; }

  // Whether the chain may move behind everything before node i.
  bool may_move_to(uint32_t chain, uint32_t i) const {
    for (uint32_t member : chains_[chain].nodes)
      for (uint32_t reader : readers_[graph_.node(member).result_id(0)])
        if (reader < i && !in_chain(reader, chain)) return false;
    return true;
  }

  size_t memories_with(uint32_t chain, const NodeView& node) const {
    Chain tried = chains_[chain];
    tried.nodes.push_back(node.index());
    find_interface(tried);
    return tried.operands.size() + tried.results.size();
  }

  void join(uint32_t i) {
    const NodeView node = graph_.node(i);
    uint32_t mine = TENON_NONE;
    for (int k = 0; k < node.operands(); ++k) {
      const uint32_t maker = maker_[node.operand_id(k)];
      if (maker == TENON_NONE || chain_of_[maker] == TENON_NONE) continue;
      const uint32_t chain = chain_of_[maker];
      if (chain == mine || !fits(chain, node) || !may_move_to(chain, i)) continue;
      if (mine == TENON_NONE) {
        if (memories_with(chain, node) > kMostMemories) continue;
        mine = chain;
        chains_[mine].nodes.push_back(i);
        chain_of_[i] = mine;
      } else {
        merge(chain, mine);
      }
    }
    if (mine != TENON_NONE || node.op() == "reshape") return;  // a reshape alone is no work
    chain_of_[i] = static_cast<uint32_t>(chains_.size());
    chains_.push_back({{i}, {}, {}});
  }

  bool fits(uint32_t chain, const NodeView& node) const {
    const Chain& c = chains_[chain];
    return c.nodes.size() < kMostNodes && graph_.node(c.nodes[0]).out(0).elements() == node.out(0).elements();
  }

  void merge(uint32_t from, uint32_t to) {
    Chain both = chains_[to];
    both.nodes.insert(both.nodes.end(), chains_[from].nodes.begin(), chains_[from].nodes.end());
    std::sort(both.nodes.begin(), both.nodes.end());
    find_interface(both);
    if (both.nodes.size() > kMostNodes || both.operands.size() + both.results.size() > kMostMemories) return;
    for (uint32_t node : chains_[from].nodes) chain_of_[node] = to;
    chains_[to] = {both.nodes, {}, {}};
    chains_[from].nodes.clear();
  }

  void find_interface(Chain& chain) const {
    chain.operands.clear();
    chain.results.clear();
    const auto inside = [&](uint32_t node) {
      return node != TENON_NONE && std::binary_search(chain.nodes.begin(), chain.nodes.end(), node);
    };
    for (uint32_t i : chain.nodes) {
      const NodeView node = graph_.node(i);
      for (int k = 0; k < node.operands(); ++k) {
        const uint32_t v = node.operand_id(k);
        if (!inside(maker_[v]) && !std::count(chain.operands.begin(), chain.operands.end(), v)) chain.operands.push_back(v);
      }
      const uint32_t y = node.result_id(0);
      if (!std::all_of(readers_[y].begin(), readers_[y].end(), inside) || readers_[y].empty()) chain.results.push_back(y);
    }
  }

  GraphView graph_;
  std::vector<std::vector<uint32_t>> readers_;  // of each value; TENON_NONE: it is a result
  std::vector<uint32_t> maker_;                 // of each value
  std::vector<uint32_t> chain_of_;              // of each node
  std::vector<Chain> chains_;
};

std::string body_of(const GraphView& graph, const Chain& chain) {
  std::map<uint32_t, std::string> names;
  for (size_t k = 0; k < chain.operands.size(); ++k) names[chain.operands[k]] = "x" + std::to_string(k);
  std::string body;
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    const NodeView node = graph.node(chain.nodes[i]);
    std::vector<std::string> operands;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(names.at(node.operand_id(k)));
    std::string& name = names[node.result_id(0)];
    if (node.op() == "reshape") {
      name = operands[0];
      continue;
    }
    name = "t" + std::to_string(i);
    body += statement(node, name, operands) + "\n    ";
  }
  for (size_t k = 0; k < chain.results.size(); ++k) {
    const std::string type = std::string("W_") + tenon::plugin::dtype_name(graph.value(chain.results[k]).dtype());
    body += "const " + type + " y" + std::to_string(k) + " = " + names.at(chain.results[k]) + ";\n    ";
  }
  return body;
}

void add_chain(const GraphView& graph, const Chain& chain, Rewrite& rewrite) {
  std::vector<uint32_t> operands, results;
  for (uint32_t v : chain.operands) operands.push_back(rewrite.value(v));
  for (uint32_t v : chain.results) results.push_back(rewrite.value(v));
  const std::string body = body_of(graph, chain);
  rewrite.add(kChain, operands, results, graph.node(chain.nodes.back())).attr_bytes("body", body.data(), body.size());
}

}  // namespace

Rewritten fuse_chains(const GraphView& graph, const Env&) {
  const Chains chains(graph);
  if (!chains.any()) return {};
  Rewrite rewrite(graph);
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const Chain* chain = chains.chain_of(i);
    if (!chain)
      rewrite.copy(graph.node(i));
    else if (chain->nodes.back() == i)
      add_chain(graph, *chain, rewrite);
  }
  return rewrite.finish();
}

void add_chains(KernelTable& table) {
  table.add_own(kChain, [](const NodeView& node, const Env& env) {
    const tenon_attr& body = *node.find("body");
    const auto* text = reinterpret_cast<const char*>(node.graph().attr_data(body));
    return map_kernel(driver_of(*env.device), node, std::string(text, body.count));
  });
}

}  // namespace opencl_gpu
