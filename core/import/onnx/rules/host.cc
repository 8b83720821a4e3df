// Ops that the host computes, of numbers that are known: how many boxes there are hangs on them, and no op of a graph sees a number's bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace host_ops {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

// Makes it of two corners in any order, or of a middle (x, y) and sizes.
Box box_of(const double* v, bool by_middle) {
  if (by_middle) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

bool overlap(const Box& a, const Box& b, double most) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
               width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const double both = height * width;
  return both / (a.area() + b.area() - both) > most;
}

struct Limits {
  int64_t boxes;
  double overlap, score;
};

// Keeps of one class the best, and then the best of those that overlap none that was taken.
Ints kept_boxes(const std::vector<Box>& boxes, const double* scores, const Limits& limits) {
  Ints order(boxes.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.boxes) break;
    if (!(scores[i] > limits.score)) continue;
    const Box& box = boxes[static_cast<size_t>(i)];
    if (std::none_of(kept.begin(), kept.end(),
                     [&](int64_t k) { return overlap(boxes[static_cast<size_t>(k)], box, limits.overlap); }))
      kept.push_back(i);
  }
  return kept;
}

void non_max_suppression(Call& c) {
  const Array boxes = c.known(0), scores = c.known(1);
  if (boxes.shape().rank() != 3 || scores.shape().rank() != 3 || boxes.dim(2) != 4 || boxes.dim(0) != scores.dim(0) ||
      boxes.dim(1) != scores.dim(2))
    fail("boxes ", boxes.type().str(), " and scores ", scores.type().str(),
         ", expected [n,boxes,4] and [n,classes,boxes]");
  const Limits limits{c.has(2) ? c.known_integer(2) : 0, c.has(3) ? c.known_real(3) : 0,
                      c.has(4) ? c.known_real(4) : -HUGE_VAL};
  const bool by_middle = c.flag("center_point_box");
  const std::vector<double> places = boxes.to<double>(), numbers = scores.to<double>();
  Ints out;
  for (int64_t n = 0; n < boxes.dim(0); ++n) {
    std::vector<Box> all;
    for (int64_t i = 0; i < boxes.dim(1); ++i)
      all.push_back(box_of(&places[static_cast<size_t>((n * boxes.dim(1) + i) * 4)], by_middle));
    for (int64_t k = 0; k < scores.dim(1) && !all.empty(); ++k)
      for (const int64_t i :
           kept_boxes(all, &numbers[static_cast<size_t>((n * scores.dim(1) + k) * scores.dim(2))], limits))
        out.insert(out.end(), {n, k, i});
  }
  c.give_ints(out, Shape({static_cast<int64_t>(out.size()) / 3, 3}));
}

// The bits of a number as the file's type has them, in the low ones.
uint64_t bits_of(const Array& x, size_t i, int64_t bits) {
  const auto size = static_cast<size_t>(dtype_bytes(x.dtype()));
  uint64_t out = 0;
  std::memcpy(&out, &x.bytes()[i * size], size);
  return bits == 64 ? out : out & ((uint64_t{1} << bits) - 1);
}

bool is_signed(Element element) {
  return element == Element::kI8 || element == Element::kI16 || element == Element::kI32 || element == Element::kI64;
}

void bit_cast(Call& c) {
  const Element from = c.element(), to = static_cast<Element>(c.integer("to", 0));
  const DType stored = stored_as(to);
  const int64_t bits = element_bits(from);
  const auto has_own_bits = [](Element e) {
    return !is_float(stored_as(e)) || element_bits(e) == 8 * dtype_bytes(stored_as(e));
  };
  if (stored == DType::kNone || bits != element_bits(to) || bits < 8 || !has_own_bits(from) || !has_own_bits(to))
    c.refuse("the bits of ", element_name(from), " as ", element_name(to));
  const Array x = c.known(0);
  if (x.elements() == 0) return c.give_empty(to, x.shape());
  Array out(Type{stored, x.shape()});
  const auto size = static_cast<size_t>(dtype_bytes(stored));
  for (size_t i = 0; i < static_cast<size_t>(x.elements()); ++i) {
    uint64_t value = bits_of(x, i, bits);
    if (is_signed(to) && bits < 64 && (value >> (bits - 1) & 1) != 0) value |= ~uint64_t{0} << bits;
    std::memcpy(&out.bytes()[i * size], &value, size);
  }
  c.give(constant(c.graph(), out.type(), {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()}), to);
}

constexpr Rule kRules[] = {
    {"BitCast", bit_cast},
    {"NonMaxSuppression", non_max_suppression},
};

}  // namespace
}  // namespace host_ops

Rules host_rules() { return host_ops::kRules; }

}  // namespace tenon::onnx
