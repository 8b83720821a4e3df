#include "export/fit/spread_constants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/each_number.h"
#include "base/strings.h"
#include "compile/rewrite.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

using Whole = std::vector<int64_t>;

// The formula of a constant: numbers for each place but that along the axis.
struct PlaceFormula {
  bool fills = false;  // with the first element alone
  int axis = -1;       // -1: no axis grows with the rows
  Whole base, step, each;
};

// What one graph has of the constant.
struct Seen {
  DType dtype = DType::kNone;
  Shape shape;
  std::string bytes;  // of one element, where that fills it
};

std::optional<Seen> seen_constant(const Node& node) {
  if (node.op != "constant") return {};
  const auto* bytes = std::get_if<std::string>(find_attr(node.attrs, "value"));
  const auto* dims = std::get_if<std::vector<int64_t>>(find_attr(node.attrs, "shape"));
  const auto* dtype = std::get_if<DType>(find_attr(node.attrs, "dtype"));
  if (!bytes || !dims || !dtype || bytes->empty()) return {};
  return Seen{*dtype, Shape(*dims), *bytes};
}

bool is_filled(const Seen& seen) {
  const auto size = static_cast<size_t>(dtype_bytes(seen.dtype));
  for (size_t at = size; at < seen.bytes.size(); at += size)
    if (seen.bytes.compare(at, size, seen.bytes, 0, size) != 0) return false;
  return true;
}

// None where one is too large, or a float that has a fraction: what is computed of them later would be rounded.
std::optional<Whole> whole_numbers(const Seen& seen) {
  const bool real = seen.dtype == DType::kF32 || seen.dtype == DType::kF64;
  if (!real && seen.dtype != DType::kI32 && seen.dtype != DType::kI64) return {};
  const double most = seen.dtype == DType::kF32 ? 0x1p23 : 0x1p50;
  constexpr int64_t kMostInteger = int64_t{1} << 50;
  Whole out;
  bool exact = true;
  each_number(seen.dtype, std::as_bytes(std::span(seen.bytes)), [&](auto v) {
    if constexpr (std::is_same_v<decltype(v), double>) {
      exact = exact && std::abs(v) <= most && v == std::trunc(v) && !(v == 0 && std::signbit(v));
      out.push_back(exact ? static_cast<int64_t>(v) : 0);
    } else {
      exact = exact && v > -kMostInteger && v < kMostInteger;
      out.push_back(v);
    }
  });
  if (!exact) return {};
  if (out.size() == 1) out.assign(static_cast<size_t>(seen.shape.elements()), out[0]);
  return out;
}

class Finder {
 public:
  Finder(const std::array<int64_t, 3>& rows, const std::array<Seen, 3>& seen) : rows_(rows), seen_(seen) {}

  std::optional<PlaceFormula> run() {
    for (const Seen& other : seen_)
      if (other.dtype != seen_[0].dtype || other.shape.rank() != seen_[0].shape.rank()) return {};
    if (all_fill()) return PlaceFormula{true, -1, {}, {}, {}};
    if (!find_axis()) return {};
    for (size_t g = 0; g < 3; ++g) {
      std::optional<Whole> numbers = whole_numbers(seen_[g]);
      if (!numbers) return {};
      numbers_[g] = std::move(*numbers);
    }
    PlaceFormula out{false, axis_, {}, {}, {}};
    const auto places = static_cast<int64_t>(numbers_[0].size()) / length(0);
    for (int64_t place = 0; place < places; ++place)
      if (!add(place, out)) return {};
    return out;
  }

 private:
  bool all_fill() const {
    const auto size = static_cast<size_t>(dtype_bytes(seen_[0].dtype));
    for (const Seen& s : seen_)
      if (!is_filled(s) || s.bytes.compare(0, size, seen_[0].bytes, 0, size) != 0) return false;
    return true;
  }

  // At most one axis may grow.
  bool find_axis() {
    for (int a = 0; a < seen_[0].shape.rank(); ++a) {
      if (seen_[1].shape[a] == seen_[0].shape[a] && seen_[2].shape[a] == seen_[0].shape[a]) continue;
      if (axis_ >= 0) return false;
      axis_ = a;
    }
    for (int a = axis_ + 1; a < seen_[0].shape.rank(); ++a) inner_ *= seen_[0].shape[a];
    return axis_ < 0 || (length(0) > 1 && length(1) > 1 && length(2) > 1);
  }

  int64_t length(size_t g) const { return axis_ < 0 ? 1 : seen_[g].shape[axis_]; }
  int64_t number(size_t g, int64_t place, int64_t i) const {
    return numbers_[g][static_cast<size_t>((place / inner_ * length(g) + i) * inner_ + place % inner_)];
  }

  bool add(int64_t place, PlaceFormula& out) const {
    const int64_t step = axis_ < 0 ? 0 : number(0, place, 1) - number(0, place, 0);
    const int64_t more = number(1, place, 0) - number(0, place, 0), rows = rows_[1] - rows_[0];
    if (more % rows != 0) return false;
    const int64_t each = more / rows, base = number(0, place, 0) - each * rows_[0];
    for (size_t g = 0; g < 3; ++g)
      for (int64_t i = 0; i < length(g); ++i)
        if (number(g, place, i) != base + each * rows_[g] + step * i) return false;
    if (each != 0 && is_float(seen_[0].dtype)) return false;  // its base may be large
    out.base.push_back(base);
    out.step.push_back(step);
    out.each.push_back(each);
    return true;
  }

  const std::array<int64_t, 3>& rows_;
  const std::array<Seen, 3>& seen_;
  std::array<Whole, 3> numbers_;
  int axis_ = -1;
  int64_t inner_ = 1;
};

// The nodes of a formula in one graph.
class Spelling {
 public:
  Spelling(Graph& graph, const PlaceFormula& formula, const Seen& seen, int64_t rows)
      : graph_(graph), formula_(formula), seen_(seen), rows_(rows) {}

  Tensor run() const {
    if (formula_.fills)
      return constant(graph_, {seen_.dtype, seen_.shape},
                      std::string_view(seen_.bytes).substr(0, static_cast<size_t>(dtype_bytes(seen_.dtype))));
    Tensor sum = term(formula_.step, [&] { return iota(graph_, seen_.dtype, seen_.shape, formula_.axis); });
    if (const Tensor more = term(formula_.each, [&] { return count(); })) sum = sum ? sum + more : more;
    const bool first = !sum;
    if (first || !are_all(formula_.base, 0)) sum = first ? numbers(formula_.base) : sum + numbers(formula_.base);
    return broadcast_to(sum, seen_.shape);
  }

 private:
  static bool are_all(const Whole& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
  }

  // Empty where all of it is 0.
  template <class Factor>
  Tensor term(const Whole& by, Factor factor) const {
    if (are_all(by, 0)) return {};
    return are_all(by, 1) ? factor() : factor() * numbers(by);
  }

  // How many rows there are, a scalar.
  Tensor count() const { return cast(reduce_sum(full(graph_, DType::kI64, {rows_}, 1)), seen_.dtype); }

  // A scalar where they are all one.
  Tensor numbers(const Whole& values) const {
    if (are_all(values, values[0])) return full(graph_, seen_.dtype, {}, static_cast<double>(values[0]));
    Shape shape = seen_.shape;
    if (formula_.axis >= 0) shape.set(formula_.axis, 1);
    const Tensor wide = constant(graph_, {DType::kI64, shape},
                                 {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)});
    return broadcast_to(cast(wide, seen_.dtype), seen_.shape);
  }

  Graph& graph_;
  const PlaceFormula& formula_;
  const Seen& seen_;
  int64_t rows_;
};

struct SpreadConstant {
  PlaceFormula formula;
  std::array<Seen, 3> seen;
};

// What a node has, by its index in each graph: nothing where it is no constant or is the same in all, or no formula fits.
std::optional<SpreadConstant> spread_of(const TracedRows& traced, size_t node) {
  SpreadConstant out;
  for (size_t g = 0; g < 3; ++g) {
    std::optional<Seen> seen = seen_constant(traced.graphs[g].nodes[node]);
    if (!seen) return {};
    out.seen[g] = std::move(*seen);
  }
  if (out.seen[0].bytes == out.seen[1].bytes && out.seen[0].bytes == out.seen[2].bytes) return {};
  std::optional<PlaceFormula> formula = Finder(traced.rows, out.seen).run();
  if (!formula) return {};
  out.formula = std::move(*formula);
  return out;
}

}  // namespace

void spread_constants(TracedRows& traced) {
  const size_t nodes = traced.graphs[0].nodes.size();
  if (traced.graphs[1].nodes.size() != nodes || traced.graphs[2].nodes.size() != nodes) return;
  std::map<size_t, SpreadConstant> found;
  for (size_t n = 0; n < nodes; ++n)
    if (std::optional<SpreadConstant> spread = spread_of(traced, n)) found.emplace(n, std::move(*spread));
  if (found.empty()) return;
  for (size_t g = 0; g < 3; ++g) {
    const Graph& from = traced.graphs[g];
    Rewrite rewrite(from);
    Graph next = rewrite.run([&](const Node& node, const Tensors& operands) -> Tensors {
      const auto spread = found.find(static_cast<size_t>(&node - from.nodes.data()));
      if (spread == found.end()) return rewrite.copy(node, operands);
      const NameScope scope(rewrite.to(), node.name);
      return {Spelling(rewrite.to(), spread->second.formula, spread->second.seen[g], traced.rows[g]).run()};
    });
    traced.graphs[g] = std::move(next);
  }
}

}  // namespace tenon
