#include "validation/graph_check.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "tenon/plugin/graph.h"
#include "validation/report.h"

namespace tenon::plugin::validation {
namespace {

class Checker {
 public:
  explicit Checker(const tenon_graph& graph) : graph_(graph), view_(graph) {}

  Signature run() {
    check_arrays();
    defined_.assign(graph_.values.count, false);
    for (uint32_t i = 0; i < graph_.values.count; ++i) check_value(i);
    for (uint32_t i = 0; i < graph_.inputs.count; ++i) check_input(i);
    for (uint32_t i = 0; i < graph_.constants.count; ++i) check_constant(i);
    for (uint32_t i = 0; i < graph_.nodes.count; ++i) check_node(i);
    for (uint32_t i = 0; i < graph_.results.count; ++i) check_result(i);
    for (uint32_t i = 0; i < graph_.values.count; ++i) check_extents(i);
    return std::move(out_);
  }

 private:
  void check_arrays() const {
    if (!graph_.data || reinterpret_cast<uintptr_t>(graph_.data) % 64) host_broke("graph: data is not 64-byte aligned");
    check_array(graph_.values, sizeof(tenon_value), "values");
    check_array(graph_.nodes, sizeof(tenon_node), "nodes");
    check_array(graph_.ids, sizeof(uint32_t), "ids");
    check_array(graph_.attrs, sizeof(tenon_attr), "attrs");
    check_array(graph_.inputs, sizeof(tenon_input), "inputs");
    check_array(graph_.results, sizeof(tenon_result), "results");
    check_array(graph_.constants, sizeof(tenon_constant), "constants");
    check_array(graph_.strings, 1, "strings");
  }

  void check_array(const tenon_array& a, uint64_t element, const char* name) const {
    if (a.count == 0) return;
    if (a.stride < element)
      host_broke("graph: ", name, " have a stride of ", a.stride, ", expected ", element, " or more");
    if (element % 4 == 0 && (a.at % 4 || a.stride % 4)) host_broke("graph: ", name, " are not aligned");
    const uint64_t bytes = uint64_t{a.count} * a.stride;
    if (a.at > graph_.data_size || bytes > graph_.data_size - a.at)
      host_broke("graph: ", name, " end beyond its ", graph_.data_size, " bytes");
  }

  void check_text(const tenon_text& t, const char* what, uint32_t i) const {
    if (t.at == 0 && t.size == 0) return;  // none
    const bool there = t.at < graph_.strings.count && t.size < graph_.strings.count - t.at;
    if (!there || graph_.data[graph_.strings.at + t.at + t.size] != 0)
      host_broke("graph: the name of ", what, " ", i, " is no string");
  }

  void check_range(const tenon_range& r, uint32_t count, const char* what, uint32_t node) const {
    if (r.first > count || r.count > count - r.first) host_broke("graph: node ", node, " has ", what, " out of range");
  }

  const tenon_value& raw_value(uint32_t i) const {
    return *reinterpret_cast<const tenon_value*>(graph_.data + graph_.values.at + uint64_t{i} * graph_.values.stride);
  }

  void check_value(uint32_t i) const {
    const tenon_value& v = raw_value(i);
    check_text(v.name, "value", i);
    if (v.rank > TENON_MAX_RANK) host_broke("graph: value ", i, " has rank ", v.rank);
    int64_t elements = 16;  // bytes of the largest element, with room to spare
    for (uint32_t d = 0; d < v.rank; ++d)
      if (v.dims[d] < 1 || __builtin_mul_overflow(elements, v.dims[d], &elements))
        host_broke("graph: value ", i, " has dimension ", v.dims[d]);
  }

  TensorType type(uint32_t i) const {
    const tenon_value& v = raw_value(i);
    TensorType t;
    t.dtype = v.dtype;
    t.rank = v.rank;
    std::copy(v.dims, v.dims + v.rank, t.dims);
    return t;
  }

  void define(uint32_t value, const char* what, uint32_t i) {
    if (value >= defined_.size()) host_broke("graph: ", what, " ", i, " has no such value ", value);
    if (defined_[value]) host_broke("graph: ", what, " ", i, " defines value ", value, ", which is defined already");
    defined_[value] = true;
  }

  void check_input(uint32_t i) {
    const tenon_input& in = view_.input(i);
    define(in.value, "input", i);
    if (in.role < TENON_ROLE_STATE || in.role > TENON_ROLE_SCALAR)
      host_broke("graph: input ", i, " has role ", in.role);
    if (in.placement < TENON_REPLICATED || in.placement > TENON_SPLIT)
      host_broke("graph: input ", i, " has placement ", in.placement);
    const TensorType t = type(in.value);
    if (in.role == TENON_ROLE_SCALAR) {
      if (t.rank) host_broke("graph: input ", i, " is a scalar of rank ", t.rank);
      out_.scalars.push_back(t.dtype);
      out_.half_scalars |= t.dtype == TENON_BF16 || t.dtype == TENON_F16;
      buffer_of_.push_back(0);
      return;
    }
    if (in.placement == TENON_SPLIT && t.rank == 0) host_broke("graph: input ", i, " of rank 0 is split");
    out_.split |= in.placement == TENON_SPLIT;
    out_.n_feeds += in.role == TENON_ROLE_FEED;
    out_.buffers.push_back({t, in.role, in.placement});
    buffer_of_.push_back(static_cast<uint32_t>(out_.buffers.size()));
  }

  void check_constant(uint32_t i) {
    const tenon_constant& c = view_.constant(i);
    define(c.value, "constant", i);
    if (c.at % 8 || c.at > graph_.data_size || c.bytes > graph_.data_size - c.at)
      host_broke("graph: constant ", i, " lies outside its bytes");
    const uint64_t element = static_cast<uint64_t>(dtype_bytes(raw_value(c.value).dtype));
    const uint64_t whole = static_cast<uint64_t>(view_.value(c.value).bytes());
    if (element && c.bytes != whole && c.bytes != element)
      host_broke("graph: constant ", i, " has ", c.bytes, " bytes, expected ", whole, " or ", element);
  }

  void check_node(uint32_t i) {
    const tenon_node& n = view_.raw_node(i);
    check_text(n.op, "the op of node", i);
    check_text(n.name, "node", i);
    check_text(n.origin, "the origin of node", i);
    check_range(n.operands, graph_.ids.count, "operands", i);
    check_range(n.results, graph_.ids.count, "results", i);
    check_range(n.attrs, graph_.attrs.count, "attributes", i);
    for (uint32_t k = 0; k < n.operands.count; ++k) {
      const uint32_t id = view_.id(n.operands.first + k);
      if (id == TENON_NONE) continue;
      if (id >= defined_.size() || !defined_[id])
        host_broke("graph: node ", i, " reads value ", id, " before it is defined");
    }
    for (uint32_t k = 0; k < n.results.count; ++k)
      if (const uint32_t id = view_.id(n.results.first + k); id != TENON_NONE) define(id, "node", i);
    for (uint32_t k = 0; k < n.attrs.count; ++k) check_attr(n.attrs.first + k);
    const std::string_view name = view_.text(n.name);
    if (!name.empty() && !names_.insert(name).second) host_broke("graph: two nodes are named '", name, "'");
  }

  void check_attr(uint32_t i) const {
    const tenon_attr& a = view_.attr(i);
    check_text(a.name, "attribute", i);
    const uint64_t element = a.type == TENON_ATTR_BYTES ? 1 : 8;
    if (a.at % 8 || a.at > graph_.data_size || a.count > (graph_.data_size - a.at) / element)
      host_broke("graph: attribute ", i, " lies outside its bytes");
    const bool one = a.type == TENON_ATTR_F64 || a.type == TENON_ATTR_BOOL || a.type == TENON_ATTR_DTYPE ||
                     a.type == TENON_ATTR_ENUM;
    if (one && a.count != 1) host_broke("graph: attribute ", i, " has ", a.count, " numbers, expected 1");
  }

  void check_result(uint32_t i) {
    const tenon_result& r = view_.result(i);
    if (r.value >= defined_.size() || !defined_[r.value])
      host_broke("graph: result ", i, " is value ", r.value, ", which nothing defines");
    if (r.mode < TENON_MODE_LAST || r.mode > TENON_MODE_UNTIL) host_broke("graph: result ", i, " has mode ", r.mode);
    if (r.placement < TENON_REPLICATED || r.placement > TENON_SPLIT)
      host_broke("graph: result ", i, " has placement ", r.placement);
    const TensorType t = type(r.value);
    if (r.mode == TENON_MODE_UNTIL && (t.dtype != TENON_BOOL || t.rank))
      host_broke("graph: result ", i, " of mode UNTIL is no bool of rank 0");
    out_.until |= r.mode == TENON_MODE_UNTIL;
    out_.split |= r.placement == TENON_SPLIT;
    out_.results.push_back({t, r.mode, r.placement, alias_of(r, i, t)});
  }

  // As an index of the run's buffers.
  uint32_t alias_of(const tenon_result& r, uint32_t i, const TensorType& t) {
    if (!r.alias) return 0;
    if (r.alias > graph_.inputs.count || view_.input(r.alias - 1).role != TENON_ROLE_STATE)
      host_broke("graph: result ", i, " updates input ", r.alias - 1, ", which is no state");
    const uint32_t buffer = buffer_of_[r.alias - 1];
    if (!(out_.buffers[buffer - 1].type == t) || r.mode != TENON_MODE_LAST)
      host_broke("graph: result ", i, " updates an input of another type, or not to the last");
    for (const Signature::Result& other : out_.results)
      if (other.alias == buffer) host_broke("graph: two results update input ", r.alias - 1);
    return buffer;
  }

  void check_extents(uint32_t i) {
    const tenon_value& v = raw_value(i);
    for (uint32_t d = 0; d < v.rank; ++d) {
      if (!v.extent[d]) continue;
      if (v.extent[d] > out_.scalars.size())
        host_broke("graph: value ", i, " has extent ", +v.extent[d], ", there are ", out_.scalars.size(), " scalars");
      out_.extents.push_back({v.extent[d] - 1u, v.dims[d]});
    }
  }

  const tenon_graph& graph_;
  GraphView view_;
  std::vector<bool> defined_;
  std::vector<uint32_t> buffer_of_;  // of each input: 1 + its place among the buffers; 0 a scalar
  std::unordered_set<std::string_view> names_;
  Signature out_;
};

}  // namespace

bool operator==(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

Signature check_graph(const tenon_graph* graph) {
  if (!graph) host_broke("passes no graph");
  if (graph->struct_size < TENON_SIZE(tenon_graph, strings)) host_broke("graph: struct_size ", graph->struct_size);
  return Checker(*graph).run();
}

uint64_t hash_graph(const tenon_graph& graph) {
  uint64_t hash = 14695981039346656037ull;
  for (uint64_t i = 0; i < graph.data_size; ++i) hash = (hash ^ graph.data[i]) * 1099511628211ull;
  return hash;
}

}  // namespace tenon::plugin::validation
