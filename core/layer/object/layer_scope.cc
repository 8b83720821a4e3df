#include "layer/object/layer_scope.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "layer/object/masks.h"

namespace tenon {
namespace {

Graph& graph_of(Tensor x, std::string_view layer, std::string_view name) {
  if (!x) fail(layer, " '", name, "': the input was never set");
  const Graph* const traced = graph_being_built();
  if (x.is_left_over() || (traced && !x.is_of(*traced))) fail(layer, " '", name, "': the input is ", foreign_text(x));
  return *x.graph();
}

std::string under(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : cat(scope, "/", name);
}

}  // namespace

LayerScope::LayerScope(Tensor x, std::string_view layer, std::string_view name)
    : graph_(graph_of(x, layer, name)), saved_(graph_.scope()), layer_(layer) {
  const bool of_object = std::exchange(graph_.entered, false);
  name_ = of_object ? saved_ : graph_.unique_layer(name);
  graph_.set_scope(name_);
  call_ = graph_.unique_call(name_);
  const std::string asked_for = of_object ? name_ : under(saved_, name);
  const std::string& there = graph_.kind_of_layer(asked_for, layer);
  if (name != layer && name_ != asked_for)
    ::tenon::fail(layer, " '", name, "': there is a layer of that name already, ", there, " '", asked_for,
                  "'; a layer that is called twice is an object");
}

void LayerScope::expect_float(Tensor x, int low, int high) const {
  const bool fits = is_float(x.dtype()) && x.rank() >= low && x.rank() <= high;
  expect(fits, "input is ", x.type().str(), ", expected a float of rank ", low,
         low == high        ? ""
         : high == kMaxRank ? " or more"
                            : cat(" to ", high));
  expect(x.elements() > 0, "input ", x.type().str(), " is empty");
}

Tensor LayerScope::as_float(Tensor x, int low, int high) const {
  const bool casts = graph_.casts_inputs && graph_.builders.empty() && graph_.compute_dtype != DType::kF32;
  if (is_integer(x.dtype()) || x.dtype() == DType::kU8 || (casts && is_float(x.dtype())))
    x = with_mask_of(x, cast(x, graph_.compute_dtype));
  expect_float(x, low, high);
  return x;
}

void LayerScope::expect_static(Tensor x, int axis) const {
  const Bounds bounds = graph_.bounds(x.id());
  const int at = axis < 0 ? axis + x.rank() : axis;
  expect(!is_dynamic(bounds[static_cast<size_t>(at)]), "input is ", graph_.type_text(x.id()), ", whose dimension ", at,
         " is dynamic, expected a defined size, which a weight has");
}

Ints LayerScope::sizes(std::string_view what, const Extent& extent, int dimensions, int64_t least) const {
  const auto n = static_cast<size_t>(dimensions);
  expect(extent.count() == 1 || extent.count() == n, what, " has ", extent.count(), " numbers, expected 1",
         n == 1 ? "" : cat(" or ", n));
  Ints out = extent.of(dimensions);
  for (int64_t v : out) expect_size(what, v, least);
  return out;
}

Tensor parameter(Tensor x, std::string_view name, const Shape& shape, const InitializerRule& rule, bool trainable,
                 const Regularizer& regularizer, const Constraint& constraint) {
  const bool again = has_variable(x, name);
  const Tensor w = variable(x, name, shape, rule(shape), trainable);
  if (again) return w;  // the penalty is there
  if (constraint.project) constrain(w, constraint);
  if (regularizer) add_penalty(cat("'", name, "'"), w, regularizer);
  return w;
}

Tensor weight(Tensor x, std::string_view name, const Shape& shape, const InitializerRule& rule, bool trainable,
              const Regularizer& regularizer, const Constraint& constraint) {
  return cast(parameter(x, name, shape, rule, trainable, regularizer, constraint), x.dtype());
}

double default_alpha(Activation activation) {
  if (activation == Activation::kLeakyRelu) return 0.2;
  return activation == Activation::kElu ? 1 : 0;
}

Ints Extent::of(int dimensions) const {
  if (sizes_.size() == 1) return Ints(static_cast<size_t>(dimensions), sizes_[0]);
  if (static_cast<int>(sizes_.size()) != dimensions) fail("has ", sizes_.size(), " sizes, expected 1 or ", dimensions);
  return sizes_;
}

Paddings paddings(Padding padding, const Ints& input, const Ints& kernel, const Ints& strides, const Ints& dilation) {
  Paddings p{Ints(input.size(), 0), Ints(input.size(), 0)};
  for (size_t d = 0; d < input.size(); ++d) {
    const int64_t reach = (kernel[d] - 1) * dilation[d];
    if (padding == Padding::kCausal) p.low[d] = reach;
    if (padding != Padding::kSame) continue;
    const int64_t output = (input[d] + strides[d] - 1) / strides[d];
    const int64_t total = std::max<int64_t>((output - 1) * strides[d] + reach + 1 - input[d], 0);
    p.low[d] = total / 2;
    p.high[d] = total - total / 2;
  }
  return p;
}

Ints spatial_axes(Tensor x) {
  Ints axes;
  for (int i = 1; i + 1 < x.rank(); ++i) axes.push_back(i);
  return axes;
}

Tensor as_indices(Tensor x) {
  const bool converted = x.dtype() == DType::kU8 || x.dtype() == DType::kF32 || x.dtype() == DType::kF64;
  return converted ? cast(x, DType::kI32) : x;
}

Tensor same_rank(Tensor x, Tensor like) {
  if (x.rank() != like.rank() + 1 || x.dim(-1) != 1) return x;
  return reshape(x, Shape(std::vector<int64_t>(x.shape().begin(), x.shape().end() - 1)));
}

Tensor sample_weights(std::string_view what, Tensor weight, Tensor values) {
  std::vector<int64_t> dims = weight.shape().vec();
  const auto rank = static_cast<size_t>(values.rank());
  while (dims.size() > rank && dims.back() == 1) dims.pop_back();
  while (dims.size() < rank) dims.push_back(1);
  bool fits = dims.size() == rank;
  for (size_t i = 0; fits && i < rank; ++i) fits = dims[i] == 1 || dims[i] == values.dim(static_cast<int>(i));
  if (!fits)
    fail(what, ": sample_weight is ", weight.type().str(), ", expected one number for each of ", values.shape().str());
  return broadcast_to(cast(reshape(weight, Shape(dims)), DType::kF32), values.shape());
}

}  // namespace tenon
