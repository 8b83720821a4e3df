// The values of a graph for several units, while it is written: each lies in the form in which it was made, and is
// put into the forms in which it is asked for.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/plugin/replicas.h"

namespace tenon::plugin {

class ReplicaValues {
 public:
  using Ids = std::vector<uint32_t>;
  using Dims = std::vector<int64_t>;

  ReplicaValues(const GraphView& graph, uint32_t units);

  // ---- writing; `v` counts the given graph's values, what is returned the new one's ----

  // What is written from now on comes from that node of the given graph, or from none.
  void begin(uint32_t node) { source_ = node; }
  uint32_t source() const { return source_; }
  GraphBuilder& start(std::string_view op, const Ids& operands, const Ids& results, uint32_t unit = 0);
  uint32_t make(uint32_t v, const Dims& dims);
  uint32_t reshaped(uint32_t id, uint32_t v, const Dims& dims);
  // Elements [first, first + size) along an axis of a value of these dims.
  uint32_t cut(uint32_t id, uint32_t v, Dims dims, int64_t axis, int64_t first, int64_t size, uint32_t unit);
  uint32_t concat(const Ids& parts, uint32_t v, const Dims& dims, int64_t axis);
  GraphBuilder& builder() { return builder_; }
  UnrolledGraph finish();

  // ---- what a value is ----

  Dims dims(uint32_t v) const { return graph_.value(v).dims().vec(); }
  int32_t dtype(uint32_t v) const { return graph_.value(v).dtype(); }
  // The dimensions of all parts together; a scalar's become a list.
  Dims joined_dims(uint32_t v) const;
  Dims stacked_dims(uint32_t v) const;
  uint32_t definer(uint32_t v) const { return values_[v].definer; }
  bool is_same(uint32_t v) const { return values_[v].same != TENON_NONE; }
  bool has_sum(uint32_t v) const { return values_[v].sum != TENON_NONE; }

  // TENON_NONE gives TENON_NONE.
  uint32_t part(uint32_t v, uint32_t unit);
  // All units' parts along axis 0, also of what is the same.
  uint32_t joined(uint32_t v);
  // The same, with an axis of the units in front.
  uint32_t stacked(uint32_t v);
  // A scalar that differs between units, as one for each element of joined `like`.
  uint32_t spread(uint32_t v, uint32_t like);
  // REQUIRED: is_same. n times the value.
  uint32_t times(uint32_t v);

  void define(uint32_t v, uint32_t node) { values_[v].definer = node; }
  void set_same(uint32_t v, uint32_t id) { values_[v].same = id; }
  void set_joined(uint32_t v, uint32_t id) { values_[v].joined = id; }
  void set_sum(uint32_t v, uint32_t id) { values_[v].sum = id; }
  uint32_t sum(uint32_t v) const { return values_[v].sum; }
  void add_part(uint32_t v, uint32_t id) { values_[v].parts.push_back(id); }

 private:
  // `same` on all units, or a part for each, or all parts joined, or of all parts the sum, which is all that is read.
  struct Value {
    uint32_t same = TENON_NONE, joined = TENON_NONE, stacked = TENON_NONE, sum = TENON_NONE;
    Ids parts;
    uint32_t definer = TENON_NONE;  // the node that makes it
  };
  uint32_t part_of(uint32_t joined, uint32_t v, uint32_t unit);
  uint32_t repeated(uint32_t v);
  uint32_t repeated_again(uint32_t v);
  uint32_t filled(uint32_t v);
  uint32_t broadcast(uint32_t id, uint32_t v, const Dims& dims, const Dims& to);
  uint32_t number_of_units(int32_t dtype);

  GraphView graph_;
  uint32_t n_;
  std::vector<Value> values_;
  std::vector<uint32_t> constant_of_;  // each value: its constant, or TENON_NONE
  GraphBuilder builder_;
  std::vector<UnrolledGraph::Origin> origins_;
  uint32_t source_ = TENON_NONE;
};

}  // namespace tenon::plugin
