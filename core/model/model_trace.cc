#include "model/model_trace.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

std::vector<TraceInput> inputs_of(const std::vector<Type>& examples, int64_t rows) {
  std::vector<TraceInput> out;
  for (size_t i = 0; i < examples.size(); ++i) {
    std::vector<int64_t> dims = examples[i].shape.vec();
    dims.insert(dims.begin(), rows);
    out.push_back({cat("x_", i), {examples[i].dtype, Shape(dims)}, true});
  }
  return out;
}

void note_weights(const Model& model, ModelTrace* out) {
  for (const Tensor& v : model.variables()) {
    const Graph& graph = *v.graph();
    const Variable& variable = graph.variables[static_cast<size_t>(graph.variable_of(v.id()))];
    out->weights[variable.name] = {v.type(), variable.trainable};
    out->order.push_back(variable.name);
  }
}

// With batches of so many rows on each unit.
std::vector<LayerCall> trace_once(Model& model, const std::vector<Type>& examples, int64_t rows,
                                  const TraceOptions& options, ModelTrace* out) {
  std::vector<LayerCall> calls;
  const TensorFunction call = [&](const Features& in) {
    Tensors xs;
    for (size_t i = 0; i < examples.size(); ++i) {
      const Tensor x = in[cat("x_", i)];
      xs.push_back(is_float(x.dtype()) ? cast(x, x.graph()->compute_dtype) : x);
    }
    const NotedCalls noted(&calls);
    Outputs results;
    for (const Tensor& y : model.all(xs))
      results.add(cat("y_", results.all().size()), {y, ResultMode::kLast, Joining::kRows});
    *out = {};
    out->outputs = results.all().size();
    note_weights(model, out);
    return results;
  };
  Trace traced = trace(call, inputs_of(examples, rows), options).take();
  out->graph = std::move(traced.graph);
  return calls;
}

// Dimensions that differ between two sizes of the batch are those of the batch.
std::vector<int64_t> shape_of(const Shape& a, const Shape* b) {
  std::vector<int64_t> dims = a.vec();
  for (size_t i = 0; i < dims.size(); ++i)
    if (!b || b->rank() != a.rank() || (*b)[static_cast<int>(i)] != dims[i]) dims[i] = kUnknownSize;
  return dims;
}

// Batches that nobody has asked for; layers that take parts of them can.
constexpr int64_t kLarger = 48, kSmaller = 24;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Its numbers and what is between them, in turn, beginning with text.
std::vector<std::string> parts_of(const std::string& message) {
  std::vector<std::string> parts(1);
  for (char c : message) {
    if (is_digit(c) != (parts.size() % 2 == 0)) parts.emplace_back();
    parts.back() += c;
  }
  return parts;
}

// The number that is `larger` in the larger batch and `smaller` in the other: "batch", "4*batch", "2*batch+1", "batch/8"; ""
// where it is none of these.
std::string in_batches(const std::string& larger, const std::string& smaller) {
  int64_t x = 0, y = 0;
  std::from_chars(larger.data(), larger.data() + larger.size(), x);
  std::from_chars(smaller.data(), smaller.data() + smaller.size(), y);
  constexpr int64_t kMore = kLarger - kSmaller;
  if (x <= y) return "";
  if (x * kSmaller == y * kLarger && kLarger % x == 0 && x < kLarger) return cat("batch/", kLarger / x);
  const int64_t each = (x - y) / kMore, rest = x - each * kLarger;
  if ((x - y) % kMore != 0) return "";
  return cat(each == 1 ? "" : cat(each, "*"), "batch", rest > 0 ? "+" : "", rest == 0 ? "" : cat(rest));
}

// What two messages say that differ by the size of the batch alone; the first where they are others.
std::string of_any_batch(const std::string& larger, const std::string& smaller) {
  const std::vector<std::string> a = parts_of(larger), b = parts_of(smaller);
  if (a.size() != b.size()) return larger;
  std::string out;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) {
      out += a[i];
      continue;
    }
    const std::string both = i % 2 == 1 ? in_batches(a[i], b[i]) : "";
    if (both.empty()) return larger;
    out += both;
  }
  return out;
}

template <class Work>
Status tried(const Work& work, int64_t rows) {
  try {
    work(rows);
  } catch (const Error& e) {
    return e.status();
  }
  return {};
}

// Does it with both batches. An error says "batch" for their sizes, unless one alone is wrong.
template <class Work>
void with_both_batches(const Work& work) {
  const Status larger = tried(work, kLarger), smaller = tried(work, kSmaller);
  if (larger.ok() && smaller.ok()) return;
  const Status& wrong = larger.ok() ? smaller : larger;
  throw Error(Status(wrong.code(), larger.ok() || smaller.ok() ? cat(wrong.message(), " (with a batch of ",
                                                                     larger.ok() ? kSmaller : kLarger, ")")
                                                               : of_any_batch(larger.message(), smaller.message())));
}

// States that have a row an example, as stateful layers have, are made when a batch says how many.
void leave_out_rows(const ModelTrace& other, ModelTrace* out) {
  for (const auto& [name, weight] : other.weights) {
    const auto found = out->weights.find(name);
    if (found == out->weights.end() || found->second.type == weight.type) continue;
    out->weights.erase(found);
    std::erase(out->order, name);
    std::erase_if(out->graph->variables, [&](const Variable& v) { return v.name == name; });
  }
}

}  // namespace

ModelTrace trace_model(Model& model, const std::vector<Type>& examples, const TraceOptions& options) {
  ModelTrace other, out;
  std::vector<LayerCall> larger, calls;
  with_both_batches([&](int64_t rows) {
    const bool is_larger = rows == kLarger;
    (is_larger ? larger : calls) = trace_once(model, examples, rows, options, is_larger ? &other : &out);
  });
  leave_out_rows(other, &out);
  for (size_t i = 0; i < calls.size(); ++i) {
    const LayerCall& call = calls[i];
    out.layers.push_back({call.name, call.class_name, call.depth, {}, call.variables, call.trainable});
    for (size_t r = 0; r < call.results.size(); ++r) {
      const bool both = i < larger.size() && r < larger[i].results.size();
      out.layers.back().shapes.push_back(shape_of(call.results[r].shape, both ? &larger[i].results[r].shape : nullptr));
    }
  }
  return out;
}

}  // namespace tenon
