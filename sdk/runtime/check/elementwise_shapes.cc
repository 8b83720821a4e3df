// Shape rules of elementwise ops, of movement, sorts, reductions and collectives.
#include <algorithm>

#include "runtime/check/shape_rules.h"

namespace tenon::plugin {
namespace {

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
    if (axis < x.size() && !__builtin_add_overflow(y[axis], x[axis], &y[axis])) x[axis] = y[axis];
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

constexpr ShapeRule kElementwiseRules[] = {
    {" activation activation_grad ", all_alike},
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
};

}  // namespace

void arithmetic_rule(const Asked& a, int operands) { operands == 1 ? all_alike(a) : binary(a); }

Span<ShapeRule> elementwise_rules() { return {kElementwiseRules, std::size(kElementwiseRules)}; }

}  // namespace tenon::plugin
