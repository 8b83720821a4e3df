#include "fuse/fuse_chains.h"

#include <map>
#include <memory>

#include "fuse/chains.h"
#include "ops/elementwise.h"
#include "ops/reductions.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::GraphBuilder;
using tenon::plugin::GraphView;
using tenon::plugin::KernelTable;
using tenon::plugin::Match;
using tenon::plugin::Matching;
using tenon::plugin::Pattern;
using tenon::plugin::Rewrite;
using tenon::plugin::Rewritten;

constexpr char kChain[] = "opencl-gpu.chain";

// A value as a chain reads it: of a broadcast or slice that is not stored, its operand's name.
class Names {
 public:
  Names(const Chains& chains, const Chain& chain) : chains_(chains) {
    for (size_t k = 0; k < chain.operands.size(); ++k)
      operands_.push_back({chain.operands[k], "x" + std::to_string(k)});
  }
  std::string& of_result(uint32_t value) { return made_[value]; }
  const std::string& of(uint32_t value) const {
    if (const auto found = made_.find(value); found != made_.end()) return found->second;
    const Chain::Operand stored{value, {}}, &spread = chains_.source_of(value);
    for (const auto& [operand, name] : operands_)
      if (operand == stored || (spread.value != TENON_NONE && operand == spread)) return name;
    throw tenon::plugin::Error(TENON_INTERNAL, "a chain reads what it does not have");
  }

 private:
  const Chains& chains_;
  std::vector<std::pair<Chain::Operand, std::string>> operands_;
  std::map<uint32_t, std::string> made_;
};

std::string wide_type(const tenon::plugin::ValueView& v) {
  return std::string("W_") + tenon::plugin::dtype_name(v.dtype());
}

std::string body_of(const GraphView& graph, const Chains& chains, const Chain& chain) {
  Names names(chains, chain);
  std::string body;
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    const NodeView node = graph.node(chain.nodes[i]);
    std::vector<std::string> operands;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(names.of(node.operand_id(k)));
    std::string& name = names.of_result(node.result_id(0));
    if (is_only_a_name(node)) {
      name = operands[0];
      continue;
    }
    name = "t" + std::to_string(i);
    body += statement(node, name, operands) + " ";
  }
  for (size_t k = 0; k < chain.results.size(); ++k)
    body += "const " + wide_type(graph.value(chain.results[k])) + " y" + std::to_string(k) + " = " +
            names.of(chain.results[k]) + "; ";
  if (chain.reduce != TENON_NONE)
    body += "const Sum folded = " + names.of(graph.node(chain.reduce).operand_id(0)) + ";";
  return body;
}

std::vector<int64_t> strides_of(const GraphView& graph, const Chain& chain) {
  std::vector<int64_t> all;
  for (const Chain::Operand& o : chain.operands) {
    std::vector<int64_t> strides = chain.axes.strides(o.spread);
    if (graph.value(o.value).elements() == 1) strides.assign(strides.size(), 0);
    all.insert(all.end(), strides.begin(), strides.end());
  }
  return all;
}

std::vector<int64_t> starts_of(const Chain& chain) {
  std::vector<int64_t> all;
  for (const Chain::Operand& o : chain.operands) all.push_back(o.spread.start);
  return all;
}

void add_chain(const GraphView& graph, const Chains& chains, const Chain& chain, Rewrite& rewrite) {
  std::vector<uint32_t> operands, results;
  for (const Chain::Operand& o : chain.operands) operands.push_back(rewrite.value(o.value));
  const NodeView last = graph.node(chain.place());
  const bool folds = chain.reduce != TENON_NONE;
  if (folds) results.push_back(rewrite.value(last.result_id(0)));
  for (uint32_t v : chain.results) results.push_back(rewrite.value(v));
  const std::string body = body_of(graph, chains, chain);
  GraphBuilder& node = rewrite.add(folds ? kFoldedMap : kChain, operands, results, last);
  node.attr_bytes("body", body.data(), body.size());
  node.attr_list("axes", chain.axes.sizes()).attr_list("strides", strides_of(graph, chain));
  node.attr_list("starts", starts_of(chain));
  if (!folds) return;
  node.attr_enum("kind", last.enumerator("kind"));
  node.attr_list("dims", last.in(0).dims().vec()).attr_list("folded", last.list("axes").vec());
}

void join_maps(Matching& m, int64_t run) {
  const auto chains = std::make_shared<const Chains>(m, run);
  bool any = false;
  for (const Chain& chain : chains->all()) {
    if (chain.is_plain()) continue;
    any = true;
    Match match(chain.nodes, chain.place(),
                [&graph = m.graph(), chains, &chain](Rewrite& to) { add_chain(graph, *chains, chain, to); });
    if (chain.reduce != TENON_NONE) match.nodes.push_back(chain.reduce);
    m.claim(std::move(match));
  }
  for (uint32_t i = 0; any && i < m.graph().n_nodes(); ++i)
    if (chains->is_left_out(i)) m.claim(Match({i}));
}

}  // namespace

Rewritten fuse_chains(const GraphView& graph, int64_t run) {
  return tenon::plugin::rewrite(graph, {Pattern([run](Matching& m) { join_maps(m, run); })});
}

Rewritten fuse_chains_for(const GraphView& graph, const Env& env) {
  constexpr int64_t kVectors = 16;  // elements that a CPU's loop must be long to pay
  return fuse_chains(graph, driver_of(*env.device).style() == KernelStyle::kCpu ? kVectors : 1);
}

void add_chains(KernelTable& table) {
  table.add_own(kChain, [](const NodeView& node, const Env& env) {
    const tenon_attr& body = *node.find("body");
    const auto* text = reinterpret_cast<const char*>(node.graph().attr_data(body));
    return map_kernel(driver_of(*env.device), node, std::string(text, body.count));
  });
}

}  // namespace opencl_gpu
