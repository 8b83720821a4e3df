// Which maps of a graph become one kernel.
#pragma once

#include <vector>

#include "device/spread.h"
#include "tenon/plugin/matcher.h"

namespace opencl_gpu {

struct Chain {
  struct Operand {
    uint32_t value;
    Spread spread;  // of a broadcast or slice that is not stored
    bool operator==(const Operand& o) const { return value == o.value && spread == o.spread; }
  };
  std::vector<uint32_t> nodes;   // in order; the chain stands where its last one stood
  uint32_t reduce = TENON_NONE;  // what folds the last value of the chain, in whose place it then stands
  std::vector<Operand> operands;
  std::vector<uint32_t> results;  // values that others read
  JointAxes axes{1};
  bool any_spread = false;

  uint32_t place() const { return reduce == TENON_NONE ? nodes.back() : reduce; }
  // A chain of one node, which stays as it is.
  bool is_plain() const { return nodes.size() <= 1 && !any_spread && reduce == TENON_NONE; }
};

// A node that any order of its neighbours in the graph suits joins the chains of its operands where nothing between
// them and it reads what they make. A broadcast or slice is read by index in the chains that it reaches, if what lies side by
// side there is `run` elements or more. Then each reduce takes the chain that makes its operand, where the same holds.
class Chains {
 public:
  Chains(const tenon::plugin::Matching& matching, int64_t run);

  const std::vector<Chain>& all() const { return chains_; }  // plain ones, and such as others took in, among them

  // The chain that a node is part of, as a map or a reduce; nullptr: the node stays.
  const Chain* chain_of(uint32_t node) const;
  // A broadcast, slice or reshape that nothing reads any more.
  bool is_left_out(uint32_t node) const { return left_out_[node]; }
  // What the result of a broadcast or slice is read from; value TENON_NONE: the value itself.
  const Chain::Operand& source_of(uint32_t value) const { return spreads_[value]; }

 private:
  void find_spreads();
  void read_by_index(const tenon::plugin::NodeView& node);
  void find_left_out();
  void join(uint32_t i);
  void merge(uint32_t from, uint32_t to);
  void give_to_reduce(uint32_t i);
  bool in_chain(uint32_t node, uint32_t chain) const { return node != TENON_NONE && chain_of_[node] == chain; }
  uint32_t chain_that_makes(uint32_t value) const;  // TENON_NONE: none
  bool may_move_to(uint32_t chain, uint32_t i) const;
  bool fits(uint32_t chain, const tenon::plugin::NodeView& node) const;
  bool find_interface(Chain& chain) const;
  Chain::Operand operand_of(Chain& chain, uint32_t value) const;

  const tenon::plugin::GraphIndex& index_;
  const tenon::plugin::GraphView& graph_;
  int64_t run_;
  std::vector<uint32_t> chain_of_;       // of each node
  std::vector<Chain::Operand> spreads_;  // of each value: what it is read from by index, if it is
  std::vector<Chain> chains_;
  std::vector<bool> left_out_;
};

// Whether a node changes no element and no order: its result is its operand.
bool is_only_a_name(const tenon::plugin::NodeView& node);

}  // namespace opencl_gpu
