#include "step/watched.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "base/text.h"
#include "op/bounded.h"
#include "op/replicas.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon {
namespace {

constexpr int64_t kEdge = 3;  // elements that are shown at each end of an axis

// The first and the last of each axis: enough to show any tensor.
Tensor edges_of(Tensor x) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t size = x.dim(axis);
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

// What lies behind the ends of dynamic dimensions is 0.
Tensor padded(Tensor x) {
  Ints axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return with_bounds(masked(x, axes, 0), static_bounds(x.shape()));
}

// The type of what all units have together.
Tensor shown(Tensor x, bool varies, Type* whole) {
  if (x.dtype() == DType::kBool) x = cast(x, DType::kI32);
  x = padded(x);
  if (x.dtype() == DType::kBF16 || x.dtype() == DType::kF16) x = cast(x, DType::kF32);
  if (!varies) return edges_of(x);
  if (x.rank() == 0) x = reshape(x, {1});
  whole->shape = x.shape();
  whole->shape.set(0, x.dim(0) * x.graph()->replicas);
  return all_gather(edges_of(x), 0);
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

// From axis `axis` on; `first` is the element at which that part of `edges` begins.
std::string part_text(const Array& edges, const Shape& whole, int axis, int64_t first) {
  if (axis == whole.rank()) return element(edges, first);
  int64_t stride = 1;
  for (int a = axis + 1; a < whole.rank(); ++a) stride *= edges.dim(a);
  const bool last_axis = axis + 1 == whole.rank(), cut = whole[axis] > 2 * kEdge;
  const std::string between = last_axis ? " " : "\n" + std::string(static_cast<size_t>(axis) + 1, ' ');
  const int64_t n = edges.dim(axis);
  std::string out = "[";
  for (int64_t i = 0; i < n; ++i) {
    if (cut && i == kEdge) {
      i = n - kEdge;
      out += between + "...";
    }
    if (i > 0) out += between;
    out += part_text(edges, whole, axis + 1, first + i * stride);
  }
  return out + "]";
}

}  // namespace

std::vector<Watched> add_watches(Graph& graph) {
  std::vector<Watched> out;
  if (graph.watches.empty()) return out;
  const std::vector<bool> varying = varying_values(graph);
  for (const Watch& watch : graph.watches) {
    const Tensor x(&graph, watch.value);
    Watched w{cat("watched/", out.size()), watch.name, watch.check, x.type()};
    const bool varies = graph.replicas > 1 && varying[static_cast<size_t>(watch.value)];
    const Tensor value = watch.check ? not_finite(x) : shown(x, varies, &w.whole);
    if (watch.check && varies && x.rank() > 0) w.whole.shape.set(0, x.dim(0) * graph.replicas);
    graph.results.push_back({value.id(), ResultMode::kEach, -1, false, w.result});
    out.push_back(std::move(w));
  }
  return out;
}

std::string edges_text(const Array& edges, const Shape& whole) { return part_text(edges, whole, 0, 0); }

Status show_watched(const Watched& watched, const Array& row, int64_t step) {
  const std::string what = cat(watched.name, ", ", watched.whole.str());
  if (!watched.check) {
    const std::string text =
        cat("step ", step, ": ", terminal_text(what), ": ", edges_text(row, watched.whole.shape), "\n");
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
