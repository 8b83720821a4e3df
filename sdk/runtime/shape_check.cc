// The shape rules of the published ops, what a kernel may take for granted.
#include <algorithm>
#include <array>

#include "runtime/node_check.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

using Dims = std::vector<int64_t>;

struct WrongShape {
  std::string text;
};

std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

// A node, asked for what its op needs.
class Asked {
 public:
  explicit Asked(const NodeView& node) : n(node) {}

  const NodeView& n;

  Dims in(int i) const { return n.in(i).dims().vec(); }
  Dims out(int i) const { return n.out(i).dims().vec(); }
  int32_t dtype(int i) const { return n.in(i).dtype(); }
  bool has(int i) const { return n.has(i); }
  Dims list(const char* name) const { return n.list(name).vec(); }

  static void expect(bool condition, const char* problem) {
    if (!condition) fail(problem);
  }
  // Others are a kernel's to refuse.
  bool has_dtype(int i, int32_t expected) const { return dtype(i) == expected || !are_known(dtype(i), expected); }
  static bool are_known(int32_t a, int32_t b) { return dtype_bytes(a) && dtype_bytes(b); }
  [[noreturn]] static void fail(const std::string& problem) { throw WrongShape{problem}; }
  // Operand and result i have this shape, unless they are absent.
  void in_is(int i, const Dims& dims) const {
    if (has(i) && in(i) != dims) fail(what("operand", i, in(i), dims));
  }
  void out_is(int i, const Dims& dims) const {
    if (n.has_result(i) && out(i) != dims) fail(what("result", i, out(i), dims));
  }
  void same_dtype(int i, int j) const {
    if (has(i) && has(j) && dtype(i) != dtype(j) && are_known(dtype(i), dtype(j)))
      fail("operand " + std::to_string(j) + " is " + dtype_name(dtype(j)) + ", operand " + std::to_string(i) + " is " +
           dtype_name(dtype(i)));
  }
  void out_dtype(int i, int32_t dtype) const {
    if (n.has_result(i) && n.out(i).dtype() != dtype && are_known(n.out(i).dtype(), dtype))
      fail("result " + std::to_string(i) + " is " + dtype_name(n.out(i).dtype()) + ", expected " + dtype_name(dtype));
  }
  void in_same(int i, int as) const { same_dtype(as, i), in_is(i, in(as)); }
  void out_same(int i, int as) const { out_dtype(i, dtype(as)), out_is(i, in(as)); }
  void rank(int i, int least, int most) const {
    const int rank = n.in(i).rank();
    if (rank < least || rank > most)
      fail("operand " + std::to_string(i) + " has rank " + std::to_string(rank) + ", expected " +
           std::to_string(least) + " to " + std::to_string(most));
  }
  // An i64 attribute within bounds.
  int64_t number(const char* name, int64_t least, int64_t most, int64_t missing = 0) const {
    const int64_t value = n.i64(name, missing);
    if (value < least || value > most)
      fail(std::string(name) + " is " + std::to_string(value) + ", expected " + std::to_string(least) + " to " +
           std::to_string(most));
    return value;
  }
  size_t axis(const Dims& of) const {
    expect(!of.empty(), "has an axis, but its operand has none");
    return static_cast<size_t>(number("axis", 0, static_cast<int64_t>(of.size()) - 1));
  }
  // A list of `size` numbers within bounds; empty where the op has a default.
  Dims numbers(const char* name, size_t size, int64_t least, int64_t missing, bool optional = true) const {
    constexpr int64_t kMost = int64_t{1} << 40;
    Dims found = list(name);
    if (found.empty() && optional) return Dims(size, missing);
    if (!(found.size() == size))
      fail(std::string(name) + " has " + std::to_string(found.size()) + " numbers, expected " + std::to_string(size));
    for (const int64_t v : found)
      if (!(v >= least && v <= kMost))
        fail(std::string(name) + " is " + text_of(found) + ", expected " + std::to_string(least) + " or more");
    return found;
  }
  // Axes of a rank, increasing.
  Dims increasing(const char* name, size_t rank) const {
    Dims axes = list(name);
    std::sort(axes.begin(), axes.end());
    for (size_t i = 0; i < axes.size(); ++i)
      if (!(axes[i] >= 0 && axes[i] < static_cast<int64_t>(rank) && (i == 0 || axes[i] > axes[i - 1])))
        fail(std::string(name) + " is " + text_of(axes) + ", expected axes of rank " + std::to_string(rank));
    return axes;
  }

 private:
  static std::string what(const char* which, int i, const Dims& found, const Dims& expected) {
    return std::string(which) + " " + std::to_string(i) + " has shape " + text_of(found) + ", expected " +
           text_of(expected);
  }
};

Dims without(const Dims& dims, const Dims& axes) {
  Dims left;
  for (size_t d = 0; d < dims.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) left.push_back(dims[d]);
  return left;
}

Dims leading(const Dims& dims) { return {dims.begin(), dims.end() - 1}; }

int32_t computes_in(int32_t dtype) {
  return dtype_bytes(dtype) == 0 ? dtype : dtype == TENON_F64 ? TENON_F64 : TENON_F32;
}

// ---- elementwise ----

void all_alike(const Asked& a) {
  for (int i = 1; i < a.n.operands(); ++i) a.in_same(i, 0);
  for (int i = 0; i < a.n.results(); ++i) a.out_same(i, 0);
}

void as_operands(const Asked& a) {
  for (int i = 0; i < a.n.results(); ++i) a.out_same(i, i);
}

void shape_of_two(const Asked& a, int first) {
  const Dims x = a.in(first), y = a.in(first + 1);
  if (!(x == y || x.empty() || y.empty()))
    Asked::fail("operands have shapes " + text_of(x) + " and " + text_of(y) + ", expected the same, or a scalar");
  a.same_dtype(first, first + 1);
  if (first == 0) a.out_is(0, x.empty() ? y : x);
}
void binary(const Asked& a) { shape_of_two(a, 0), a.out_dtype(0, a.dtype(0)); }
void compare(const Asked& a) { shape_of_two(a, 0), a.out_dtype(0, TENON_BOOL); }
void select(const Asked& a) {
  Dims shape = a.in(0);
  for (int i = 1; i < 3; ++i)
    if (shape.empty()) shape = a.in(i);
  for (int i = 0; i < 3; ++i)
    if (!a.in(i).empty()) a.in_is(i, shape);
  a.same_dtype(1, 2);
  a.out_dtype(0, a.dtype(1)), a.out_is(0, shape);
}
void cast(const Asked& a) {
  a.out_is(0, a.in(0));
  a.out_dtype(0, static_cast<int32_t>(a.n.i64("to")));
}

// ---- movement ----

void iota(const Asked& a) {
  a.out_is(0, a.list("shape"));
  a.axis(a.list("shape"));
  a.out_dtype(0, static_cast<int32_t>(a.n.i64("dtype")));
}
void scalars_of_draws(const Asked& a, int first) {
  for (int i = first; i < first + 2; ++i) {
    a.in_is(i, {});
    if (a.has(i))
      if (!a.has_dtype(i, TENON_I64)) Asked::fail("operand " + std::to_string(i) + " is no i64[]");
  }
}
void random_numbers(const Asked& a) {
  scalars_of_draws(a, 0);
  a.out_is(0, a.list("shape"));
  a.out_dtype(0, TENON_F32);
}
void reshape(const Asked& a) {
  a.out_is(0, a.list("shape"));
  a.out_dtype(0, a.dtype(0));
  if (!(a.n.in(0).elements() == a.n.out(0).elements()))
    Asked::fail("cannot make " + text_of(a.out(0)) + " of " + text_of(a.in(0)));
}
void transpose(const Asked& a) {
  const Dims perm = a.list("perm"), x = a.in(0);
  if (!(perm.size() == x.size() && a.increasing("perm", x.size()).size() == x.size()))
    Asked::fail("perm is " + text_of(perm) + ", expected each axis of rank " + std::to_string(x.size()));
  Dims y;
  for (const int64_t p : perm) y.push_back(x[static_cast<size_t>(p)]);
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void broadcast(const Asked& a) {
  const Dims dims = a.list("dims"), x = a.in(0), y = a.list("shape");
  if (!(dims.size() == x.size() && dims == a.increasing("dims", y.size())))
    Asked::fail("dims is " + text_of(dims) + ", expected increasing axes of the result, one an operand's axis");
  for (size_t d = 0; d < x.size(); ++d)
    if (!(x[d] == 1 || x[d] == y[static_cast<size_t>(dims[d])]))
      Asked::fail("cannot broadcast " + text_of(x) + " to " + text_of(y));
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void slice(const Asked& a) {
  const Dims x = a.in(0);
  const Dims start = a.numbers("start", x.size(), 0, 0, false), limit = a.numbers("limit", x.size(), 1, 1, false),
             stride = a.numbers("stride", x.size(), 1, 1);
  Dims y;
  for (size_t d = 0; d < x.size(); ++d) {
    if (!(start[d] < limit[d] && limit[d] <= x[d]))
      Asked::fail("takes " + std::to_string(start[d]) + " to " + std::to_string(limit[d]) + " of " + text_of(x) +
                  " along axis " + std::to_string(d));
    y.push_back((limit[d] - start[d] + stride[d] - 1) / stride[d]);
  }
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void pad(const Asked& a) {
  const Dims x = a.in(0);
  const Dims low = a.numbers("low", x.size(), 0, 0, false), high = a.numbers("high", x.size(), 0, 0, false),
             interior = a.numbers("interior", x.size(), 0, 0);
  Dims y;
  for (size_t d = 0; d < x.size(); ++d) {
    int64_t gaps = 0;
    Asked::expect(!__builtin_mul_overflow(x[d] - 1, interior[d], &gaps) && gaps < int64_t{1} << 60,
                  "a padded axis is too long");
    y.push_back(low[d] + x[d] + gaps + high[d]);
  }
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void concat(const Asked& a) {
  Dims y = a.in(0);
  const size_t axis = a.axis(y);
  for (int i = 1; i < a.n.operands(); ++i) {
    Dims x = a.in(i);
    if (axis < x.size()) y[axis] += x[axis], x[axis] = y[axis];
    if (!(x == y))
      Asked::fail("operand " + std::to_string(i) + " has shape " + text_of(a.in(i)) + ", which does not join " +
                  text_of(a.in(0)) + " along axis " + std::to_string(axis));
    a.same_dtype(0, i);
  }
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void reverse(const Asked& a) { a.increasing("axes", a.in(0).size()), a.out_same(0, 0); }

Dims gathered(const Asked& a) {
  const Dims x = a.in(0), i = a.in(1);
  const size_t axis = a.axis(x);
  const auto batch =
      static_cast<size_t>(a.number("batch", 0, std::min(static_cast<int64_t>(axis), static_cast<int64_t>(i.size()))));
  if (!(std::equal(x.begin(), x.begin() + static_cast<int64_t>(batch), i.begin())))
    Asked::fail("the batch axes of " + text_of(x) + " and " + text_of(i) + " differ");
  Dims y(x.begin(), x.begin() + static_cast<int64_t>(axis));
  y.insert(y.end(), i.begin() + static_cast<int64_t>(batch), i.end());
  y.insert(y.end(), x.begin() + static_cast<int64_t>(axis) + 1, x.end());
  return y;
}
void gather(const Asked& a) { a.out_dtype(0, a.dtype(0)), a.out_is(0, gathered(a)); }
void scatter(const Asked& a) { a.same_dtype(0, 2), a.in_is(2, gathered(a)), a.out_same(0, 0); }
void sort(const Asked& a) {
  a.rank(0, 1, TENON_MAX_RANK);
  Dims y = a.in(0);
  y.back() = a.number("k", 1, y.back());
  a.out_is(0, y), a.out_is(1, y);
  a.out_dtype(0, a.dtype(0)), a.out_dtype(1, TENON_I32);
}
void reduce(const Asked& a) {
  a.out_is(0, without(a.in(0), a.increasing("axes", a.in(0).size())));
  a.out_dtype(0, a.dtype(0));
}
void along_axis(const Asked& a) { a.axis(a.in(0)), all_alike(a); }
void argmax(const Asked& a) {
  a.out_is(0, without(a.in(0), {static_cast<int64_t>(a.axis(a.in(0)))}));
  a.out_dtype(0, TENON_I32);
}

// ---- replicas ----

void all_gather(const Asked& a) {
  Dims y = a.in(0);
  y[a.axis(y)] *= a.number("replicas", 1, 65536, 1);
  a.number("group", 0, 65536);
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void reduce_scatter(const Asked& a) {
  Dims y = a.in(0);
  const int64_t replicas = a.number("replicas", 1, 65536, 1);
  int64_t& size = y[a.axis(y)];
  if (!(size % replicas == 0)) Asked::fail("its axis does not divide by " + std::to_string(replicas) + " replicas");
  size /= replicas;
  a.number("group", 0, 65536);
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
}
void all_reduce(const Asked& a) { a.number("replicas", 1, 65536, 1), a.number("group", 0, 65536), as_operands(a); }
void replica_id(const Asked& a) { a.out_is(0, {}), a.out_dtype(0, TENON_I32); }
void global_norm(const Asked& a) { a.out_is(0, {}); }

// ---- contractions ----

void contracted_dtype(const Asked& a, int i, int32_t operands) {
  const auto out = static_cast<int32_t>(a.n.i64("out"));
  Asked::expect(out == 0 || out == TENON_F32 || out == operands || dtype_bytes(out) == 0, "out is another dtype");
  if (dtype_bytes(out) || out == 0) a.out_dtype(i, out ? out : operands);
}
void product(const Asked& a) {
  a.same_dtype(0, 1);
  a.rank(0, 2, TENON_MAX_RANK);
  Dims x = a.in(0), w = a.in(1);
  a.rank(1, static_cast<int>(x.size()), static_cast<int>(x.size()));
  const size_t r = x.size();
  if (a.n.flag("ta")) std::swap(x[r - 1], x[r - 2]);
  if (a.n.flag("tb")) std::swap(w[r - 1], w[r - 2]);
  if (!(x[r - 1] == w[r - 2] && std::equal(x.begin(), x.end() - 2, w.begin())))
    Asked::fail("cannot multiply " + text_of(a.in(0)) + " by " + text_of(a.in(1)));
  x[r - 1] = w[r - 1];
  contracted_dtype(a, 0, a.dtype(0));
  a.out_is(0, x);
}

// How many steps a window makes along each spatial axis of x; x is [N, S.., C].
Dims windowed(const Asked& a, Dims x, const Dims& window, bool dilates) {
  const size_t n = window.size();
  const Dims stride = a.numbers("strides", n, 1, 1), low = a.numbers("low", n, 0, 0), high = a.numbers("high", n, 0, 0);
  const Dims dilation = dilates ? a.numbers("dilation", n, 1, 1) : Dims(n, 1);
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 0; d < n; ++d) {
    Asked::expect(window[d] >= 1 && std::max({window[d], stride[d], low[d], high[d], dilation[d]}) < kMost,
                  "a window attribute is out of range");
    const int64_t room = x[d + 1] + low[d] + high[d] - (window[d] - 1) * dilation[d] - 1;
    if (!(room >= 0)) Asked::fail("the window " + text_of(window) + " is larger than the padded " + text_of(x));
    x[d + 1] = room / stride[d] + 1;
  }
  return x;
}
void convolution(const Asked& a, const Dims& x, const Dims& w, const Dims& y) {
  Asked::expect(x.size() >= 3 && x.size() <= 5 && w.size() == x.size() && y.size() == x.size(),
                "has no 1 to 3 spatial axes");
  const int64_t groups = a.number("groups", 1, x.back(), 1);
  if (!(x.back() % groups == 0 && w.back() % groups == 0 && x.back() / groups == w[w.size() - 2]))
    Asked::fail(std::to_string(groups) + " groups do not fit " + text_of(x) + " and the filter " + text_of(w));
  Dims expected = windowed(a, x, Dims(w.begin(), w.end() - 2), true);
  expected.back() = w.back();
  if (!(y == expected))
    Asked::fail(text_of(x) + " and " + text_of(w) + " give " + text_of(expected) + ", not " + text_of(y));
}
void conv(const Asked& a) {
  a.same_dtype(0, 1), contracted_dtype(a, 0, a.dtype(0));
  convolution(a, a.in(0), a.in(1), a.out(0));
}
// Spatial sizes of a gradient's result are an attribute too.
void has_size(const Asked& a, const Dims& y, size_t from) {
  const Dims size = a.list("size");
  if (!(size.size() + 2 == y.size() && std::equal(size.begin(), size.end(), y.begin() + static_cast<int64_t>(from))))
    Asked::fail("size is " + text_of(size) + ", but the result is " + text_of(y));
}
void conv_grad_input(const Asked& a) {
  a.same_dtype(0, 1), contracted_dtype(a, 0, a.dtype(0)), has_size(a, a.out(0), 1);
  convolution(a, a.out(0), a.in(1), a.in(0));
}
void conv_grad_filter(const Asked& a) {
  a.same_dtype(0, 1), contracted_dtype(a, 0, a.dtype(0)), has_size(a, a.out(0), 0);
  convolution(a, a.in(0), a.out(0), a.in(1));
}
void epilogue(const Asked& a) {
  const Dims y = a.out(0);
  a.in_is(2, {y.back()}), a.in_is(3, y);
  for (int i = 2; i < 4; ++i)
    if (a.has(i))
      if (!a.has_dtype(i, a.n.out(0).dtype())) Asked::fail("operand " + std::to_string(i) + " has another dtype");
}
void dot_bias_act(const Asked& a) { product(a), epilogue(a); }
void conv_bias_act(const Asked& a) { conv(a), epilogue(a); }
void bias_act_grad(const Asked& a) {
  a.rank(0, 1, TENON_MAX_RANK);
  a.in_same(1, 0), a.out_same(0, 0);
  a.out_dtype(1, a.dtype(0)), a.out_is(1, {a.in(0).back()});
}

// ---- pools ----

Dims pooled(const Asked& a, const Dims& x) {
  Asked::expect(x.size() >= 3 && x.size() <= 5, "has no 1 to 3 spatial axes");
  const Dims window = a.numbers("window", x.size() - 2, 1, 1, false);
  const Dims low = a.numbers("low", window.size(), 0, 0), high = a.numbers("high", window.size(), 0, 0);
  for (size_t d = 0; d < window.size(); ++d)
    Asked::expect(low[d] < window[d] && high[d] < window[d], "pads by a whole window or more");
  return windowed(a, x, window, false);
}
void pool(const Asked& a) { a.out_dtype(0, a.dtype(0)), a.out_is(0, pooled(a, a.in(0))); }
void max_pool_grad(const Asked& a) {
  const Dims y = pooled(a, a.in(0));
  for (int i = 1; i < 3; ++i) a.same_dtype(0, i), a.in_is(i, y);
  a.out_same(0, 0);
}
void avg_pool_grad(const Asked& a) {
  a.out_dtype(0, a.dtype(0)), has_size(a, a.out(0), 1);
  a.in_is(0, pooled(a, a.out(0)));
}

// ---- normalizations ----

void channels(const Asked& a, int x, int first, int last) {
  a.rank(x, 2, TENON_MAX_RANK);
  for (int i = first; i <= last; ++i) a.same_dtype(first, i), a.in_is(i, {a.in(x).back()});
}
void batch_norm(const Asked& a) {
  channels(a, 0, 1, 2);
  a.in_same(3, 0), a.out_same(0, 0), a.out_same(1, 1), a.out_same(2, 1);
  a.number("group", 0, 65536, 1);
}
void batch_norm_apply(const Asked& a) { channels(a, 0, 1, 4), a.in_same(5, 0), a.out_same(0, 0); }
void batch_norm_grad(const Asked& a) {
  channels(a, 1, 2, 4);
  a.in_same(0, 1), a.in_same(5, 1);
  const int32_t act = a.n.enumerator("act");
  const bool needs_y = act > TENON_ACT_NONE && act <= TENON_ACT_HARD_SWISH;
  Asked::expect(a.has(5) || !needs_y, "operand 5 'y' is missing");
  a.out_same(0, 1), a.out_same(1, 2), a.out_same(2, 2), a.out_same(3, 1);
  a.number("group", 0, 65536, 1);
}
Dims moments(const Asked& a, int x, int gamma) {
  const Dims shape = a.in(x), scale = a.in(gamma), axes = a.increasing("axes", shape.size());
  if (!(!axes.empty() && scale.size() <= shape.size() &&
        std::equal(scale.begin(), scale.end(), shape.end() - static_cast<int64_t>(scale.size()))))
    Asked::fail("gamma " + text_of(scale) + " is no trailing part of " + text_of(shape) + ", or there are no axes");
  return without(shape, axes);
}
void layer_norm(const Asked& a) {
  const Dims m = moments(a, 0, 1);
  a.in_same(2, 1), a.out_same(0, 0);
  for (int i = 1; i < 3; ++i) a.out_dtype(i, a.dtype(1)), a.out_is(i, m);
}
void layer_norm_grad(const Asked& a) {
  const Dims m = moments(a, 1, 2);
  for (int i = 3; i < 5; ++i) a.same_dtype(2, i), a.in_is(i, m);
  a.in_same(0, 1), a.out_same(0, 1), a.out_same(1, 2), a.out_same(2, 2);
}

// ---- losses, dropout, attention ----

Dims rows(const Asked& a, int x, int label) {
  a.rank(x, 1, TENON_MAX_RANK);
  if (is_float(a.dtype(label)))
    a.in_same(label, x);
  else
    a.in_is(label, leading(a.in(x)));
  return leading(a.in(x));
}
void cross_entropy(const Asked& a) {
  const Dims r = rows(a, 0, 1);
  for (int i = 0; i < 2; ++i) a.out_dtype(i, computes_in(a.dtype(0))), a.out_is(i, r);
}
void cross_entropy_grad(const Asked& a) {
  const Dims r = rows(a, 1, 2);
  for (const int i : {0, 3}) {
    a.in_is(i, r);
    if (!a.has_dtype(i, computes_in(a.dtype(1)))) Asked::fail("operand " + std::to_string(i) + " has another dtype");
  }
  a.out_same(0, 1);
}
void dropout(const Asked& a) { scalars_of_draws(a, 1), a.in_same(3, 0), a.out_same(0, 0); }

// q[B,T,N,D] k[B,S,M,D] v[B,S,M,V]; returns y's shape.
Dims attended(const Asked& a, int q, int k, int v, int bias) {
  for (const int i : {q, k, v}) a.rank(i, 4, 4), a.same_dtype(q, i);
  const Dims x = a.in(q), y = a.in(k);
  a.in_is(k, {x[0], y[1], y[2], x[3]});
  a.in_is(v, {x[0], y[1], y[2], a.in(v)[3]});
  if (!(x[2] % y[2] == 0)) Asked::fail("heads of " + text_of(x) + " are no multiple of those of " + text_of(y));
  if (a.has(bias)) {
    a.rank(bias, 4, 4), a.same_dtype(q, bias);
    const Dims full{x[0], x[2], x[1], y[1]}, b = a.in(bias);
    for (size_t d = 0; d < 4; ++d)
      if (!(b[d] == 1 || b[d] == full[d]))
        Asked::fail("the bias " + text_of(b) + " does not broadcast to " + text_of(full));
  }
  scalars_of_draws(a, bias + 1);
  const bool drops = a.n.f64("rate") != 0;
  Asked::expect(!drops || (a.has(bias + 1) && a.has(bias + 2)), "drops out, but has no seed and step");
  return {x[0], x[1], x[2], a.in(v)[3]};
}
void attention(const Asked& a) {
  const Dims y = attended(a, 0, 1, 2, 3);
  a.out_dtype(0, a.dtype(0)), a.out_is(0, y);
  a.out_dtype(1, computes_in(a.dtype(0))), a.out_is(1, {y[0], y[2], y[1]});
}
void attention_grad(const Asked& a) {
  const Dims y = attended(a, 1, 2, 3, 6);
  for (const int i : {0, 4}) a.same_dtype(1, i), a.in_is(i, y);
  a.in_is(5, {y[0], y[2], y[1]});
  Asked::expect(a.has_dtype(5, computes_in(a.dtype(1))), "operand 5 has another dtype");
  Asked::expect(a.has(6) || !a.n.flag("dbias"), "there is no bias to differentiate by");
  for (int i = 0; i < 3; ++i) a.out_same(i, i + 1);
  if (a.n.has_result(3)) a.in_is(6, a.in(6)), Asked::expect(a.has(6), "has dbias, but no bias"), a.out_same(3, 6);
}

// ---- recurrent ops ----

struct Cell {
  int x, states, w, biases;
  int64_t gates;
};
struct CellSizes {
  int64_t b, t, u;
};
CellSizes cell(const Asked& a, const Cell& c) {
  a.rank(c.x, 3, 3), a.rank(c.x + 1, 2, 2);
  const Dims x = a.in(c.x);
  const int64_t u = a.in(c.x + 1)[1], columns = c.gates * u;
  for (int i = c.x; i < c.w + 2 + c.biases; ++i) a.same_dtype(c.x, i);
  for (int i = c.x + 1; i < c.x + 1 + c.states; ++i) a.in_is(i, {x[0], u});
  a.in_is(c.w, {x[2], columns}), a.in_is(c.w + 1, {u, columns});
  for (int i = c.w + 2; i < c.w + 2 + c.biases; ++i) a.in_is(i, {columns});
  return {x[0], x[1], u};
}
void lstm(const Asked& a) {
  const CellSizes s = cell(a, {0, 2, 3, 1, 4});
  a.out_is(0, {s.b, s.t, s.u}), a.out_is(1, {s.b, s.u}), a.out_is(2, {s.b, s.t, 4 * s.u});
  for (int i = 0; i < 3; ++i) a.out_dtype(i, a.dtype(0));
}
void gru(const Asked& a) {
  const CellSizes s = cell(a, {0, 1, 2, 2, 3});
  a.out_is(0, {s.b, s.t, s.u}), a.out_is(1, {s.b, s.t, 4 * s.u});
  for (int i = 0; i < 2; ++i) a.out_dtype(i, a.dtype(0));
}
// Operands x.. of the op whose gradient it is come from `x` on, then y and the gates.
void cell_grad(const Asked& a, const Cell& c, int y) {
  const CellSizes s = cell(a, c);
  for (const int i : {0, y, y + 1}) a.same_dtype(c.x, i);
  a.in_is(0, {s.b, s.t, s.u}), a.in_is(y, {s.b, s.t, s.u}), a.in_is(y + 1, {s.b, s.t, 4 * s.u});
  for (int i = 0; i < a.n.results(); ++i) a.out_same(i, c.x + i);
}
void lstm_grad(const Asked& a) {
  cell_grad(a, {2, 2, 5, 1, 4}, 8);
  a.same_dtype(2, 1), a.in_is(1, a.in(3));
}
void gru_grad(const Asked& a) { cell_grad(a, {1, 1, 3, 2, 3}, 7); }

// ---- images ----

void resized(const Asked& a) {
  constexpr int64_t kMostSide = 1 << 24;
  a.rank(0, 4, 4);
  const Dims x = a.in(0);
  a.out_dtype(0, a.dtype(0));
  a.out_is(0, {x[0], a.number("h", 1, kMostSide), a.number("w", 1, kMostSide), x[3]});
}
void affine_image(const Asked& a) { resized(a), a.in_is(1, {a.in(0)[0], 8}); }
void crop_flip(const Asked& a) {
  resized(a);
  for (int i = 1; i < 4; ++i) a.in_is(i, {a.in(0)[0]});
}

// ---- updates ----

// p, g, lr, step, [scale], [gate], [rows], slots..; returns how many slots there are.
int update(const Asked& a) {
  constexpr int kRows = 6, kSlots = 7;
  constexpr std::array<int32_t, 4> kScalars{TENON_F32, TENON_I64, TENON_F32, TENON_BOOL};
  for (int i = 2; i < kRows; ++i) {
    a.in_is(i, {});
    if (a.has(i))
      if (!a.has_dtype(i, kScalars[static_cast<size_t>(i) - 2]))
        Asked::fail("operand " + std::to_string(i) + " has another dtype");
  }
  a.same_dtype(0, 1);
  Dims g = a.in(0);
  if (a.has(kRows)) {
    a.rank(0, 1, TENON_MAX_RANK), a.rank(kRows, 1, 1);
    g[0] = a.in(kRows)[0];
  }
  a.in_is(1, g), a.out_same(0, 0);
  int slots = 0;
  while (a.has(kSlots + slots)) ++slots;
  for (int i = kSlots + slots; i < a.n.operands(); ++i)
    Asked::expect(!a.has(i), "has a slot behind one that is missing");
  for (int k = 0; k < slots; ++k) a.same_dtype(0, kSlots + k);
  Asked::expect(a.n.results() <= 1 + slots, "has more results than slots");
  return slots;
}
void slot(const Asked& a, int k, const Dims& shape) {
  a.in_is(7 + k, shape), a.out_is(1 + k, shape), a.out_dtype(1 + k, a.dtype(0));
}
void pointwise_update(const Asked& a) {
  for (int k = update(a); k-- > 0;) slot(a, k, a.in(0));
}
void amsgrad_update(const Asked& a) {
  pointwise_update(a);
  Asked::expect(a.has(9) == a.n.flag("amsgrad"), "has the largest v without amsgrad, or amsgrad without it");
}
void rmsprop_update(const Asked& a) {
  pointwise_update(a);
  Asked::expect(a.has(9) == a.n.flag("centered") && (a.has(8) || a.n.f64("mu") == 0), "misses a slot, or has one more");
}
void nadam_update(const Asked& a) { update(a), slot(a, 0, a.in(0)), slot(a, 1, a.in(0)), slot(a, 2, {}); }
void adafactor_update(const Asked& a) {
  const int slots = update(a);
  const Dims p = a.in(0);
  if (!(slots == (p.size() >= 2 ? 2 : 1))) Asked::fail("has " + std::to_string(slots) + " slots");
  if (slots == 1) return slot(a, 0, p);
  const auto rank = static_cast<int64_t>(p.size());
  slot(a, 0, without(p, {rank - 1})), slot(a, 1, without(p, {rank - 2}));
}

struct ShapeRule {
  std::string_view ops;  // separated by blanks, with one before and behind
  void (*check)(const Asked&);
};

constexpr ShapeRule kShapeRules[] = {
    {" neg abs floor round exp expm1 log log1p sqrt sin cos tanh erf activation activation_grad ", all_alike},
    {" add sub mul div max min pow atan2 ", binary},
    {" compare ", compare},
    {" select ", select},
    {" cast ", cast},
    {" iota ", iota},
    {" random ", random_numbers},
    {" reshape ", reshape},
    {" transpose ", transpose},
    {" broadcast ", broadcast},
    {" slice ", slice},
    {" pad ", pad},
    {" concat ", concat},
    {" reverse ", reverse},
    {" gather ", gather},
    {" scatter ", scatter},
    {" sort ", sort},
    {" reduce ", reduce},
    {" softmax log_softmax softmax_grad log_softmax_grad cumsum ", along_axis},
    {" argmax ", argmax},
    {" all_gather ", all_gather},
    {" reduce_scatter ", reduce_scatter},
    {" all_reduce ", all_reduce},
    {" replica_id ", replica_id},
    {" global_norm ", global_norm},
    {" dot ", product},
    {" conv ", conv},
    {" conv_grad_input ", conv_grad_input},
    {" conv_grad_filter ", conv_grad_filter},
    {" dot_bias_act ", dot_bias_act},
    {" conv_bias_act ", conv_bias_act},
    {" bias_act_grad ", bias_act_grad},
    {" max_pool avg_pool ", pool},
    {" max_pool_grad ", max_pool_grad},
    {" avg_pool_grad ", avg_pool_grad},
    {" batch_norm ", batch_norm},
    {" batch_norm_apply ", batch_norm_apply},
    {" batch_norm_grad ", batch_norm_grad},
    {" layer_norm ", layer_norm},
    {" layer_norm_grad ", layer_norm_grad},
    {" softmax_cross_entropy ", cross_entropy},
    {" softmax_cross_entropy_grad ", cross_entropy_grad},
    {" dropout ", dropout},
    {" attention ", attention},
    {" attention_grad ", attention_grad},
    {" lstm ", lstm},
    {" lstm_grad ", lstm_grad},
    {" gru ", gru},
    {" gru_grad ", gru_grad},
    {" resize ", resized},
    {" affine_image ", affine_image},
    {" crop_flip ", crop_flip},
    {" adam_update adamw_update ", amsgrad_update},
    {" rmsprop_update ", rmsprop_update},
    {" nadam_update ", nadam_update},
    {" adafactor_update ", adafactor_update},
    {" sgd_update momentum_update adamax_update adagrad_update adadelta_update ftrl_update lamb_update lion_update ",
     pointwise_update},
};

bool is_among(std::string_view ops, std::string_view op) {
  for (size_t at = ops.find(op); at != std::string_view::npos; at = ops.find(op, at + 1))
    if (ops[at - 1] == ' ' && ops[at + op.size()] == ' ') return true;
  return false;
}

}  // namespace

std::string shape_fault(const NodeView& node) {
  for (const ShapeRule& rule : kShapeRules) {
    if (!is_among(rule.ops, node.op())) continue;
    try {
      rule.check(Asked(node));
    } catch (const WrongShape& wrong) {
      return wrong.text;
    }
    break;
  }
  return {};
}

}  // namespace tenon::plugin
