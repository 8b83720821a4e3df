#include "tenon/plugin/graph_check.h"

#include <cstring>
#include <vector>

#include "runtime/node_check.h"
#include "tenon/plugin/entry.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {
namespace {

// Values of a graph together: sums and offsets of them stay far from where they would wrap.
constexpr int64_t kMostBytes = int64_t{1} << 60;

// Thrown and caught in this file: a graph has many places where it may be wrong.
struct Wrong {
  std::string text;
};

class Structure {
 public:
  explicit Structure(const tenon_graph& graph) : graph_(graph), view_(graph) {}

  void run() {
    check_arrays();
    defined_.assign(view_.n_values(), false);
    for (uint32_t i = 0; i < view_.n_values(); ++i) check_value(i);
    for (uint32_t i = 0; i < view_.n_inputs(); ++i) check_input(i);
    for (uint32_t i = 0; i < view_.n_values(); ++i) check_extents(i);
    for (uint32_t i = 0; i < view_.n_constants(); ++i) check_constant(i);
    for (uint32_t i = 0; i < graph_.attrs.count; ++i) check_attr(i);
    for (uint32_t i = 0; i < view_.n_nodes(); ++i) check_node(i);
    for (uint32_t i = 0; i < view_.n_results(); ++i) check_result(i);
  }

 private:
  static void expect(bool condition, const char* what, uint64_t index, const char* problem) {
    if (!condition) throw Wrong{std::string(what) + " " + std::to_string(index) + " " + problem};
  }

  bool inside(uint64_t at, uint64_t count, uint64_t width) const {
    return at <= graph_.data_size && (width == 0 || count <= (graph_.data_size - at) / width);
  }

  void check_array(const tenon_array& array, size_t width, const char* name) const {
    if (array.stride < width || !inside(array.at, array.count, array.stride) || array.at % 8 ||
        (width > 1 && array.stride % 4))
      throw Wrong{std::string("the array of ") + name + " lies outside the graph's data"};
  }

  void check_arrays() const {
    if (!graph_.data || reinterpret_cast<uintptr_t>(graph_.data) % 64) throw Wrong{"its data is not 64-byte aligned"};
    check_array(graph_.values, sizeof(tenon_value), "values");
    check_array(graph_.nodes, sizeof(tenon_node), "nodes");
    check_array(graph_.ids, sizeof(uint32_t), "ids");
    check_array(graph_.attrs, sizeof(tenon_attr), "attributes");
    check_array(graph_.inputs, sizeof(tenon_input), "inputs");
    check_array(graph_.results, sizeof(tenon_result), "results");
    check_array(graph_.constants, sizeof(tenon_constant), "constants");
    check_array(graph_.strings, 1, "strings");
    if (graph_.strings.stride != 1 || graph_.values.stride % 8 || graph_.attrs.stride % 8 ||
        graph_.constants.stride % 8)
      throw Wrong{"an array has an impossible stride"};
  }

  // A NUL within would end a message before its time.
  bool text(tenon_text t) const {
    if (t.at >= graph_.strings.count || t.size >= graph_.strings.count - t.at) return false;
    return std::memchr(graph_.data + graph_.strings.at + t.at, 0, t.size + 1) ==
           graph_.data + graph_.strings.at + t.at + t.size;
  }

  static bool range(tenon_range r, uint32_t count) { return r.first <= count && r.count <= count - r.first; }

  const tenon_value* raw_value(uint32_t i) const {
    return reinterpret_cast<const tenon_value*>(graph_.data + graph_.values.at + uint64_t{i} * graph_.values.stride);
  }

  // A dtype that is not known here is a kernel's to refuse; it has 8 bytes at the most.
  void check_value(uint32_t i) {
    const tenon_value* raw = raw_value(i);
    expect(raw->rank <= TENON_MAX_RANK, "value", i, "has a rank beyond 8");
    int64_t bytes = 8;
    for (uint32_t d = 0; d < raw->rank; ++d) {
      expect(raw->dims[d] >= 1 && raw->dims[d] <= kMostBytes / bytes, "value", i, "has an impossible dimension");
      bytes *= raw->dims[d];
    }
    bytes_ += bytes;
    expect(bytes_ <= kMostBytes, "value", i, "and those before it are larger than any memory");
    expect(text(raw->name), "value", i, "has a name outside the strings");
  }

  void check_extents(uint32_t i) const {
    for (uint8_t k : raw_value(i)->extent) expect(k <= scalars_, "value", i, "has an extent that no scalar gives");
  }

  void define(uint32_t id, const char* what, uint32_t i) {
    expect(id < defined_.size(), what, i, "defines a value that is not there");
    expect(!defined_[id], what, i, "defines a value a second time");
    defined_[id] = true;
  }

  void check_input(uint32_t i) {
    const tenon_input& input = view_.input(i);
    define(input.value, "input", i);
    expect(input.role >= TENON_ROLE_STATE && input.role <= TENON_ROLE_SCALAR, "input", i, "has an unknown role");
    expect(input.role != TENON_ROLE_SCALAR || view_.value(input.value).rank() == 0, "input", i,
           "is a scalar of a rank beyond 0");
    scalars_ += input.role == TENON_ROLE_SCALAR;
  }

  void check_constant(uint32_t i) {
    const tenon_constant& c = view_.constant(i);
    define(c.value, "constant", i);
    const ValueView value = view_.value(c.value);
    const uint64_t one = static_cast<uint64_t>(dtype_bytes(value.dtype()));
    expect(one == 0 || c.bytes == one || c.bytes == static_cast<uint64_t>(value.bytes()), "constant", i,
           "has another size than its value");
    expect(c.at % 8 == 0 && inside(c.at, c.bytes, 1), "constant", i, "lies outside the graph's data");
  }

  void check_attr(uint32_t i) const {
    const tenon_attr& a = view_.attr(i);
    expect(text(a.name), "attribute", i, "has a name outside the strings");
    expect(a.type >= TENON_ATTR_I64 && a.type <= TENON_ATTR_LIST, "attribute", i, "has an unknown type");
    const bool many = a.type == TENON_ATTR_BYTES || a.type == TENON_ATTR_LIST;
    expect(many || a.count == 1, "attribute", i, "has another count than 1");
    expect(a.at % 8 == 0 && inside(a.at, a.count, a.type == TENON_ATTR_BYTES ? 1 : 8), "attribute", i,
           "lies outside the graph's data");
  }

  void check_node(uint32_t i) {
    const tenon_node& n = view_.raw_node(i);
    expect(text(n.op) && text(n.name) && text(n.origin), "node", i, "has a text outside the strings");
    expect(range(n.operands, graph_.ids.count) && range(n.results, graph_.ids.count), "node", i,
           "has ids outside the graph's");
    expect(range(n.attrs, graph_.attrs.count), "node", i, "has attributes outside the graph's");
    for (uint32_t k = 0; k < n.operands.count; ++k) {
      const uint32_t id = view_.id(n.operands.first + k);
      expect(id == TENON_NONE || (id < defined_.size() && defined_[id]), "node", i,
             "uses a value that is not defined before it");
    }
    for (uint32_t k = 0; k < n.results.count; ++k)
      if (view_.id(n.results.first + k) != TENON_NONE) define(view_.id(n.results.first + k), "node", i);
  }

  void check_result(uint32_t i) const {
    const tenon_result& r = view_.result(i);
    expect(r.value < defined_.size() && defined_[r.value], "result", i, "is a value that is not there");
    expect(r.mode >= TENON_MODE_LAST && r.mode <= TENON_MODE_UNTIL, "result", i, "has an unknown mode");
    expect(r.mode != TENON_MODE_EACH || view_.value(r.value).rank() < TENON_MAX_RANK, "result", i,
           "has no room for an axis of iterations");
    expect(r.alias <= view_.n_inputs(), "result", i, "aliases an input that is not there");
    if (!r.alias) return;
    const tenon_input& input = view_.input(r.alias - 1);
    const ValueView value = view_.value(r.value), state = view_.value(input.value);
    expect(input.role == TENON_ROLE_STATE && value.dtype() == state.dtype() && value.dims().vec() == state.dims().vec(),
           "result", i, "aliases an input that is no state of its type");
  }

  const tenon_graph& graph_;
  GraphView view_;
  std::vector<bool> defined_;
  uint32_t scalars_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

std::string structure_fault(const tenon_graph& graph) {
  if (graph.struct_size < sizeof graph) return "its struct_size is " + std::to_string(graph.struct_size);
  try {
    Structure(graph).run();
  } catch (const Wrong& wrong) {
    return wrong.text;
  }
  return {};
}

void check_graph(const tenon_graph* graph, const char* entry) {
  const auto expect_none = [&](const std::string& fault) {
    if (!fault.empty()) throw Error(TENON_INVALID, std::string(entry) + ": the graph: " + fault);
  };
  if (!graph) throw Error(TENON_INVALID, std::string(entry) + ": there is no graph");
  expect_none(structure_fault(*graph));
  const GraphView view(*graph);
  for (uint32_t i = 0; i < view.n_nodes(); ++i) expect_none(node_fault(view.node(i)));
}

}  // namespace tenon::plugin
