#include "step/watched.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/strings.h"
#include "op/bounded.h"
#include "op/replicas.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon {
namespace {

constexpr int64_t kEdge = 3;  // elements that are shown at each end of an axis

// Where in its bound the k-th element of a dynamic axis stands, of those that are there: k counts through the parts that
// the axis is a product of, the last one first.
Tensor place_of(Tensor k, const AxisBounds& axis) {
  Graph& graph = *k.graph();
  Tensor place = zeros_like(k), rest = k;
  int64_t stride = 1;
  for (auto part = axis.rbegin(); part != axis.rend(); ++part) {
    const bool last = part + 1 == axis.rend();
    const Tensor size = part->dynamic() ? Tensor(&graph, graph.dynamic_dims[static_cast<size_t>(part->dim)].size)
                                        : full(graph, DType::kI32, {}, static_cast<double>(part->size));
    const Tensor outer = last ? Tensor() : rest / size, digit = last ? rest : rest - outer * size;
    place = place + digit * static_cast<double>(stride);
    stride *= part->size;
    rest = outer;
  }
  return place;
}

// The first and the last of what is there of a dynamic axis.
Tensor edges_there(Tensor x, int axis) {
  const int64_t shown = std::min(x.dim(axis), 2 * kEdge);
  const Tensor i = iota(*x.graph(), DType::kI32, {shown}, 0);
  const Tensor from_end = maximum(dimension_size(x, axis) - static_cast<double>(shown) + i, zeros_like(i));
  const Tensor k = select(compare(i, full_like(i, kEdge), CompareKind::kLt), i, from_end);
  return gather(x, place_of(k, x.graph()->bounds(x.id())[static_cast<size_t>(axis)]), axis);
}

// The first and the last of each axis: enough to show any tensor.
Tensor edges_of(Tensor x) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t size = x.dim(axis);
    if (is_dynamic(x.graph()->bounds(x.id())[static_cast<size_t>(axis)])) {
      x = edges_there(x, axis);
      continue;
    }
    if (size <= 2 * kEdge) continue;
    const auto part = [&](int64_t from, int64_t to) {
      Ints start(static_cast<size_t>(x.rank())), limit = x.shape().vec(), stride(start.size(), 1);
      start[static_cast<size_t>(axis)] = from;
      limit[static_cast<size_t>(axis)] = to;
      return slice(x, start, limit, stride);
    };
    x = concat({part(0, kEdge), part(size - kEdge, size)}, axis);
  }
  return x;
}

// 1 where some element on some unit is so, else 0: f32[1].
Tensor any(Tensor condition) {
  const Tensor flags = reshape(cast(condition, DType::kF32), {condition.elements()});
  return reshape(over_replicas(reduce(flags, {0}, ReduceKind::kMax), ReduceKind::kMax), {1});
}

Tensor not_finite(Tensor x) {
  return concat({any(compare(x, x, CompareKind::kNe)), any(compare(abs(x), full_like(x, INFINITY), CompareKind::kEq))},
                0);
}

Tensor shown(Tensor x, bool varies) {
  if (x.dtype() == DType::kBool) x = cast(x, DType::kI32);
  if (x.dtype() == DType::kBF16 || x.dtype() == DType::kF16) x = cast(x, DType::kF32);
  if (varies && x.rank() == 0) x = reshape(x, {1});
  const Tensor edges = edges_of(x);
  return varies ? all_gather(edges, 0) : edges;
}

std::vector<WatchedAxis> axes_of(Tensor x, bool varies) {
  std::vector<WatchedAxis> out;
  if (x.rank() == 0 && varies) out.emplace_back();
  for (const AxisBounds& axis : x.graph()->bounds(x.id())) {
    out.emplace_back();
    for (const AxisPart& part : axis) {
      if (part.dynamic())
        out.back().dims.push_back(x.graph()->dynamic_dims[static_cast<size_t>(part.dim)].name);
      else
        out.back().fixed *= part.size;
    }
  }
  return out;
}

// The type over all units.
Type whole_type(const Watched& watched, const DimensionSizes& sizes) {
  std::vector<int64_t> dims;
  for (const WatchedAxis& axis : watched.axes) {
    dims.push_back(dims.empty() ? axis.fixed * watched.units : axis.fixed);
    for (const std::string& dim : axis.dims) dims.back() *= sizes.at(dim);
  }
  return {watched.dtype, Shape(dims)};
}

template <class T>
std::string number(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  if (value != value) return "nan";
  char digits[40];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

std::string element(const Array& array, int64_t index) {
  const std::byte* p = array.bytes().data() + index * dtype_bytes(array.type().dtype);
  switch (array.type().dtype) {
    case DType::kF32:
      return number<float>(p);
    case DType::kF64:
      return number<double>(p);
    case DType::kI32:
      return number<int32_t>(p);
    case DType::kI64:
      return number<int64_t>(p);
    default:
      return number<uint8_t>(p);
  }
}

// Tensors of which there are the edges. Along axis 0 they are of several units, one after the other.
class Edges {
 public:
  Edges(const Array& edges, const Shape& whole, int units) : edges_(edges), whole_(whole), units_(units) {}

  // "[[1 2 3 ... 7 8 9]\n ...", from the axis on; `first` is the element at which that part begins.
  std::string text(int axis = 0, int64_t first = 0) const {
    if (axis == whole_.rank()) return element(edges_, first);
    int64_t stride = 1;
    for (int a = axis + 1; a < whole_.rank(); ++a) stride *= edges_.dim(a);
    const bool last_axis = axis + 1 == whole_.rank(), cut = whole_[axis] > 2 * kEdge;
    const std::string between = last_axis ? " " : "\n" + std::string(static_cast<size_t>(axis) + 1, ' ');
    const int64_t n = whole_[axis];
    std::string out = "[";
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdge) {
        i = n - kEdge;
        out += between + "...";
      }
      if (i > 0) out += between;
      out += text(axis + 1, first + place(axis, i) * stride);
    }
    return out + "]";
  }

 private:
  // Where the edges have element i of the axis: they keep the first and the last elements of each unit.
  int64_t place(int axis, int64_t i) const {
    const int64_t units = axis == 0 ? units_ : 1, there = whole_[axis] / units, kept = edges_.dim(axis) / units;
    const int64_t of_unit = i % there;
    return i / there * kept + (of_unit < kEdge ? of_unit : kept - (there - of_unit));
  }

  const Array& edges_;
  const Shape& whole_;
  int units_;
};

}  // namespace

std::vector<Watched> add_watches(Graph& graph) {
  std::vector<Watched> out;
  if (graph.watches.empty()) return out;
  const std::vector<bool> varying = varying_values(graph);
  for (const Watch& watch : graph.watches) {
    const Tensor x(&graph, watch.value);
    const bool varies = graph.replicas > 1 && varying[static_cast<size_t>(watch.value)];
    // Whether a scalar is finite is no row of it.
    const bool rows = varies && (!watch.check || x.rank() > 0);
    Watched w{cat("watched/", out.size()), watch.name, watch.check, x.dtype(), axes_of(x, rows),
              rows ? graph.replicas : 1};
    const Tensor value = watch.check ? not_finite(x) : shown(x, varies);
    graph.results.push_back({value.id(), ResultMode::kEach, -1, false, w.result});
    out.push_back(std::move(w));
  }
  return out;
}

Status show_watched(const Watched& watched, const Array& row, int64_t step, const DimensionSizes& sizes) {
  const Type whole = whole_type(watched, sizes);
  const std::string what = cat(watched.name, ", ", whole.str());
  if (!watched.check) {
    const std::string edges = Edges(row, whole.shape, watched.units).text();
    const std::string text = cat("step ", step, ": ", terminal_text(what), ": ", edges, "\n");
    std::fputs(text.c_str(), stderr);
    return {};
  }
  const std::vector<float> found = row.to<float>();
  const bool nan = found[0] > 0, infinite = found[1] > 0;
  if (!nan && !infinite) return {};
  return invalid("check_numerics: ", what, ", holds ", nan ? "NaN" : "", nan && infinite ? " and " : "",
                 infinite ? "infinity" : "", " at step ", step);
}

}  // namespace tenon
