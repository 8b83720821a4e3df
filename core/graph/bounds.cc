#include "graph/bounds.h"

#include <algorithm>

#include "base/text.h"

namespace tenon {
namespace {

void append_part(AxisBounds& axis, AxisPart f) {
  if (f.size == 1) return;  // one element is always there
  if (f.dim == kStatic && !axis.empty() && axis.back().dim == kStatic)
    axis.back().size *= f.size;
  else
    axis.push_back(f);
}

AxisBounds completed(AxisBounds axis) { return axis.empty() ? static_axis(1) : axis; }

// Takes parts off the front of an axis, static ones in parts.
class AxisParts {
 public:
  explicit AxisParts(AxisBounds axis) : left_(std::move(axis)) {}
  bool empty() const { return next_ == left_.size(); }
  const AxisPart& front() const { return left_[next_]; }
  // Its outermost `size` elements; false where it cannot be parted there.
  bool take(int64_t size) {
    AxisPart& f = left_[next_];
    if (f.size == size) return ++next_, true;
    if (f.dim != kStatic || f.size % size != 0) return false;
    f.size /= size;
    return true;
  }

 private:
  AxisBounds left_;
  size_t next_ = 0;
};

std::optional<AxisBounds> taken(AxisParts& from, int64_t size) {
  AxisBounds axis;
  while (size > 1) {
    if (from.empty()) return {};
    const AxisPart f = from.front();
    const int64_t part = std::min(f.size, size);
    if (size % part != 0 || !from.take(part)) return {};
    append_part(axis, {part, f.dim});
    size /= part;
  }
  return completed(std::move(axis));
}

}  // namespace

AxisBounds static_axis(int64_t size) { return {{size, kStatic}}; }

Bounds static_bounds(const Shape& shape) {
  Bounds out;
  for (int64_t size : shape) out.push_back(static_axis(size));
  return out;
}

bool is_dynamic(const AxisBounds& axis) {
  return std::any_of(axis.begin(), axis.end(), [](const AxisPart& f) { return f.dim != kStatic; });
}

bool is_dynamic(const Bounds& bounds) {
  return std::any_of(bounds.begin(), bounds.end(), [](const AxisBounds& axis) { return is_dynamic(axis); });
}

std::optional<AxisBounds> meet(const AxisBounds& a, const AxisBounds& b) {
  if (a == b) return a;
  AxisBounds out;
  AxisParts x(a), y(b);
  while (!x.empty() && !y.empty()) {
    const AxisPart f = x.front(), g = y.front();
    const int64_t part = std::min(f.size, g.size);
    if (f.dim != kStatic && g.dim != kStatic && f.dim != g.dim) return {};
    if (!x.take(part) || !y.take(part)) return {};
    append_part(out, {part, f.dim != kStatic ? f.dim : g.dim});
  }
  return completed(std::move(out));
}

std::optional<Bounds> regrouped(const Bounds& bounds, const Shape& shape) {
  AxisBounds all;
  for (const AxisBounds& axis : bounds)
    for (const AxisPart& f : axis) append_part(all, f);
  AxisParts from(std::move(all));
  Bounds out;
  for (int64_t size : shape) {
    std::optional<AxisBounds> axis = taken(from, size);
    if (!axis) return {};
    out.push_back(std::move(*axis));
  }
  return out;
}

std::string bounded_text(const Type& type, const Bounds& bounds) {
  std::vector<std::string> dims;
  for (int i = 0; i < type.shape.rank(); ++i)
    dims.push_back(cat(is_dynamic(bounds[static_cast<size_t>(i)]) ? "<=" : "", type.shape[i]));
  return cat(dtype_name(type.dtype), "[", join(dims, ","), "]");
}

}  // namespace tenon
