// Graphs of any ops on operands and attributes of any kind: shape inference either refuses a node by name or gives types
// that the verifier agrees with; in a small graph that it took, composites decompose to the same types.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "compile/rewrite.h"
#include "op/decompose.h"
#include "op/op.h"
#include "tenon/gradients.h"

using namespace tenon;

namespace {

// The input, taken from the front; zeros behind its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool ended() const { return at_ == end_; }
  uint8_t byte() { return ended() ? 0 : *at_++; }
  int64_t number() {
    static constexpr int64_t kEdges[] = {0,
                                         -1,
                                         2,
                                         3,
                                         4,
                                         7,
                                         8,
                                         16,
                                         31,
                                         1 << 20,
                                         INT32_MAX,
                                         int64_t{1} << 31,
                                         int64_t{1} << 40,
                                         int64_t{1} << 62,
                                         INT64_MAX,
                                         INT64_MIN};
    const uint8_t b = byte();
    return b < 128 ? b % 8 : b < 192 ? int64_t{b} - 160 : kEdges[b % 16];
  }
  double real() {
    static constexpr double kEdges[] = {0, 1, -1, 0.5, 1e-7, 1e308, INFINITY, NAN};
    return kEdges[byte() % 8];
  }
  std::vector<int64_t> list() {
    std::vector<int64_t> out(byte() % 10);
    for (int64_t& v : out) v = number();
    return out;
  }

 private:
  const uint8_t *at_, *end_;
};

AttrValue value_of(const std::string& type, Bytes& in) {
  if (type == "i64") return in.number();
  if (type == "f64") return in.real();
  if (type == "bool") return (in.byte() & 1) != 0;
  if (type == "dtype") return static_cast<DType>(in.byte() % 12);
  if (type == "enum") return Enum{static_cast<int32_t>(in.number())};
  if (type == "bytes") return std::string(in.byte() % 65, '\1');
  return in.list();
}

void add_input(Graph& graph, Bytes& in) {
  const DType dtype = static_cast<DType>(1 + in.byte() % 8);
  std::vector<int64_t> dims(in.byte() % 6);
  for (int64_t& d : dims) d = in.number();
  graph.add_input({dtype, Shape(dims)}, Role::kFeed, "x");
}

Node node_of(const Graph& graph, Bytes& in) {
  const auto ops = all_ops();
  const OpDef& op = *ops[in.byte() % ops.size()];
  Node node{.op = std::string(op.name), .version = op.version};
  const size_t operands = signature_of(op).operands.size() + (in.byte() % 16 == 0);
  for (size_t i = 0; i < operands; ++i)
    node.operands.push_back(static_cast<ValueId>(in.byte() % (graph.values.size() + 1)) - 1);
  for (const Signature::Attribute& a : signature_of(op).attributes)
    if (a.required || in.byte() % 4 == 0) node.attrs.push_back({a.name, value_of(a.type, in)});
  return node;
}

bool small(const Graph& graph) {
  for (const Value& value : graph.values) {
    if (value.type.shape.rank() > 8) return false;
    double elements = 1;
    for (const int64_t d : value.type.shape.vec()) elements *= static_cast<double>(d);
    if (elements > 4096) return false;
  }
  return true;
}

// Puts a composite's decomposition beside it.
void decompose(Graph& graph, const Node& node) {
  if (!has_decomposition(node)) return;
  Tensors operands;
  for (const ValueId id : node.operands) operands.push_back(id < 0 ? Tensor() : Tensor(&graph, id));
  const Tensors results = decompose_node(graph, node, operands);
  for (size_t i = 0; i < results.size(); ++i)
    if (graph.type(results[i].id()) != graph.type(node.results[i])) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes in(data, size);
  Graph graph;
  try {
    for (int i = in.byte() % 5; i >= 0; --i) add_input(graph, in);
  } catch (const Error&) {
    return 0;
  }
  for (int i = 0; i < 12 && !in.ended(); ++i) {
    Node node = node_of(graph, in);
    try {
      const std::vector<Type> types = infer(graph, node);
      graph.add_node(std::move(node), types);
    } catch (const Error& e) {
      if (e.status().message().size() > 4096) std::abort();
    }
  }
  if (!graph.values.empty()) graph.results.push_back({static_cast<ValueId>(graph.values.size()) - 1});
  const Status verified = verify(graph);
  (void)to_text(graph);
  if (!verified.ok() || !small(graph)) return 0;
  for (const Node& node : std::vector<Node>(graph.nodes)) {
    try {
      decompose(graph, node);
    } catch (const Error&) {  // refused by name, as a node is
    }
  }
  if (!verify(graph).ok() || !verify(simplify(graph)).ok()) std::abort();
  return 0;
}
