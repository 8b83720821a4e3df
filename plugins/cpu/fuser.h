// Finds nodes of a graph that one node of cpu.so's own can stand for (rewrite.h has the list).
#pragma once

#include <string_view>

#include "tenon/plugin/fuser.h"

namespace tenon::cpu {

using plugin::copy_attributes;
using plugin::Fuser;
using plugin::readers_of;

std::unique_ptr<Fuser> fuse_updates(const plugin::GraphView& graph);
// These two leave what `others` replaces.
std::unique_ptr<Fuser> fuse_statistics(const plugin::GraphView& graph, const Fuser& others);
std::unique_ptr<Fuser> fuse_sums(const plugin::GraphView& graph, const Fuser& others);
std::unique_ptr<Fuser> fuse_pads(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_casts(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_rounding(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_norms(const plugin::GraphView& graph);
std::unique_ptr<Fuser> fuse_dropout(const plugin::GraphView& graph);

// Updates by rules that take an element at a time, whatever the others are.
bool takes_blocks(std::string_view op);

// Who makes and who reads the values of a graph.
class Uses {
 public:
  explicit Uses(const plugin::GraphView& graph);

  // Nodes; TENON_NONE among the readers: the value is a result; as the maker: nobody makes it.
  const std::vector<uint32_t>& readers(uint32_t value) const { return readers_[value]; }
  uint32_t maker(uint32_t value) const { return makers_[value]; }

  bool is_only_reader(uint32_t value, uint32_t node) const {
    return readers_[value].size() == 1 && readers_[value][0] == node;
  }
  // What `value` is a reshape of, or itself.
  uint32_t before_reshape(uint32_t value) const;
  // Whether a variable that `early` reads is updated before `late` is computed: what stands there instead of both would
  // keep the planner from updating in place.
  bool changes_between(const plugin::NodeView& early, const plugin::NodeView& late) const;

 private:
  plugin::GraphView graph_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<uint32_t> makers_;
};

}  // namespace tenon::cpu
