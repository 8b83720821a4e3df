#include "step/feed/feed_check.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/half.h"
#include "base/strings.h"
#include "tenon/op/names.h"
#include "tenon/op/table.h"

namespace tenon {
namespace {

// Ops whose result holds only values of their first operand.
bool moves(const Node& node) {
  const op::Row* row = op::find(node.op);
  return node.op == "cast" || (row && row->values == op::Values::kMoved);
}

struct Use {
  ValueId indices = kAbsent;
  int64_t limit = 0;
  const int64_t* ignored = nullptr;
};

// The operand of a node that are indices.
Use use_of(const Graph& graph, const Node& node) {
  const auto number = [&](std::string_view name) { return std::get_if<int64_t>(find_attr(node.attrs, name)); };
  const auto shape_of = [&](int operand) { return graph.type(node.operands[operand]).shape; };
  if (node.op == "gather" || node.op == "scatter") {  // x and i come first in both
    using Op = op::gather;
    return {node.operands[Op::i], shape_of(Op::x)[static_cast<int>(*number("axis"))]};
  }
  if (node.op != "softmax_cross_entropy") return {};
  using Op = op::softmax_cross_entropy;
  return {node.operands[Op::label], shape_of(Op::x)[-1], number("ignore")};
}

void narrow(std::vector<IndexRange>& ranges, const std::string& feature, const Use& use, const Node& node) {
  auto it = std::find_if(ranges.begin(), ranges.end(), [&](const IndexRange& r) { return r.feature == feature; });
  if (it == ranges.end()) it = ranges.insert(it, {feature, INT64_MAX, {}, {}});
  if (use.limit < it->limit) {
    it->limit = use.limit;
    it->use = describe(node);
  }
  if (use.ignored) it->ignored.push_back(*use.ignored);
}

// Where element `e` of example `row` lies.
int64_t place_of(int64_t row, int64_t e, int64_t elements, int64_t batch_if_minor) {
  const int64_t share = batch_if_minor > 0 ? batch_if_minor : 1;
  return (row / share * elements + e) * share + row % share;
}

template <class T>
Outside first_outside(const IndexRange& range, const T* v, int64_t rows, int64_t elements, int64_t batch_if_minor) {
  const auto limit = static_cast<uint64_t>(range.limit);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t e = 0; e < elements; ++e) {
      const auto value = static_cast<int64_t>(v[place_of(row, e, elements, batch_if_minor)]);
      if (static_cast<uint64_t>(value) >= limit && !range.allows(value)) return {row, value};
    }
  return {};
}

template <class T, class Number>
Farthest farthest(const void* values, Number number, int64_t rows, int64_t elements, int64_t batch_if_minor) {
  const auto* v = static_cast<const T*>(values);
  Farthest out{0, 0};
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t e = 0; e < elements; ++e) {
      const double value = number(v[place_of(row, e, elements, batch_if_minor)]);
      if (std::fabs(value) <= std::fabs(out.value)) continue;
      out = {row, value};
      if (!std::isfinite(value)) return out;
    }
  return out;
}

}  // namespace

bool IndexRange::allows(int64_t value) const {
  return (value >= 0 && value < limit) || std::find(ignored.begin(), ignored.end(), value) != ignored.end();
}

std::vector<IndexRange> index_ranges(const Graph& graph) {
  std::map<ValueId, std::string> fed;  // values that are a feature's, moved about
  for (const GraphInput& input : graph.inputs)
    if (input.role == Role::kFeed && !is_float(graph.type(input.value).dtype)) fed[input.value] = input.name;
  std::vector<IndexRange> ranges;
  for (const Node& node : graph.nodes) {
    if (node.operands.empty()) continue;
    if (const auto from = fed.find(node.operands[0]);
        moves(node) && from != fed.end() && !is_float(graph.type(node.results[0]).dtype))
      fed[node.results[0]] = from->second;
    const Use use = use_of(graph, node);
    if (const auto it = fed.find(use.indices); it != fed.end()) narrow(ranges, it->second, use, node);
  }
  return ranges;
}

Outside find_outside(const IndexRange& range, const void* values, DType dtype, int64_t rows, int64_t elements,
                     int64_t batch_if_minor) {
  const auto find = [&](const auto* v) { return first_outside(range, v, rows, elements, batch_if_minor); };
  switch (dtype) {
    case DType::kU8:
      return find(static_cast<const uint8_t*>(values));
    case DType::kI32:
      return find(static_cast<const int32_t*>(values));
    case DType::kI64:
      return find(static_cast<const int64_t*>(values));
    default:
      return {};
  }
}

Farthest find_farthest(const void* values, DType dtype, int64_t rows, int64_t elements, int64_t batch_if_minor) {
  const auto same = [](auto v) { return static_cast<double>(v); };
  switch (dtype) {
    case DType::kF32:
      return farthest<float>(values, same, rows, elements, batch_if_minor);
    case DType::kF64:
      return farthest<double>(values, same, rows, elements, batch_if_minor);
    case DType::kBF16:
      return farthest<uint16_t>(values, from_bf16, rows, elements, batch_if_minor);
    case DType::kF16:
      return farthest<uint16_t>(values, from_f16, rows, elements, batch_if_minor);
    default:
      return {};
  }
}

std::string outside_message(const IndexRange& range, int64_t value) {
  return cat("feature '", range.feature, "' is ", value, ", expected 0 to ", range.limit - 1, " for ", range.use);
}

}  // namespace tenon
