#include "tenon/onnx.h"

#include <new>
#include <stdexcept>

#include "base/caught.h"
#include "import/onnx/call.h"
#include "import/onnx/file/onnx_model_file.h"
#include "import/onnx/lookups.h"
#include "import/onnx/plan.h"
#include "tenon/text.h"

namespace tenon {

struct OnnxModel::Impl {
  std::shared_ptr<const onnx::Plan> plan;
  std::vector<OnnxValue> inputs, outputs;
  std::vector<OnnxVariable> variables;
  mutable std::string wanted;
};

namespace {

// What users see: u8 as it is.
DType seen_as(onnx::Element element) { return element == onnx::Element::kU8 ? DType::kU8 : onnx::stored_as(element); }

OnnxValue seen(const onnx::ValueData& value, const OnnxOptions& options) {
  OnnxValue out{value.name, seen_as(value.element), {}, {}, value.has_shape};
  for (const onnx::DimData& dim : value.dims) {
    const auto given = options.dims.find(dim.name);
    const bool named = dim.size < 0 && !dim.name.empty() && given != options.dims.end();
    out.dims.push_back(named ? given->second : dim.size);
    out.dim_names.push_back(dim.name);
  }
  return out;
}

Graph& graph_of(const Features& features) {
  if (Graph* graph = graph_being_built()) return *graph;
  if (features.all().empty()) fail("an ONNX model is called outside of a function that is traced");
  return *features.all().begin()->second.graph();
}

// What the last walk wanted, also where it ended in an error.
class Wanted {
 public:
  Wanted(const onnx::Walk& walk, std::string& to) : walk_(walk), to_(to) { to_.clear(); }
  ~Wanted() { to_ = walk_.wanted(); }

 private:
  const onnx::Walk& walk_;
  std::string& to_;
};

// Names of a file may have line breaks; the message is a line, and says which file.
Status told(const std::string& path, const Status& status) {
  return Status(status.code(), terminal_text(cat("ONNX file '", path, "': ", status.message())));
}

template <class F>
auto of_file(const std::string& path, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(told(path, e.status()));
  } catch (const std::bad_alloc&) {
    throw Error(told(path, Status(Code::kOutOfMemory, "no memory to build it")));
  } catch (const std::length_error&) {
    throw Error(told(path, Status(Code::kOutOfMemory, "no memory to build it")));
  }
}

// How an open dimension is sized.
std::string sized_by(const std::string& name) {
  if (name.empty()) return " and has no name that a size could be given to";
  return cat(", called '", name, "'; give its size: --dim ", name, "=SIZE (from C++ OnnxOptions::dims)");
}

FeatureSpec feature_of(const OnnxValue& input, const onnx::OnnxFile& file) {
  if (input.dtype == DType::kNone)
    for (const onnx::ValueData& value : file.graph.inputs)
      if (value.name == input.name)
        fail("input '", input.name, "' is ",
             value.element == onnx::Element::kNone
                 ? "of no type that the file says"
                 : cat("of ", onnx::element_name(value.element), ", which Tenon has not"));
  if (!input.has_shape || input.dims.empty())
    fail("input '", input.name, "' has no rows in axis 0: the file says ", input.has_shape ? "a scalar" : "no shape");
  for (size_t a = 1; a < input.dims.size(); ++a)
    if (input.dims[a] < 0)
      fail("axis ", a, " of input '", input.name, "' is of any size", sized_by(input.dim_names[a]));
  int64_t elements = 1;
  for (size_t a = 1; a < input.dims.size(); ++a)
    if (__builtin_mul_overflow(elements, input.dims[a], &elements) || elements > onnx::kMostInResult)
      fail("an example of input '", input.name, "' has more than ", onnx::kMostInResult,
           " elements, which no memory holds");
  FeatureSpec spec;
  spec.name = input.name;
  spec.type = {input.dtype, Shape(std::vector<int64_t>(input.dims.begin() + 1, input.dims.end()))};
  return spec;
}

Tensor given_as(const onnx::Value& value) {
  if (value.is_empty()) fail("an output is empty, ", value.shape().str(), ", and nothing that a device has is");
  return value.element() == onnx::Element::kU8 ? cast(value.file(), DType::kU8) : value.file();
}

Result<OnnxModel> model_of(onnx::OnnxFile file, OnnxOptions options) {
  const std::string path = file.path;
  Result<std::shared_ptr<onnx::Plan>> made = onnx::make_plan(std::move(file), std::move(options));
  if (!made.ok()) return told(path, made.status());
  const std::shared_ptr<onnx::Plan> plan = made.take();
  auto impl = std::make_shared<OnnxModel::Impl>();
  const std::unordered_map<std::string, int64_t> rows = onnx::rows_looked_up(plan->file.graph);
  for (const onnx::ValueData& input : plan->file.graph.inputs) {
    if (plan->options.values.count(input.name) != 0) continue;
    impl->inputs.push_back(seen(input, plan->options));
    if (const auto found = rows.find(input.name); found != rows.end()) impl->inputs.back().below = found->second;
  }
  for (const onnx::ValueData& output : plan->file.graph.outputs) impl->outputs.push_back(seen(output, plan->options));
  const std::string scope = plan->options.scope.empty() ? "" : plan->options.scope + "/";
  for (const onnx::TensorData& data : plan->file.graph.initializers) {
    const auto weight = plan->weights.find(data.name);
    if (weight != plan->weights.end() && weight->second.variable)
      impl->variables.push_back(
          {scope + data.name, weight->second.type, weight->second.trainable, weight->second.nodes});
  }
  impl->plan = plan;
  return OnnxModel(impl);
}

}  // namespace

const std::string& OnnxModel::path() const { return impl_->plan->file.path; }
int64_t OnnxModel::ir_version() const { return impl_->plan->file.ir_version; }
const std::string& OnnxModel::producer() const { return impl_->plan->file.producer; }
const std::map<std::string, int64_t>& OnnxModel::opsets() const { return impl_->plan->file.opsets; }
const std::vector<OnnxValue>& OnnxModel::inputs() const { return impl_->inputs; }
const std::vector<OnnxValue>& OnnxModel::outputs() const { return impl_->outputs; }
const std::vector<OnnxVariable>& OnnxModel::variables() const { return impl_->variables; }
bool OnnxModel::has_head() const { return impl_->plan->head.has_value(); }

Result<std::vector<OnnxVariable>> OnnxModel::variables_found_by(const std::string& expression) const {
  TENON_ASSIGN(const NameExpression found, NameExpression::make(expression));
  std::vector<OnnxVariable> all = impl_->variables, out;
  if (options().replace_head > 0)
    for (const char* name : {"head/kernel", "head/bias"})
      all.push_back({options().scope.empty() ? name : options().scope + "/" + name, {}});
  for (OnnxVariable& v : all)
    if (onnx::is_found(found, v.name, v.nodes)) out.push_back(std::move(v));
  return out;
}

const std::string& OnnxModel::wanted() const { return impl_->wanted; }
const OnnxOptions& OnnxModel::options() const { return impl_->plan->options; }

std::vector<std::pair<std::string, int64_t>> OnnxModel::ops() const {
  std::map<std::string, int64_t> counts;
  for (const onnx::NodeData& node : impl_->plan->file.graph.nodes)
    ++counts[node.domain.empty() ? node.op : node.domain + "." + node.op];
  return {counts.begin(), counts.end()};
}

std::vector<std::pair<std::string, int64_t>> OnnxModel::unknown_ops() const {
  return {impl_->plan->unknown.begin(), impl_->plan->unknown.end()};
}

std::vector<FeatureSpec> OnnxModel::features() const {
  return of_file(path(), [&] {
    std::vector<FeatureSpec> out;
    for (const OnnxValue& input : impl_->inputs) out.push_back(feature_of(input, impl_->plan->file));
    return out;
  });
}

Outputs OnnxModel::operator()(const Features& features) const {
  return of_file(path(), [&] {
    onnx::Walk walk(*impl_->plan, graph_of(features), features);
    const Wanted wanted(walk, impl_->wanted);
    walk.run();
    Outputs out;
    for (const OnnxValue& output : impl_->outputs) out.add(output.name, given_as(walk.find(output.name)));
    return out;
  });
}

Tensor OnnxModel::logits(const Features& features) const {
  return of_file(path(), [&] {
    const std::string& scores = impl_->plan->scores;
    if (scores.empty()) fail("it has no output");
    onnx::Walk walk(*impl_->plan, graph_of(features), features);
    const Wanted wanted(walk, impl_->wanted);
    walk.run(&scores);
    return given_as(walk.find(scores));
  });
}

Result<OnnxModel> OnnxModel::with(OnnxOptions options) const { return model_of(impl_->plan->file, std::move(options)); }

Result<OnnxModel> import_onnx(const std::string& path, OnnxOptions options) {
  return caught([&]() -> Result<OnnxModel> {
    TENON_ASSIGN(onnx::OnnxFile file, onnx::open_file(path));
    return model_of(std::move(file), std::move(options));
  });
}

Result<OnnxTensor> read_onnx_tensor(const std::string& path) {
  return caught([&]() -> Result<OnnxTensor> {
    TENON_ASSIGN(const onnx::TensorData data, onnx::open_tensor(path));
    TENON_ASSIGN(Array value, onnx::to_array(data));
    return OnnxTensor{data.name, std::move(value)};
  });
}

}  // namespace tenon
