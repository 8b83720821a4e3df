// Elements put in other places: joined, cut, padded, turned.
#include <algorithm>
#include <climits>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace movement_ops {
namespace {

// A tensor in whichever order of axes it is, and the place of the file's axes there.
struct Laid {
  Tensor x;
  bool last;
  int64_t axis(int64_t a) const { return last ? axis_in_last(a, x.rank()) : a; }
  Shape shape() const { return x.shape(); }
  void give(Call& c, Tensor y, Element element) const { last ? c.give_last(y, element) : c.give(y, element); }
};

Laid laid(Call& c, size_t i) {
  const Value x = c.value(i);
  return x.is_last() ? Laid{x.last(), true} : Laid{x.file(), false};
}

void concat_rule(Call& c) {
  bool last = false;
  for (size_t i = 0; i < c.inputs(); ++i) last |= c.value(i).is_last();
  Value none;
  Tensors parts;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Value x = c.value(i);
    if (x.is_empty()) {
      none = x;
      continue;
    }
    parts.push_back(last ? x.last() : x.file());
  }
  if (parts.empty()) return c.give(none);
  const int64_t axis = c.axis(c.integer("axis", 1), parts[0].rank());
  const Laid as{parts[0], last};
  as.give(c, concat(parts, as.axis(axis)), c.element());
}

void give_part(Call& c, const Laid& x, int64_t axis, int64_t from, int64_t n, Element element) {
  if (n > 0) return x.give(c, part(x.x, axis, from, from + n), element);
  Shape shape = c.value(0).shape();
  shape.set(x.last && x.x.rank() > 2 ? axis == 0                ? 0
                                       : axis == x.x.rank() - 1 ? 1
                                                                : static_cast<int>(axis) + 1
                                     : static_cast<int>(axis),
            0);
  c.give_empty(element, shape);
}

void split_nothing(Call& c) {
  Shape shape = c.value(0).shape();
  const auto axis = static_cast<int>(c.axis(c.integer("axis", 0), shape.rank()));
  const std::optional<Ints> sizes = c.axes(1, "split");
  const Element element = c.element();
  for (size_t i = 0; i < c.node.outputs.size(); ++i) {
    shape.set(axis, sizes && i < sizes->size() ? (*sizes)[i] : 0);
    c.give_empty(element, shape);
  }
}

void split_rule(Call& c) {
  if (c.value(0).is_empty()) return split_nothing(c);
  const Laid x = laid(c, 0);
  const int64_t axis = x.axis(c.axis(c.integer("axis", 0), x.x.rank()));
  const int64_t size = x.x.dim(static_cast<int>(axis)),
                parts = c.between("num_outputs", static_cast<int64_t>(c.node.outputs.size()), 1,
                                  static_cast<int64_t>(c.node.outputs.size()));
  std::optional<Ints> sizes = c.axes(1, "split");
  if (!sizes) {
    if (parts < 1) fail(parts, " parts");
    const int64_t each = (size + parts - 1) / parts;
    sizes.emplace();
    for (int64_t at = 0; at < size || static_cast<int64_t>(sizes->size()) < parts; at += each)
      sizes->push_back(std::clamp<int64_t>(size - at, 0, each));
  }
  const Element element = c.element();
  int64_t at = 0;
  for (const int64_t n : *sizes) {
    if (n < 0 || n > size - at) fail("parts of [", join(*sizes, ","), "] elements of ", size);
    give_part(c, x, axis, at, n, element);
    at += n;
  }
}

// Python's rule.
struct Cut {
  int64_t from = 0, to = 0, step = 1;
  bool back = false;
};
Cut cut_of(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (step == 0) fail("a step of 0");
  const auto place = [&](int64_t at, int64_t low, int64_t high) {
    if (at < 0) at = at < -size ? low : at + size;
    return std::clamp(at, low, high);
  };
  if (step > 0) {
    const int64_t from = place(start, 0, size), to = place(end, 0, size);
    return {from, std::max(from, to), std::min(step, std::max<int64_t>(size, 1)), false};
  }
  const int64_t from = place(start, -1, size - 1), to = end < -size ? -1 : place(end, -1, size - 1);
  const int64_t by = step < -std::max<int64_t>(size, 1) ? std::max<int64_t>(size, 1) : -step;
  if (from <= to) return {0, 0, 1, true};
  const int64_t count = (from - to + by - 1) / by;
  return {from - by * (count - 1), from + 1, by, true};
}

void slice_rule(Call& c) {
  if (c.value(0).is_empty()) return c.give(c.value(0));
  const Laid x = laid(c, 0);
  const Ints starts = c.opset < 10 ? c.ints("starts") : c.known_ints(1),
             ends = c.opset < 10 ? c.ints("ends") : c.known_ints(2);
  const Ints axes = c.opset < 10 ? c.ints("axes", iota_list(static_cast<int64_t>(starts.size())))
                    : c.has(3)   ? c.known_ints(3)
                                 : iota_list(static_cast<int64_t>(starts.size()));
  const Ints steps = c.has(4) ? c.known_ints(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    fail(starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(), " steps");
  const auto rank = static_cast<size_t>(x.x.rank());
  Ints from(rank, 0), to = x.x.shape().vec(), stride(rank, 1), back;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(x.axis(c.axis(axes[i], x.x.rank())));
    const Cut cut = cut_of(starts[i], ends[i], steps[i], x.x.dim(static_cast<int>(a)));
    from[a] = cut.from, to[a] = cut.to, stride[a] = cut.step;
    if (cut.back) back.push_back(static_cast<int64_t>(a));
  }
  Shape file = c.value(0).shape();
  bool none = false;
  for (int a = 0; a < file.rank(); ++a) {
    const auto at = static_cast<size_t>(x.axis(a));
    if (from[at] >= to[at]) file.set(a, 0), none = true;
  }
  if (none) return c.give_empty(c.element(), file);
  Tensor y = slice(x.x, from, to, stride);
  std::sort(back.begin(), back.end());
  if (!back.empty() && y.elements() > 0) y = reverse(y, back);
  x.give(c, y, c.element());
}

// The place that padding of a mode reads.
int64_t mirrored(const std::string& mode, int64_t at, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  at = ((at % period) + period) % period;
  return at < size ? at : period - at;
}

Tensor pad_by_places(Call& c, Tensor x, const std::string& mode, const Ints& low, const Ints& high) {
  for (int a = 0; a < x.rank(); ++a) {
    const int64_t size = x.dim(a), before = low[static_cast<size_t>(a)], after = high[static_cast<size_t>(a)];
    if (before == 0 && after == 0) continue;
    expect_table(static_cast<double>(size) + static_cast<double>(before) + static_cast<double>(after));
    Ints places;
    for (int64_t i = -before; i < size + after; ++i) places.push_back(mirrored(mode, i, size));
    x = gather(x, c.ints_constant(places, Shape({static_cast<int64_t>(places.size())})), a);
  }
  return x;
}

// Less than none cuts off.
Tensor pad_with(Call& c, Tensor x, Ints low, Ints high, size_t value) {
  Ints from(low.size(), 0), to = x.shape().vec();
  for (size_t a = 0; a < low.size(); ++a) {
    if (low[a] < 0) from[a] = -low[a], low[a] = 0;
    if (high[a] < 0) to[a] += high[a], high[a] = 0;
    if (from[a] > to[a]) fail("padding cuts off more than there is of ", x.type().str());
  }
  x = slice(x, from, to, {});
  if (!c.has(value)) return pad(x, low, high, {}, value < c.inputs() || c.opset >= 11 ? 0 : c.real("value", 0));
  const Tensor given = reshape(c.in(value), {});
  if (const Array* known = c.walk.find_known(given)) return pad(x, low, high, {}, known->item());
  const Tensor one = pad(full_like(x, 1), low, high, {}, 0), y = pad(x, low, high, {}, 0);
  return select(compare(one, scalar_like(one, 0), CompareKind::kNe), y, given);
}

Tensor as_numbers(Tensor x) { return x.dtype() == DType::kBool ? cast(x, DType::kI32) : x; }

void pad_rule(Call& c) {
  const Laid x = laid(c, 0);
  const Ints pads = c.opset < 11 ? c.has_attr("pads") ? c.ints("pads") : c.ints("paddings") : c.known_ints(1);
  const int64_t rank = x.x.rank();
  Ints axes = c.has(3) ? c.known_ints(3) : iota_list(rank);
  if (pads.size() != 2 * axes.size()) fail(pads.size(), " pads of ", axes.size(), " axes");
  Ints low(static_cast<size_t>(rank), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(x.axis(c.axis(axes[i], rank)));
    low[a] = pads[i], high[a] = pads[i + axes.size()];
    for (const int64_t pads_of : {low[a], high[a]})
      if (pads_of < -(int64_t{1} << 40) || pads_of > int64_t{1} << 40) fail("a pad of ", pads_of);
  }
  const std::string mode = c.text("mode", "constant");
  const Tensor y =
      mode == "constant" ? pad_with(c, as_numbers(x.x), low, high, 2) : pad_by_places(c, x.x, mode, low, high);
  x.give(c, cast(y, x.x.dtype()), c.element());
}

void depth_to_space(Call& c) {
  const Tensor x = c.in(0);
  const int64_t b = c.between("blocksize", 1, 1, 1 << 20), n = x.dim(0), d = x.dim(1), h = x.dim(2), w = x.dim(3);
  if (b < 1 || d % (b * b) != 0) fail("blocks of ", b, " of ", x.type().str());
  const bool columns_first = c.text("mode", "DCR") == "CRD";
  const Tensor y = columns_first ? transpose(reshape(x, {n, d / (b * b), b, b, h, w}), {0, 1, 4, 2, 5, 3})
                                 : transpose(reshape(x, {n, b, b, d / (b * b), h, w}), {0, 3, 4, 1, 5, 2});
  c.give(reshape(y, {n, d / (b * b), h * b, w * b}));
}

void space_to_depth(Call& c) {
  const Tensor x = c.in(0);
  const int64_t b = c.between("blocksize", 1, 1, 1 << 20), n = x.dim(0), d = x.dim(1), h = x.dim(2), w = x.dim(3);
  if (b < 1 || h % b != 0 || w % b != 0) fail("blocks of ", b, " of ", x.type().str());
  const Tensor y = c.text("mode", "DCR") == "CRD"
                       ? transpose(reshape(x, {n, d, h / b, b, w / b, b}), {0, 1, 3, 5, 2, 4})
                       : transpose(reshape(x, {n, d, h / b, b, w / b, b}), {0, 3, 5, 1, 2, 4});
  c.give(reshape(y, {n, d * b * b, h / b, w / b}));
}

void center_crop_pad(Call& c) {
  Tensor x = c.in(0);
  const Ints sizes = c.known_ints(1), axes = c.ints("axes", iota_list(x.rank()));
  if (sizes.size() != axes.size()) fail(sizes.size(), " sizes of ", axes.size(), " axes");
  const Element element = c.element();
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(c.axis(axes[i], x.rank()));
    const int64_t size = x.dim(static_cast<int>(a)), wanted = sizes[i];
    if (wanted < 1 || wanted > int64_t{1} << 40) fail("a size of ", wanted);
    if (wanted < size) {
      const int64_t from = (size - wanted) / 2;
      x = part(x, static_cast<int64_t>(a), from, from + wanted);
    } else if (wanted > size) {
      Ints low(static_cast<size_t>(x.rank()), 0), high = low;
      low[a] = (wanted - size) / 2, high[a] = wanted - size - low[a];
      x = pad(x, low, high, {}, 0);
    }
  }
  c.give(x, element);
}

void trilu(Call& c) {
  if (c.value(0).is_empty()) return c.give(c.value(0));
  const Tensor x = c.in(0);
  const double k = c.has(1) ? c.known_real(1) : 0;
  const Shape plane({x.dim(-2), x.dim(-1)});
  const Tensor rows = iota(c.graph(), DType::kI64, plane, 0), columns = iota(c.graph(), DType::kI64, plane, 1);
  const double by = std::clamp(k, -1e15, 1e15);
  const Tensor kept = compare(columns, rows + by, c.flag("upper", true) ? CompareKind::kGe : CompareKind::kLe);
  const Tensor numbers = as_numbers(x);
  c.give(cast(choose(kept, numbers, scalar_like(numbers, 0)), x.dtype()));
}

void reverse_sequence(Call& c) {
  const Tensor x = c.in(0);
  const int64_t time = c.axis(c.integer("time_axis", 0), x.rank()),
                batch = c.axis(c.integer("batch_axis", 1), x.rank());
  if (time + batch != 1) fail("axes ", time, " and ", batch, ", expected the first two");
  // [B,T,..]
  const auto swap = [&](Tensor t) {
    if (batch == 0) return t;
    Ints perm = iota_list(t.rank());
    std::swap(perm[0], perm[1]);
    return transpose(t, perm);
  };
  const Tensor rows = swap(x);
  const Shape shape({rows.dim(0), rows.dim(1)});
  const Tensor lengths = broadcast(cast(c.in(1), DType::kI64), shape, {0});
  const Tensor at = iota(c.graph(), DType::kI64, shape, 1);
  const Tensor from = select(compare(at, lengths, CompareKind::kLt), sub(lengths, at) - 1.0, at);
  c.give(swap(gather(rows, from, 1, 1)), c.element());
}

constexpr Rule kRules[] = {
    {"CenterCropPad", center_crop_pad},
    {"Concat", concat_rule},
    {"DepthToSpace", depth_to_space},
    {"Pad", pad_rule},
    {"ReverseSequence", reverse_sequence},
    {"Slice", slice_rule},
    {"SpaceToDepth", space_to_depth},
    {"Split", split_rule},
    {"Trilu", trilu},
};

}  // namespace
}  // namespace movement_ops

Rules movement_rules() { return movement_ops::kRules; }

}  // namespace tenon::onnx
