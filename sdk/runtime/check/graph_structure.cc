// A graph of another version has structs of other sizes: those of version 1.0 are what a graph must have, and strides
// are the graph's own.
#include <cstring>
#include <vector>

#include "tenon/plugin/graph.h"
#include "tenon/plugin/graph_check.h"

namespace tenon::plugin {
namespace {

// Values of a graph together: more than any memory, and little enough that sums of sizes, and a size times 65,536 replicas,
// stay far from where they would wrap.
constexpr int64_t kMostBytes = int64_t{1} << 49;

// Thrown and caught in this file: a graph has many places where it may be wrong.
struct Wrong {
  std::string text;
};

std::string word_of(const char* part) { return part; }
template <class Number>
std::string word_of(Number number) {
  return std::to_string(number);
}

template <class... Parts>
[[noreturn]] void wrong(const Parts&... parts) {
  throw Wrong{(word_of(parts) + ...)};
}

class Structure {
 public:
  explicit Structure(const tenon_graph& graph) : graph_(graph), view_(graph) {}

  void run() {
    check_arrays();
    defined_.assign(view_.n_values(), false);
    updated_.assign(view_.n_inputs(), false);
    for (uint32_t i = 0; i < view_.n_values(); ++i) check_value(i);
    for (uint32_t i = 0; i < view_.n_inputs(); ++i) check_input(i);
    for (uint32_t i = 0; i < view_.n_constants(); ++i) check_constant(i);
    for (uint32_t i = 0; i < graph_.attrs.count; ++i) check_attr(i);
    for (uint32_t i = 0; i < view_.n_nodes(); ++i) check_node(i);
    for (uint32_t i = 0; i < view_.n_results(); ++i) check_result(i);
  }

 private:
  bool inside(uint64_t at, uint64_t count, uint64_t width) const {
    return at <= graph_.data_size && count <= (graph_.data_size - at) / width;
  }

  // Elements are at least as large as version 1.0 has them.
  void check_array(const tenon_array& a, uint64_t least, uint64_t alignment, const char* name) const {
    if (a.count == 0) return;
    if (a.stride < least) wrong(name, " have a stride of ", a.stride, ", expected ", least, " or more");
    if (a.at % alignment || a.stride % alignment) wrong(name, " are not aligned");
    if (!inside(a.at, a.count, a.stride)) wrong(name, " end beyond its ", graph_.data_size, " bytes");
  }

  void check_arrays() const {
    if (graph_.struct_size < TENON_SIZE(tenon_graph, strings)) wrong("struct_size ", graph_.struct_size);
    if (!graph_.data || reinterpret_cast<uintptr_t>(graph_.data) % 64) wrong("data is not 64-byte aligned");
    check_array(graph_.values, TENON_SIZE(tenon_value, name), alignof(tenon_value), "values");
    check_array(graph_.nodes, TENON_SIZE(tenon_node, attrs), alignof(tenon_node), "nodes");
    check_array(graph_.ids, sizeof(uint32_t), alignof(uint32_t), "ids");
    check_array(graph_.attrs, TENON_SIZE(tenon_attr, count), alignof(tenon_attr), "attrs");
    check_array(graph_.inputs, TENON_SIZE(tenon_input, reserved), alignof(tenon_input), "inputs");
    check_array(graph_.results, TENON_SIZE(tenon_result, placement), alignof(tenon_result), "results");
    check_array(graph_.constants, TENON_SIZE(tenon_constant, bytes), alignof(tenon_constant), "constants");
    check_array(graph_.strings, 1, 1, "strings");
    if (graph_.strings.count && graph_.strings.stride != 1) wrong("strings have a stride of ", graph_.strings.stride);
  }

  // None, or one that a NUL ends, and none within: it would end a message before its time.
  void check_text(tenon_text t, const char* what, uint32_t i) const {
    if (t.at == 0 && t.size == 0) return;
    const uint8_t* strings = graph_.data + graph_.strings.at;
    if (t.at < graph_.strings.count && t.size < graph_.strings.count - t.at &&
        std::memchr(strings + t.at, 0, size_t{t.size} + 1) == strings + t.at + t.size)
      return;
    wrong("the name of ", what, " ", i, " is no string");
  }

  static void check_range(tenon_range r, uint32_t count, const char* what, uint32_t node) {
    if (r.first > count || r.count > count - r.first) wrong("node ", node, " has ", what, " out of range");
  }

  static void check_placement(int32_t placement, int rank, const char* what, uint32_t i) {
    if (placement < TENON_REPLICATED || placement > TENON_SPLIT) wrong(what, " ", i, " has placement ", placement);
    if (placement == TENON_SPLIT && rank == 0) wrong(what, " ", i, " of rank 0 is split");
  }

  // A dtype that is not known here is a kernel's to refuse; it has 8 bytes at the most.
  void check_value(uint32_t i) {
    const auto& value =
        *reinterpret_cast<const tenon_value*>(graph_.data + graph_.values.at + uint64_t{i} * graph_.values.stride);
    if (value.rank > TENON_MAX_RANK) wrong("value ", i, " has rank ", value.rank);
    int64_t bytes = 8;
    for (uint32_t d = 0; d < value.rank; bytes *= value.dims[d++])
      if (value.dims[d] < 1 || value.dims[d] > kMostBytes / bytes) wrong("value ", i, " has dimension ", value.dims[d]);
    bytes_ += bytes;
    if (bytes_ > kMostBytes) wrong("value ", i, " and those before it are larger than any memory");
    check_text(value.name, "value", i);
  }

  void define(uint32_t id, const char* what, uint32_t i) {
    if (id >= defined_.size()) wrong(what, " ", i, " has no such value ", id);
    if (defined_[id]) wrong(what, " ", i, " defines value ", id, ", which is defined already");
    defined_[id] = true;
  }

  void check_input(uint32_t i) {
    const tenon_input& input = view_.input(i);
    define(input.value, "input", i);
    if (input.role < TENON_ROLE_STATE || input.role > TENON_ROLE_SCALAR) wrong("input ", i, " has role ", input.role);
    const int rank = view_.value(input.value).rank();
    const bool scalar = input.role == TENON_ROLE_SCALAR;
    if (scalar && rank) wrong("input ", i, " is a scalar of rank ", rank);
    check_placement(input.placement, rank, "input", i);
    scalars_ += scalar;
  }

  void check_constant(uint32_t i) {
    const tenon_constant& c = view_.constant(i);
    define(c.value, "constant", i);
    const ValueView value = view_.value(c.value);
    const auto one = static_cast<uint64_t>(dtype_bytes(value.dtype())), whole = static_cast<uint64_t>(value.bytes());
    if (one && c.bytes != one && c.bytes != whole)
      wrong("constant ", i, " has ", c.bytes, " bytes, expected ", whole, " or ", one);
    if (c.at % 8 || !inside(c.at, c.bytes, 1)) wrong("constant ", i, " lies outside its bytes");
  }

  // One of a type that is not known here is read by nobody (graph.h).
  void check_attr(uint32_t i) const {
    const tenon_attr& a = view_.attr(i);
    check_text(a.name, "attribute", i);
    const bool known = a.type >= TENON_ATTR_I64 && a.type <= TENON_ATTR_LIST;
    const bool many = !known || a.type == TENON_ATTR_BYTES || a.type == TENON_ATTR_LIST;
    if (!many && a.count != 1) wrong("attribute ", i, " has ", a.count, " numbers, expected 1");
    if (a.at % 8 || !inside(a.at, a.count, !known || a.type == TENON_ATTR_BYTES ? 1 : 8))
      wrong("attribute ", i, " lies outside its bytes");
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
      if (id != TENON_NONE && (id >= defined_.size() || !defined_[id]))
        wrong("node ", i, " reads value ", id, " before it is defined");
    }
    for (uint32_t k = 0; k < n.results.count; ++k)
      if (const uint32_t id = view_.id(n.results.first + k); id != TENON_NONE) define(id, "node", i);
  }

  void check_result(uint32_t i) {
    const tenon_result& r = view_.result(i);
    if (r.value >= defined_.size() || !defined_[r.value])
      wrong("result ", i, " is value ", r.value, ", which nothing defines");
    if (r.mode < TENON_MODE_LAST || r.mode > TENON_MODE_UNTIL) wrong("result ", i, " has mode ", r.mode);
    const ValueView value = view_.value(r.value);
    check_placement(r.placement, value.rank(), "result", i);
    if (r.mode == TENON_MODE_EACH && value.rank() == TENON_MAX_RANK)
      wrong("result ", i, " has no room for an axis of iterations");
    if (r.mode == TENON_MODE_UNTIL && (value.dtype() != TENON_BOOL || value.rank()))
      wrong("result ", i, " of mode UNTIL is no bool of rank 0");
    if (r.alias) check_alias(r, value, i);
  }

  void check_alias(const tenon_result& r, const ValueView& value, uint32_t i) {
    const uint32_t k = r.alias - 1;
    if (k >= view_.n_inputs() || view_.input(k).role != TENON_ROLE_STATE)
      wrong("result ", i, " updates input ", k, ", which is no state");
    const ValueView state = view_.value(view_.input(k).value);
    if (value.dtype() != state.dtype() || value.dims().vec() != state.dims().vec() || r.mode != TENON_MODE_LAST)
      wrong("result ", i, " updates an input of another type, or not to the last");
    if (updated_[k]) wrong("two results update input ", k);
    updated_[k] = true;
  }

  const tenon_graph& graph_;
  GraphView view_;
  std::vector<bool> defined_, updated_;  // of the values, of the inputs
  uint32_t scalars_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

std::string structure_fault(const tenon_graph& graph) {
  try {
    Structure(graph).run();
  } catch (const Wrong& fault) {
    return fault.text;
  }
  return {};
}

}  // namespace tenon::plugin
