#include "graph/bounds.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {
namespace {

void append_part(AxisBounds& axis, AxisPart f) {
  if (f.size == 1) return;  // one element is always there
  if (!f.dynamic() && !axis.empty() && axis.back().dim == f.dim)
    axis.back().size *= f.size;
  else
    axis.push_back(f);
}

AxisBounds completed(AxisBounds axis) { return axis.empty() ? static_axis(1) : axis; }

// Takes parts off the front of an axis, those that are not dynamic in parts.
class AxisParts {
 public:
  explicit AxisParts(AxisBounds axis) : left_(std::move(axis)) {}
  bool empty() const { return next_ == left_.size(); }
  const AxisPart& front() const { return left_[next_]; }
  // Its outermost `size` elements; false where it cannot be parted there.
  bool take(int64_t size) {
    AxisPart& f = left_[next_];
    if (f.size == size) return ++next_, true;
    if (f.dynamic() || f.size % size != 0) return false;
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
  return std::any_of(axis.begin(), axis.end(), [](const AxisPart& f) { return f.dynamic(); });
}

bool is_dynamic(const Bounds& bounds) {
  return std::any_of(bounds.begin(), bounds.end(), [](const AxisBounds& axis) { return is_dynamic(axis); });
}

AxisBounds ends_of(const AxisBounds& axis) {
  AxisBounds out;
  for (const AxisPart& f : axis) append_part(out, {f.size, f.dynamic() ? f.dim : kStatic});
  return completed(std::move(out));
}

Bounds ends_of(const Bounds& bounds) {
  Bounds out;
  for (const AxisBounds& axis : bounds) out.push_back(ends_of(axis));
  return out;
}

namespace {

// Nothing where parts differ in kind, or, `torn`, where the one's would have to be taken apart.
std::optional<AxisBounds> met_parts(const AxisBounds& a, const AxisBounds& b, bool& torn) {
  AxisBounds out;
  AxisParts x(a), y(b);
  while (!x.empty() && !y.empty()) {
    const AxisPart f = x.front(), g = y.front();
    const int64_t part = std::min(f.size, g.size);
    if (f.dim != g.dim && (f.dynamic() || g.dynamic()) && f.dim != kStatic && g.dim != kStatic) return {};
    torn = !x.take(part) || !y.take(part);
    if (torn) return {};
    append_part(out, {part, f.dim != kStatic ? f.dim : g.dim});
  }
  return completed(std::move(out));
}

std::optional<Bounds> regrouped_parts(const Bounds& bounds, const Shape& shape) {
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

}  // namespace

std::optional<AxisBounds> meet(const AxisBounds& a, const AxisBounds& b) {
  if (a == b) return a;
  bool torn = false;
  std::optional<AxisBounds> out = met_parts(a, b, torn);
  return torn ? met_parts(ends_of(a), ends_of(b), torn) : out;
}

std::optional<Bounds> regrouped(const Bounds& bounds, const Shape& shape) {
  std::optional<Bounds> out = regrouped_parts(bounds, shape);
  return out ? out : regrouped_parts(ends_of(bounds), shape);
}

std::string bounded_text(const Type& type, const Bounds& bounds) {
  std::vector<std::string> dims;
  for (int i = 0; i < type.shape.rank(); ++i)
    dims.push_back(cat(is_dynamic(bounds[static_cast<size_t>(i)]) ? "<=" : "", type.shape[i]));
  return cat(dtype_name(type.dtype), "[", join(dims, ","), "]");
}

}  // namespace tenon
