#include "import/onnx/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/names/name_expression.h"
#include "import/onnx/file/order.h"
#include "import/onnx/head.h"
#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace {

constexpr size_t kMostListed = 200;  // nodes in a message

bool gives(const NodeData& node, const std::string& name) {
  return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
}

// Nodes that the outputs depend on; of a head that is replaced, on what it takes.
std::vector<bool> needed_nodes(const GraphData& graph, const Head* replaced) {
  std::unordered_map<std::string, size_t> origin;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::string& name : graph.nodes[i].outputs)
      if (!name.empty()) origin[name] = i;
  std::vector<bool> needed(graph.nodes.size(), false);
  const auto mark = [&](const std::string& name) {
    const auto found = origin.find(name);
    if (found != origin.end()) needed[found->second] = true;
  };
  for (const ValueData& output : graph.outputs) mark(output.name);
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (needed[i] && replaced && gives(graph.nodes[i], replaced->output))
      mark(replaced->input);
    else if (needed[i])
      for (const std::string& name : used_by(graph.nodes[i])) mark(name);
  return needed;
}

class Unknown {
 public:
  explicit Unknown(const OnnxFile& file) : file_(file) {}

  void look(const std::vector<NodeData>& nodes, const std::vector<bool>* needed, const Opsets& opsets) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (needed && !(*needed)[i]) continue;
      const NodeData& node = nodes[i];
      for (const AttrData& attr : node.attrs)
        if (attr.graph) look(attr.graph->nodes, nullptr, opsets);
      const auto function = file_.functions.find(node.domain + ":" + node.op);
      if (function != file_.functions.end()) {
        if (seen_.insert(function->first).second) look(function->second.nodes, nullptr, function->second.opsets);
        continue;
      }
      const auto opset = opsets.find(node.domain);
      const int64_t version = opset == opsets.end() ? 1 : opset->second;
      if (!find_rule(node.domain, node.op, version)) add(node, version);
    }
  }

  const std::map<std::string, int64_t>& counts() const { return counts_; }
  Status status() const {
    if (found_.empty()) return {};
    std::string text;
    for (const auto& [op, names] : found_) add_op(text, op, names);
    return Status(Code::kUnsupported,
                  cat(count_, count_ == 1 ? " node" : " nodes", " of ops that Tenon does not know: ", text));
  }

 private:
  void add(const NodeData& node, int64_t version) {
    const std::string op = cat(node.domain.empty() ? "" : abbreviated(node.domain, 40) + ".", abbreviated(node.op, 40),
                               " (opset ", version, ")");
    std::string name = node.name;
    for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i) name = node.outputs[i];
    ++counts_[op];
    if (count_++ < kMostListed)
      found_[op].push_back(abbreviated(name));
    else
      found_["and more"];
  }

  static void add_op(std::string& text, const std::string& op, const std::vector<std::string>& names) {
    text += (text.empty() ? "" : "; ") + op + (names.empty() ? "" : " '" + join(names, "', '") + "'");
  }

  const OnnxFile& file_;
  std::set<std::string> seen_;
  std::map<std::string, std::vector<std::string>> found_;
  std::map<std::string, int64_t> counts_;
  size_t count_ = 0;
};

bool is_kernel_of(const NodeData& node, size_t operand) {
  return node.domain.empty() && operand == 1 && (node.op == "Conv" || node.op == "ConvTranspose");
}

// Where each initializer stands.
struct Uses {
  bool weight = false, number = false, kernel = false, moment = false, other = false;
};

void note_uses(const NodeData& node, std::unordered_map<std::string, Uses>& uses) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto found = uses.find(node.inputs[i]);
    if (found == uses.end()) continue;
    Uses& use = found->second;
    (takes_weight(node, i) ? use.weight : use.number) = true;
    (is_kernel_of(node, i) ? use.kernel : use.other) = true;
    use.moment |= node.domain.empty() && node.op == "BatchNormalization" && (i == 3 || i == 4);
  }
  for (const AttrData& attr : node.attrs)
    if (attr.graph)
      for (const std::string& name : used_by(node))
        if (const auto found = uses.find(name); found != uses.end()) found->second.other = true;
}

// Ops that exporters put between a weight and the node that computes with it.
bool hands_on(const NodeData& node) {
  static const std::set<std::string_view> ops = {"Identity", "Transpose", "Cast", "Reshape", "Squeeze", "Unsqueeze"};
  return node.domain.empty() && ops.count(node.op) != 0 && !node.inputs.empty() && node.outputs.size() == 1;
}

// Names of the nodes that read each initializer.
using Readers = std::unordered_map<std::string, std::vector<std::string>>;
Readers readers_of(const GraphData& graph) {
  Readers out;
  std::unordered_map<std::string, std::string> handed_on;  // names of initializers, by what is made of them
  for (const TensorData& data : graph.initializers) handed_on[data.name] = data.name;
  for (const NodeData& node : graph.nodes) {
    for (const std::string& input : node.inputs) {
      const auto from = handed_on.find(input);
      if (from == handed_on.end() || node.name.empty()) continue;
      std::vector<std::string>& names = out[from->second];
      if (names.empty() || names.back() != node.name) names.push_back(node.name);
    }
    if (!hands_on(node)) continue;
    if (const auto from = handed_on.find(node.inputs[0]); from != handed_on.end())
      handed_on.emplace(node.outputs[0], std::string(from->second));
  }
  return out;
}

Weight weight_of(const TensorData& data, const Uses& uses, const std::vector<std::string>& nodes,
                 const NameExpression* freeze) {
  Weight out;
  out.data = &data;
  out.nodes = nodes;
  const DType dtype = stored_as(data.element);
  out.variable = is_float(dtype) && element_bits(data.element) >= 16 && data.elements() != 1 && uses.weight &&
                 !uses.number && data.dims.size() <= kMaxRank;
  if (data.dims.size() > kMaxRank || dtype == DType::kNone) return out;
  out.kernel = out.variable && uses.kernel && !uses.other && data.dims.size() >= 3;
  std::vector<int64_t> dims = data.dims;
  if (out.kernel) {
    dims.assign(data.dims.begin() + 2, data.dims.end());
    dims.push_back(data.dims[1]);
    dims.push_back(data.dims[0]);
  }
  out.type = {dtype, Shape(dims)};
  out.trainable = out.variable && !uses.moment && !(freeze && is_found(*freeze, data.name, nodes));
  return out;
}

// A size of nothing would pass unnoticed.
Status expect_open(const Plan& plan) {
  std::vector<std::string> open;
  std::map<std::string, std::string> rows;  // names of axis 0, and inputs that have them
  for (const ValueData& input : plan.file.graph.inputs)
    for (size_t a = 0; a < input.dims.size(); ++a) {
      const DimData& dim = input.dims[a];
      if (dim.size >= 0 || dim.name.empty()) continue;
      if (a == 0)
        rows.emplace(dim.name, input.name);
      else if (std::find(open.begin(), open.end(), dim.name) == open.end())
        open.push_back(dim.name);
    }
  for (const auto& [name, _] : plan.options.dims) {
    if (std::find(open.begin(), open.end(), name) != open.end()) continue;
    const std::string those = open.empty() ? "the file leaves none open by a name" : "open are " + quoted_first(open);
    if (const auto found = rows.find(name); found != rows.end())
      return invalid("dimension '", abbreviated(name), "' is axis 0 of input '", abbreviated(found->second),
                     "', which counts the rows, of which any number may come; of the other axes ", those);
    return invalid("no input has an open dimension '", abbreviated(name), "' behind axis 0; ", those,
                   meant(name, open));
  }
  return {};
}

// So would an expression that freezes nothing.
Status expect_found(const Plan& plan, const NameExpression& freeze) {
  std::vector<std::string> names;
  for (const TensorData& data : plan.file.graph.initializers) {
    const auto weight = plan.weights.find(data.name);
    if (weight == plan.weights.end() || !weight->second.variable) continue;
    if (is_found(freeze, data.name, weight->second.nodes)) return {};
    names.push_back(data.name);
  }
  return invalid("freeze: ", freeze.found_in_none_of(names).message(),
                 names.empty() ? "" : "; no node that reads one has it in its name");
}

Status plan_weights(Plan& plan) {
  std::optional<NameExpression> freeze;
  if (!plan.options.freeze.empty()) {
    Result<NameExpression> made = NameExpression::make(plan.options.freeze);
    if (!made.ok()) return invalid("freeze: ", made.status().message());
    freeze = made.take();
  }
  Readers readers = readers_of(plan.file.graph);
  std::unordered_map<std::string, Uses> uses;
  for (const TensorData& data : plan.file.graph.initializers) uses[data.name];
  for (size_t i = 0; i < plan.file.graph.nodes.size(); ++i)
    if (plan.needed[i] && !(plan.options.replace_head > 0 && gives(plan.file.graph.nodes[i], plan.head->output)))
      note_uses(plan.file.graph.nodes[i], uses);
  for (const ValueData& output : plan.file.graph.outputs)
    if (const auto found = uses.find(output.name); found != uses.end())
      found->second.other = found->second.weight = true;
  for (const TensorData& data : plan.file.graph.initializers) {
    const Uses& use = uses[data.name];
    if (use.weight || use.number || use.other)
      plan.weights[data.name] = weight_of(data, use, readers[data.name], freeze ? &*freeze : nullptr);
  }
  return freeze ? expect_found(plan, *freeze) : Status();
}

}  // namespace

bool is_found(const NameExpression& expression, const std::string& name, const std::vector<std::string>& nodes) {
  return expression.is_in(name) ||
         std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) { return expression.is_in(node); });
}

Result<std::shared_ptr<Plan>> make_plan(OnnxFile file, OnnxOptions options) {
  auto plan = std::make_shared<Plan>();
  plan->file = std::move(file);
  plan->options = std::move(options);
  plan->head = find_head(plan->file);
  plan->scores = plan->head ? plan->head->output : find_scores(plan->file);
  if (plan->options.replace_head > 0 && !plan->head)
    return invalid("replace_head: no dense layer stands before the output '",
                   plan->file.graph.outputs.empty() ? "" : abbreviated(plan->file.graph.outputs[0].name), "'");
  if (plan->options.replace_head > INT32_MAX || plan->options.replace_head < 0)
    return invalid("replace_head is ", plan->options.replace_head, ", expected 1 to ", INT32_MAX);
  plan->needed = needed_nodes(plan->file.graph, plan->options.replace_head > 0 ? &*plan->head : nullptr);
  std::set<std::string_view> outputs;
  for (const ValueData& output : plan->file.graph.outputs) {
    if (output.name.empty()) return invalid("an output has no name");
    if (!outputs.insert(output.name).second) return invalid("output '", abbreviated(output.name), "' is listed twice");
  }
  Unknown unknown(plan->file);
  unknown.look(plan->file.graph.nodes, &plan->needed, plan->file.opsets);
  plan->unknown = unknown.counts();
  if (!plan->options.take_unknown) TENON_TRY(unknown.status());
  TENON_TRY(plan_weights(*plan));
  TENON_TRY(expect_open(*plan));
  for (const auto& [name, value] : plan->options.values) {
    const auto& inputs = plan->file.graph.inputs;
    if (std::none_of(inputs.begin(), inputs.end(), [&name = name](const ValueData& v) { return v.name == name; }))
      return invalid("there is no input '", abbreviated(name), "' to give values to");
  }
  return plan;
}

}  // namespace tenon::onnx
