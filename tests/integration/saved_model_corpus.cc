// The conformance suite's graphs as SavedModels and ONNX's models: each case of an op is a signature, its inputs and what the reference makes of them
// stand in a checkpoint beside it.
#include <cstring>
#include <iostream>
#include <map>
#include <set>

#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "conformance/expected.h"
#include "corpus/corpus.h"
#include "export/onnx/onnx_writer.h"
#include "export/saved_model.h"
#include "integration/saved_model_tool.h"
#include "op/op.h"

namespace tenon {
namespace {

using conformance::Case;
using plugin::GraphView;
using plugin::NodeView;

AttrValue value_of(const GraphView& graph, const tenon_attr& attr) {
  const uint8_t* data = graph.attr_data(attr);
  if (attr.type == TENON_ATTR_BYTES) return std::string(reinterpret_cast<const char*>(data), attr.count);
  std::vector<int64_t> numbers(attr.count);
  std::memcpy(numbers.data(), data, attr.count * sizeof(int64_t));
  switch (attr.type) {
    case TENON_ATTR_F64: {
      double real;
      std::memcpy(&real, data, sizeof real);
      return real;
    }
    case TENON_ATTR_BOOL:
      return numbers[0] != 0;
    case TENON_ATTR_DTYPE:
      return static_cast<DType>(numbers[0]);
    case TENON_ATTR_ENUM:
      return Enum{static_cast<int32_t>(numbers[0])};
    case TENON_ATTR_I64:
      return numbers[0];
    default:
      return numbers;
  }
}

// A flat graph put into a larger one, under names that begin with `scope`.
class Joiner {
 public:
  Joiner(PortableGraph& to, const plugin::FlatGraph& from, std::string scope)
      : to_(to), graph_(*from.graph()), scope_(std::move(scope)), first_(static_cast<int>(to.values.size())) {}

  void run() {
    for (uint32_t v = 0; v < graph_.n_values(); ++v) {
      PortableValue value{static_cast<DType>(graph_.value(v).dtype()), {}};
      for (const int64_t dim : graph_.value(v).dims()) value.dims.push_back({dim, 0});
      to_.values.push_back(std::move(value));
    }
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i)
      to_.inputs.push_back({cat(scope_, "/x", i), place(graph_.input(i).value), false});
    for (uint32_t c = 0; c < graph_.n_constants(); ++c) add(graph_.constant(c), c);
    for (uint32_t n = 0; n < graph_.n_nodes(); ++n) add(graph_.node(n));
    for (uint32_t r = 0; r < graph_.n_results(); ++r)
      to_.results.push_back({cat(scope_, "/y", r), place(graph_.result(r).value)});
  }

 private:
  int place(uint32_t value) const { return value == TENON_NONE ? -1 : first_ + static_cast<int>(value); }

  void add(const tenon_constant& c, uint32_t number) {
    const auto* bytes = reinterpret_cast<const char*>(graph_.constant_data(c));
    const plugin::ValueView value = graph_.value(c.value);
    to_.nodes.push_back({"constant",
                         cat(scope_, "/constant", number),
                         1,
                         {},
                         {place(c.value)},
                         {{"value", std::string(bytes, c.bytes), {}},
                          {"shape", value.dims().vec(), {}},
                          {"dtype", static_cast<DType>(value.dtype()), {}}}});
  }

  void add(const NodeView& from) {
    PortableNode node{
        std::string(from.op()), cat(scope_, "/", from.name()), static_cast<int>(from.version()), {}, {}, {}};
    for (int i = 0; i < from.operands(); ++i) node.operands.push_back(place(from.operand_id(i)));
    for (int i = 0; i < from.results(); ++i)
      if (from.has_result(i)) node.results.push_back(place(from.result_id(i)));
    for (int i = 0; i < from.attributes(); ++i)
      node.attrs.push_back({std::string(from.attribute_name(i)), value_of(graph_, from.attribute(i)), {}});
    to_.nodes.push_back(std::move(node));
  }

  PortableGraph& to_;
  GraphView graph_;
  std::string scope_;
  int first_;
};

Type type_of(const reference::Tensor& x) { return {static_cast<DType>(x.dtype), Shape(x.dims)}; }

void add_tensor(BundleWriter& to, const std::string& name, const reference::Tensor& x) {
  const std::vector<uint8_t> bytes = reference::to_bytes(x);
  check(to.add(name, type_of(x), std::as_bytes(std::span(bytes))));
}

reference::Tensor in_f64(reference::Tensor x) {
  if (x.f.empty()) x.f.assign(x.i.begin(), x.i.end());
  x.i.clear();
  x.dtype = TENON_F64;
  return x;
}

bool draws(const Case& c) {
  const GraphView graph(*c.lowered.graph());
  for (uint32_t n = 0; n < graph.n_nodes(); ++n)
    if (graph.node(n).op() == "random") return true;
  return false;
}

// Cases that serving meets: ops of forward passes, of sizes that the reference takes.
bool is_tried(const Case& c) {
  static const std::set<std::string> none = {"all_gather", "all_reduce", "reduce_scatter", "replica_id"};
  if (c.kind != Case::kOp || c.min_memory > 0 || none.contains(c.op) || draws(c)) return false;
  return !c.op.ends_with("_grad") && !c.op.ends_with("_update") && c.op != "conv_grad_filter" &&
         conformance::case_size(c) < 200'000;
}

// Cases of one op as the signatures of one model.
class CorpusModel {
 public:
  explicit CorpusModel(std::string directory) : directory_(std::move(directory)) { make_directory(directory_); }

  void add(const Case& c) {
    const std::string key = cat("c", names_.size());
    names_.push_back(cat(c.op, " ", c.name));
    Joiner(graph_, c.whole, key).run();
    const GraphView view(*c.whole.graph());
    ServingSignature signature{key, "tensorflow/serving/predict", {}, {}};
    for (uint32_t i = 0; i < view.n_inputs(); ++i)
      signature.inputs.push_back({cat("x", i), ServingValue::Kind::kTensor, cat(key, "/x", i), {}});
    for (uint32_t r = 0; r < view.n_results(); ++r)
      signature.outputs.push_back({cat("y", r), ServingValue::Kind::kTensor, cat(key, "/y", r), {}});
    signatures_.push_back(std::move(signature));
    cases_.push_back(&c);
  }

  bool is_empty() const { return cases_.empty(); }

  void write() const {
    write_file(cat(directory_, "/saved_model.pb"), saved_model({graph_, signatures_, {}, {}}).take());
    for (const ServingSignature& signature : signatures_) write_onnx(signature);
    BundleWriter values = BundleWriter::create(cat(directory_, "/values")).take();
    for (size_t k = 0; k < cases_.size(); ++k) {
      const std::vector<reference::Tensor> inputs = conformance::inputs_of(*cases_[k], 1);
      const conformance::Expected expected = conformance::expect_of(*cases_[k], inputs);
      for (size_t i = 0; i < inputs.size(); ++i) add_tensor(values, cat("c", k, "/x", i), inputs[i]);
      for (size_t r = 0; r < expected.values.size(); ++r) {
        add_tensor(values, cat("c", k, "/y", r), in_f64(expected.values[r]));
        add_tensor(values, cat("c", k, "/t", r), in_f64(expected.tolerances[r]));
      }
    }
    check(values.commit());
    std::string names;
    for (const std::string& name : names_) names += name + "\n";
    write_file(cat(directory_, "/names.txt"), names);
  }

 private:
  // KEY.onnx, or KEY.refused, which says what ONNX does not have.
  void write_onnx(const ServingSignature& signature) const {
    const Result<std::string> model = onnx_model({graph_, signature, {}, {}});
    const std::string file = cat(directory_, "/", signature.key, model.ok() ? ".onnx" : ".refused");
    write_file(file, model.ok() ? *model : model.status().message());
  }

  std::string directory_;
  PortableGraph graph_;
  std::vector<ServingSignature> signatures_;
  std::vector<const Case*> cases_;
  std::vector<std::string> names_;
};

}  // namespace

void write_corpus_models(const std::string& directory, const std::set<std::string>& ops) {
  const corpus::Cases cases = corpus::all_cases();
  std::map<std::string, std::vector<const Case*>> by_op;
  for (const Case& c : cases)
    if (is_tried(c) && (ops.empty() || ops.contains(c.op))) by_op[c.op].push_back(&c);
  for (const auto& [op, some] : by_op) {
    CorpusModel model(cat(directory, "/", op));
    for (const Case* c : some) model.add(*c);
    try {
      model.write();
      std::cout << op << " " << some.size() << "\n";
    } catch (const Error& e) {
      std::cout << op << " refused: " << e.what() << "\n";
    }
  }
}

}  // namespace tenon
