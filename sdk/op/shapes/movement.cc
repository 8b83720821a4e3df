// Rules of ops that move, sort, fold and exchange elements, and of images.
#include <algorithm>

#include "op/shapes/rules.h"

namespace tenon::op::shapes {
namespace {

// The weights of a resized axis are a matrix of constants, from x to: what is more than any image is refused.
constexpr int64_t kMostSide = 1 << 16, kMostWeights = 1 << 26;

Shape gathered(const Infer& c) {
  using from = op::gather;  // scatter's stand at the same places
  const Shape &x = c.shape(from::x), &i = c.shape(from::i);
  const int axis = c.axis(c.in(from::x));
  const auto batch = static_cast<int>(c.expect_number("batch", 0, std::min(axis, i.rank())));
  for (int b = 0; b < batch; ++b)
    c.expect(x[b] == i[b], c.operand(from::i), " is ", c.in(from::i).str(), ", expected ", x[b], " in batch axis ", b);
  Ints dims(x.begin(), x.begin() + axis);
  dims.insert(dims.end(), i.begin() + batch, i.end());
  dims.insert(dims.end(), x.begin() + axis + 1, x.end());
  return Shape(dims);
}

// How many replicas take part.
int64_t replicas(const Infer& c) {
  c.expect_number("group", 0, kMostReplicas);
  return c.expect_number("replicas", 1, kMostReplicas);
}

// Images [N,H,W,C], of `h` by `w` pixels then.
void images(Infer& c, int64_t most) {
  c.expect_rank(0, 4, 4);
  const Shape& x = c.shape(0);
  const int64_t h = c.number("h"), w = c.number("w");
  c.expect(h >= 1 && w >= 1 && h <= most && w <= most, "size is ", h, "x", w, ", expected 1 to ", most);
  c.result(c.dtype(0), {x[0], h, w, x[3]});
}

}  // namespace

Shape without(const Shape& dims, const Ints& axes) {
  Ints left;
  for (int d = 0; d < dims.rank(); ++d)
    if (!std::binary_search(axes.begin(), axes.end(), d)) left.push_back(dims[d]);
  return Shape(left);
}

void reshape(Infer& c) {
  const Shape shape(c.list("shape"));
  c.expect(shape.elements() == c.shape(0).elements(), "cannot give ", c.in(0).str(), " the shape ", shape.str(), ": ",
           c.shape(0).elements(), " elements, expected ", shape.elements());
  c.result(c.dtype(0), shape);
}

void transpose(Infer& c) {
  const Ints perm = c.list("perm");
  const Shape& x = c.shape(0);
  c.expect(c.axes("perm", x.rank()).size() == static_cast<size_t>(x.rank()), "perm ", text_of(perm),
           " is no permutation of ", x.rank(), " axes");
  Ints dims;
  for (const int64_t p : perm) dims.push_back(x[static_cast<int>(p)]);
  c.result(c.dtype(0), Shape(dims));
}

void broadcast(Infer& c) {
  const Shape &x = c.shape(0), shape(c.list("shape"));
  const Ints dims = c.list("dims");
  c.expect(dims.size() == static_cast<size_t>(x.rank()), "dims has ", dims.size(), " numbers, expected ", x.rank());
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t to = dims[static_cast<size_t>(i)], before = i ? dims[static_cast<size_t>(i) - 1] : -1;
    c.expect(to > before && to < shape.rank(), "dims ", text_of(dims), " do not increase within rank ", shape.rank());
    c.expect(x[i] == 1 || x[i] == shape[static_cast<int>(to)], "axis ", i, " of ", c.in(0).str(),
             " cannot become axis ", to, " of ", shape.str());
  }
  c.result(c.dtype(0), shape);
}

void slice(Infer& c) {
  Shape y = c.shape(0);
  const Ints start = c.numbers("start", y.rank(), -1), limit = c.numbers("limit", y.rank(), -1),
             stride = c.numbers("stride", y.rank(), 1);
  for (int d = 0; d < y.rank(); ++d) {
    const int64_t from = start[static_cast<size_t>(d)], to = limit[static_cast<size_t>(d)],
                  by = stride[static_cast<size_t>(d)];
    c.expect(from >= 0 && from < to && to <= y[d] && by >= 1, "takes ", from, ":", to, ":", by, " of axis ", d, " of ",
             c.shape(0).str());
    y.set(d, (to - from - 1) / by + 1);
  }
  c.result(c.dtype(0), y);
}

void pad(Infer& c) {
  Shape y = c.shape(0);
  const Ints low = c.numbers("low", y.rank(), -1), high = c.numbers("high", y.rank(), -1),
             interior = c.numbers("interior", y.rank(), 0);
  for (int d = 0; d < y.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    for (const int64_t v : {low[at], high[at], interior[at]})
      c.expect(v >= 0 && v < (int64_t{1} << 40), "pads axis ", d, " by ", v, ", expected 0 or more");
    int64_t gaps = 0;
    c.expect(!__builtin_mul_overflow(y[d] - 1, interior[at], &gaps) && gaps < (int64_t{1} << 60), "padded axis ", d,
             " is too long");
    y.set(d, low[at] + y[d] + gaps + high[at]);
  }
  c.result(c.dtype(0), y);
}

void concat(Infer& c) {
  Shape y = c.shape(0);
  const int axis = c.axis(c.in(0));
  for (int i = 1; i < c.operands(); ++i) {
    c.expect_same_dtype(0, i);
    c.expect_rank(i, y.rank(), y.rank());
    for (int d = 0; d < y.rank(); ++d)
      c.expect(d == axis || c.shape(i)[d] == y[d], c.operand(i), " is ", c.in(i).str(), ", expected ", y[d],
               " in axis ", d);
    y.set(axis, y[axis] + c.shape(i)[axis]);
  }
  c.result(c.dtype(0), y);
}

void reverse(Infer& c) {
  c.axes("axes", c.shape(0).rank());
  c.result(c.in(0));
}

void gather(Infer& c) { c.result(c.dtype(op::gather::x), gathered(c)); }

void scatter(Infer& c) {
  using from = op::scatter;
  c.expect_same_dtype(from::x, from::u);
  c.expect_shape(from::u, gathered(c));
  const bool number = c.dtype(from::x) != TENON_BOOL && c.dtype(from::x) != TENON_U8;
  c.expect(number || c.number("kind") != TENON_SCATTER_ADD, "cannot add ", dtype_text(c.dtype(from::x)));
  c.result(c.in(from::x));
}

void sort(Infer& c) {
  c.expect_rank(0, 1, TENON_MAX_RANK);
  Shape y = c.shape(0);
  y.set(-1, c.expect_number("k", 1, y[-1]));
  c.result(c.dtype(0), y);
  c.result(TENON_I32, y);
}

void reduce(Infer& c) {
  const bool adds = c.number("kind") == TENON_REDUCE_SUM || c.number("kind") == TENON_REDUCE_PROD;
  c.expect(c.dtype(0) != TENON_BOOL || !adds, "cannot add or multiply bools");
  c.result(c.dtype(0), without(c.shape(0), c.axes("axes", c.shape(0).rank())));
}

void argmax(Infer& c) {
  const int axis = c.axis(c.in(0));
  c.expect(c.shape(0)[axis] <= INT32_MAX, "axis ", axis, " of ", c.in(0).str(), " has no i32 indices");
  c.result(TENON_I32, without(c.shape(0), {axis}));
}

void cumsum(Infer& c) {
  c.axis(c.in(0));
  c.result(c.in(0));
}

void global_norm(Infer& c) {
  c.expect(c.operands() >= 1, "has no operands");
  int32_t dtype = TENON_F32;
  for (int i = 0; i < c.operands(); ++i)
    if (c.dtype(i) == TENON_F64) dtype = TENON_F64;
  c.result(dtype, {});
}

void all_reduce(Infer& c) {
  c.expect(c.operands() >= 1, "has no operands");
  replicas(c);
  for (int i = 0; i < c.operands(); ++i) c.result(c.in(i));
}

void all_gather(Infer& c) {
  Shape y = c.shape(0);
  const int axis = c.axis(c.in(0));
  int64_t whole = 0;
  c.expect(!__builtin_mul_overflow(y[axis], replicas(c), &whole) && whole < (int64_t{1} << 60), "axis ", axis,
           " is too long");
  y.set(axis, whole);
  c.result(c.dtype(0), y);
}

void reduce_scatter(Infer& c) {
  Shape y = c.shape(0);
  const int axis = c.axis(c.in(0));
  const int64_t parts = replicas(c);
  c.expect(y[axis] % parts == 0, "axis ", axis, " of ", c.in(0).str(), " does not divide by ", parts, " replicas");
  y.set(axis, y[axis] / parts);
  c.result(c.dtype(0), y);
}

void resize(Infer& c) {
  images(c, kMostSide);
  const Shape &x = c.shape(0), y = c.results()[0].shape;
  for (const int d : {1, 2})
    c.expect(c.number("method") != TENON_RESIZE_BILINEAR || x[d] <= kMostWeights / y[d], "an axis of ", x[d],
             " cannot become one of ", y[d], ": more than ", kMostWeights, " weights");
}

void affine_image(Infer& c) {
  using from = op::affine_image;
  images(c, INT32_MAX);
  const Shape& x = c.shape(from::x);
  c.expect_shape(from::theta, {x[0], 8});
  c.expect(x[1] >= 1 && x[2] >= 1, c.in(from::x).str(), " has no pixels");
  c.expect(x[1] <= INT32_MAX / x[2], c.in(from::x).str(), " has more than 2^31 pixels");
  c.expect(c.number("method") != TENON_RESIZE_BILINEAR || c.dtype(from::x) != TENON_BOOL, "cannot interpolate between bools");
}

void crop_flip(Infer& c) {
  using from = op::crop_flip;
  images(c, INT32_MAX);
  for (const int i : {from::top, from::left, from::flip}) c.expect_shape(i, {c.shape(from::x)[0]});
}

}  // namespace tenon::op::shapes
