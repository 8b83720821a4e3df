// Branches and loops whose course is known when the function is traced.
#include <algorithm>
#include <limits>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace control_ops {
namespace {

constexpr int64_t kMostTurns = 100000;

bool truth(Call& c, Tensor x) {
  const Array& known = c.walk.known(x);
  if (known.elements() != 1) fail("a condition of ", known.type().str());
  return known.item() != 0;
}

void if_rule(Call& c) {
  const bool which = truth(c, c.in(0));
  for (const Value& v : c.walk.body(c.graph_attr(which ? "then_branch" : "else_branch"), {})) c.give(v);
}

// Values of all turns, along a new first axis.
Value stacked(const std::vector<Value>& turns) {
  Tensors parts;
  for (const Value& v : turns) parts.push_back(expand_dims(v.file(), 0));
  return Value(turns[0].element(), parts.size() == 1 ? parts[0] : concat(parts, 0));
}

void loop_rule(Call& c) {
  const GraphData& body = c.graph_attr("body");
  const int64_t most = c.has(0) ? c.known_integer(0) : std::numeric_limits<int64_t>::max();
  bool goes_on = !c.has(1) || truth(c, c.in(1));
  std::vector<Value> carried;
  for (size_t i = 2; i < c.inputs(); ++i) carried.push_back(c.value(i));
  if (body.outputs.size() < carried.size() + 1)
    fail("a body of ", body.outputs.size(), " outputs, expected ", carried.size() + 1);
  std::vector<std::vector<Value>> scans(body.outputs.size() - carried.size() - 1);
  Value condition(Element::kBool, full(c.graph(), DType::kBool, {}, goes_on));
  for (int64_t turn = 0; turn < most && goes_on; ++turn) {
    if (turn >= kMostTurns) c.refuse("a loop of more than ", kMostTurns, " turns");
    std::vector<Value> inputs = {Value(Element::kI64, c.ints_constant({turn}, {})), condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const std::vector<Value> out = c.walk.body(body, inputs);
    condition = out[0];
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = out[i + 1];
    for (size_t i = 0; i < scans.size(); ++i) scans[i].push_back(out[carried.size() + 1 + i]);
    if (turn + 1 < most) goes_on = truth(c, condition.file());
  }
  for (const Value& v : carried) c.give(v);
  for (const std::vector<Value>& scan : scans) {
    if (scan.empty()) c.refuse("a loop of no turns that gives values of each turn");
    c.give(stacked(scan));
  }
}

void scan_rule(Call& c) {
  const GraphData& body = c.graph_attr("body");
  const auto count = static_cast<size_t>(c.integer("num_scan_inputs", 1));
  if (c.opset < 9) c.refuse("Scan before opset 9");
  if (count > c.inputs() || count < 1) fail(count, " scanned inputs of ", c.inputs());
  const size_t states = c.inputs() - count;
  if (body.outputs.size() < states) fail("a body of ", body.outputs.size(), " outputs, expected ", states, " or more");
  const Ints axes = c.ints("scan_input_axes", Ints(count, 0)), back = c.ints("scan_input_directions", Ints(count, 0));
  const size_t results = body.outputs.size() - states;
  const Ints out_axes = c.ints("scan_output_axes", Ints(results, 0)),
             out_back = c.ints("scan_output_directions", Ints(results, 0));
  if (axes.size() != count || back.size() != count || out_axes.size() != results || out_back.size() != results)
    fail("axes and directions of ", count, " scanned inputs");
  std::vector<Value> state;
  for (size_t i = 0; i < states; ++i) state.push_back(c.value(i));
  std::vector<std::vector<Value>> scans(results);
  const Tensor first = c.in(states);
  const int64_t turns = first.dim(static_cast<int>(c.axis(axes[0], first.rank())));
  if (turns < 1 || turns > kMostTurns) c.refuse("a scan of ", turns, " turns");
  for (int64_t turn = 0; turn < turns; ++turn) {
    std::vector<Value> inputs = state;
    for (size_t i = 0; i < count; ++i) {
      const Tensor x = c.in(states + i);
      const int64_t axis = c.axis(axes[i], x.rank()), at = back[i] != 0 ? turns - 1 - turn : turn;
      std::vector<int64_t> dims = x.shape().vec();
      dims.erase(dims.begin() + axis);
      inputs.emplace_back(c.element(states + i), reshape(part(x, axis, at, at + 1), Shape(dims)));
    }
    const std::vector<Value> out = c.walk.body(body, inputs);
    for (size_t i = 0; i < states; ++i) state[i] = out[i];
    for (size_t i = 0; i < results; ++i) scans[i].push_back(out[states + i]);
  }
  for (const Value& v : state) c.give(v);
  for (size_t i = 0; i < results; ++i) {
    if (out_back[i] != 0) std::reverse(scans[i].begin(), scans[i].end());
    Tensors parts;
    const int64_t axis = c.axis(out_axes[i], scans[i][0].rank() + 1);
    for (const Value& v : scans[i]) parts.push_back(expand_dims(v.file(), axis));
    c.give(parts.size() == 1 ? parts[0] : concat(parts, axis), scans[i][0].element());
  }
}

constexpr Rule kRules[] = {{"If", if_rule}, {"Loop", loop_rule}, {"Scan", scan_rule}};

}  // namespace
}  // namespace control_ops

Rules control_rules() { return control_ops::kRules; }

}  // namespace tenon::onnx
