#include "conformance/sample/drawn_graphs.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tenon::conformance {
namespace {

using reference::Tensor;
using Dims = std::vector<int64_t>;

constexpr double kMost = 1 << 20;  // of a number: f32 holds every whole one, and the sum of two

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// The axis along which parts lie one behind the other: all before it have size 1.
size_t outermost(const Dims& dims) {
  size_t axis = 0;
  while (axis + 1 < dims.size() && dims[axis] == 1) ++axis;
  return axis;
}

struct Value {
  uint32_t id;
  int32_t dtype;
  Dims dims;
  double most;  // its numbers are no larger
};
bool is_number(const Value& v) { return v.dtype != TENON_BOOL; }
bool has_axes(const Value& v) { return !v.dims.empty(); }
std::string name_of(uint32_t id) { return "v" + std::to_string(id); }

class Maker {
 public:
  Maker(Sampler& sampler, const GraphFamily& family) : s_(sampler), family_(family) {}

  Drawn make() {
    size_ = s_.chance(12) ? s_.one_of<int64_t>({16384, 20000}) : s_.one_of<int64_t>({6, 24, 24, 60, 65, 130, 720});
    dtype_ = s_.chance(4) ? TENON_I32 : TENON_F32;
    for (int64_t i = s_.between(1, family_.states); i > 0; --i) states_.push_back(input(shape(), TENON_ROLE_STATE));
    for (int64_t i = s_.below(2); i > 0; --i) input(shape(), TENON_ROLE_FEED);
    for (int64_t i = s_.below(3); i > 0; --i) input({}, TENON_ROLE_SCALAR);
    for (int64_t i = s_.below(3); i > 0; --i) constant();
    for (int64_t i = s_.between(1, 14); i > 0; --i) node(s_.one_of(family_.ops));
    give_results();
    return {builder_.build(), std::move(inputs_), what_};
  }

 private:
  // ---- values ----

  Tensor numbers(const Dims& dims, int32_t dtype) {
    Tensor t = reference::zeros(dtype, dims);
    for (double& v : t.f) v = static_cast<double>(s_.between(-99, 99));
    for (int64_t& v : t.i) v = s_.between(-99, 99);
    return t;
  }
  const Value& keep(uint32_t id, int32_t dtype, Dims dims, double most) {
    values_.push_back({id, dtype, std::move(dims), most});
    return values_.back();
  }
  // The second run has one more than a scalar of the first.
  Value input(const Dims& dims, tenon_role role) {
    inputs_.push_back(numbers(dims, dtype_));
    return keep(builder_.input(dtype_, dims, role), dtype_, dims, 100);
  }
  void constant() {
    const Dims dims = shape();
    const std::vector<uint8_t> bytes = reference::to_bytes(numbers(s_.chance(2) ? dims : Dims{}, dtype_));
    keep(builder_.constant(dtype_, dims, bytes.data(), bytes.size()), dtype_, dims, 100);
  }
  // The graph's number of elements, cut otherwise each time, with axes of size 1 among the others.
  Dims shape() { return shape_of(size_); }
  Dims shape_of(int64_t n) {
    Dims dims(static_cast<size_t>(s_.between(1, 4)), 1);
    for (int64_t p = 2; n > 1; ++p)
      for (; n % p == 0; n /= p) dims[static_cast<size_t>(s_.below(static_cast<int64_t>(dims.size())))] *= p;
    return dims;
  }

  // A value that suits, of those made last more often.
  template <class F>
  std::optional<Value> pick(F suits) {
    std::vector<Value> found;
    std::copy_if(values_.begin(), values_.end(), std::back_inserter(found), suits);
    if (found.empty()) return {};
    const auto n = static_cast<int64_t>(found.size());
    return found[static_cast<size_t>(s_.chance(2) ? n - 1 - s_.below(std::min<int64_t>(n, 4)) : s_.below(n))];
  }
  std::optional<Value> pick_number() {
    return pick([](const Value& v) { return is_number(v) && v.most <= kMost; });
  }
  // One that goes with v in a map: of its shape, or of rank 0; v itself, too.
  Value partner(const Value& v) {
    return *pick([&](const Value& w) {
      return w.dtype == v.dtype && w.most <= kMost && (w.dims == v.dims || w.dims.empty() || v.dims.empty());
    });
  }

  // ---- nodes ----

  Value add_node(const char* op, const std::vector<Value>& operands, int32_t dtype, const Dims& dims, double most) {
    const uint32_t y = builder_.value(dtype, dims);
    std::vector<uint32_t> ids;
    what_ += (what_.empty() ? "" : "; ") + name_of(y) + text_of(dims) + " = " + op;
    for (const Value& v : operands) ids.push_back(v.id), what_ += " " + name_of(v.id);
    builder_.node(op, ids, {y}).name(name_of(y));
    return keep(y, dtype, dims, most);
  }

  void node(std::string_view op) {
    if (op == "one") map_of_one();
    if (op == "two") map_of_two();
    if (op == "own part") map_with_own_part();
    if (op == "choose") choose();
    if (op == "cast") cast();
    if (op == "reshape") reshape();
    if (op == "rows") rows();
    if (op == "slice") slice();
    if (op == "join") join();
    if (op == "recut") recut();
    if (op == "move") move();
    if (op == "flags") join_flags();
    if (op == "sum") sum();
    if (op == "sort") sort();
  }

  Value map_of_one(const Value& v) { return add_node(s_.chance(2) ? "neg" : "abs", {v}, v.dtype, v.dims, v.most); }
  void map_of_one() {
    if (const auto v = pick(is_number)) map_of_one(*v);
  }
  Value map_of_two(const Value& a, const Value& b) {
    const char* op = s_.one_of<const char*>({"add", "sub", "max", "min"});
    return add_node(op, {a, b}, a.dtype, a.dims.empty() ? b.dims : a.dims, a.most + b.most);
  }
  void map_of_two() {
    const auto a = pick_number();
    if (!a) return;
    const Value b = partner(*a);
    s_.chance(2) ? map_of_two(*a, b) : map_of_two(b, *a);
  }
  // Whole, beside one of its elements.
  void map_with_own_part() {
    const auto v = pick([](const Value& x) { return is_number(x) && x.most <= kMost && has_axes(x); });
    if (!v) return;
    Dims start, limit;
    for (const int64_t n : v->dims) start.push_back(s_.below(n)), limit.push_back(start.back() + 1);
    const Value part = reshape_to(slice_of(*v, start, limit), {});
    s_.chance(2) ? map_of_two(*v, part) : map_of_two(part, *v);
  }
  void choose() {
    const auto a = pick_number();
    if (!a) return;
    const Value b = partner(*a), c = partner(*a);
    const Value y = add_node("compare", {*a, b}, TENON_BOOL, a->dims.empty() ? b.dims : a->dims, 1);
    builder_.attr_enum("kind", s_.below(6));
    if (y.dims == a->dims && (c.dims.empty() || c.dims == y.dims))
      add_node("select", {y, *a, c}, a->dtype, y.dims, std::max(a->most, c.most));
  }
  // Between f32 and i32, or of a bool: to one of its own size, and to others.
  void cast() {
    const auto v = pick([](const Value&) { return true; });
    const int32_t to = v->dtype == TENON_F32 ? TENON_I32 : TENON_F32;
    add_node("cast", {*v}, to, v->dims, v->most);
    builder_.attr_dtype("to", to);
  }

  Value reshape_to(const Value& v, const Dims& dims) {
    const Value y = add_node("reshape", {v}, v.dtype, dims, v.most);
    builder_.attr_list("shape", dims);
    return y;
  }
  void reshape() {
    const auto v = pick([](const Value&) { return true; });
    reshape_to(*v, shape_of(product(v->dims)));
  }

  Value slice_of(const Value& v, const Dims& start, const Dims& limit, const Dims& stride = {}) {
    Dims dims;
    for (size_t d = 0; d < start.size(); ++d) {
      const int64_t step = stride.empty() ? 1 : stride[d];
      dims.push_back((limit[d] - start[d] + step - 1) / step);
    }
    const Value y = add_node("slice", {v}, v.dtype, dims, v.most);
    what_ += " from " + text_of(start);
    builder_.attr_list("start", start).attr_list("limit", limit);
    if (!stride.empty()) builder_.attr_list("stride", stride), what_ += " by " + text_of(stride);
    return y;
  }
  Value rows_of(const Value& v, size_t axis, int64_t first, int64_t last) {
    Dims start(v.dims.size(), 0), limit = v.dims;
    start[axis] = first, limit[axis] = last;
    return slice_of(v, start, limit);
  }
  void rows() {
    const auto v = pick(has_axes);
    if (!v) return;
    const size_t axis = outermost(v->dims);
    const int64_t first = s_.below(v->dims[axis]);
    rows_of(*v, axis, first, s_.between(first + 1, v->dims[axis]));
  }
  void slice() {
    const auto v = pick(has_axes);
    if (!v) return;
    if (s_.chance(2)) {  // rows, but not each
      Dims limit = v->dims, stride(v->dims.size(), 1);
      stride[outermost(v->dims)] = s_.between(1, 3);
      slice_of(*v, Dims(v->dims.size(), 0), limit, stride);
      return;
    }
    Dims start, limit, stride;
    for (const int64_t n : v->dims) {
      start.push_back(s_.chance(2) ? 0 : s_.below(n));
      limit.push_back(s_.chance(2) ? n : s_.between(start.back() + 1, n));
      stride.push_back(s_.chance(4) ? s_.between(1, 3) : 1);
    }
    slice_of(*v, start, limit, s_.chance(3) ? Dims{} : stride);
  }

  void join_all(const std::vector<Value>& parts, size_t axis) {
    Dims dims = parts[0].dims;
    double most = 0;
    dims[axis] = 0;
    for (const Value& v : parts) dims[axis] += v.dims[axis], most = std::max(most, v.most);
    add_node("concat", parts, parts[0].dtype, dims, most);
    builder_.attr_i64("axis", static_cast<int64_t>(axis));
  }
  // What is made of v to be joined, if anything is.
  Value made_of(Value v) {
    if (is_number(v) && !s_.chance(4)) v = map_of_one(v);
    if (!s_.chance(4)) return v;
    const Value cut = reshape_to(v, shape_of(product(v.dims)));
    return reshape_to(s_.chance(2) && is_number(v) ? map_of_one(cut) : cut, v.dims);
  }
  void join() {
    const auto first = pick(has_axes);
    if (!first || product(first->dims) > 2 * size_) return;
    const size_t axis =
        s_.chance(4) ? static_cast<size_t>(s_.below(static_cast<int64_t>(first->dims.size()))) : outermost(first->dims);
    const auto fits = [&](const Value& v) {
      if (v.dtype != first->dtype || v.dims.size() != first->dims.size()) return false;
      for (size_t d = 0; d < v.dims.size(); ++d)
        if (d != axis && v.dims[d] != first->dims[d]) return false;
      return product(v.dims) <= 2 * size_;
    };
    std::vector<Value> parts;
    for (int64_t k = s_.between(1, s_.chance(8) ? 12 : 4); k > 0; --k)
      parts.push_back(parts.empty() || !s_.chance(5) ? made_of(*pick(fits)) : parts[0]);
    join_all(parts, axis);
  }
  // Cut into two, and put together again after something was done.
  void recut() {
    const auto v = pick([](const Value& x) { return has_axes(x) && x.dims[outermost(x.dims)] > 1; });
    if (!v) return;
    const size_t axis = outermost(v->dims);
    const int64_t n = v->dims[axis], at = s_.between(1, n - 1);
    Value a = rows_of(*v, axis, 0, at), b = rows_of(*v, axis, at, n);
    if (a.dims == b.dims && is_number(a) && a.most <= kMost && s_.chance(2))
      a = map_of_two(b, a), b = s_.chance(2) ? b : map_of_two(a, a);
    a = made_of(a), b = made_of(b);
    join_all(s_.chance(2) ? std::vector<Value>{a, b} : std::vector<Value>{b, a}, axis);
  }

  // Four times as many bools, of which some are of what is read nowhere else, and has their size together.
  void join_flags() {
    const auto v = pick([](const Value& x) { return is_number(x) && has_axes(x) && x.most <= kMost; });
    if (!v) return;
    const Value w = partner(*v), last = map_of_one(*v);
    std::vector<Value> parts;
    for (const Value& a : {last, *v, w.dims == v->dims ? w : *v, *v}) {
      parts.push_back(add_node("compare", {a, w}, TENON_BOOL, a.dims, 1));
      builder_.attr_enum("kind", s_.below(6));
    }
    std::swap(parts[0], parts[static_cast<size_t>(s_.below(4))]);
    join_all(parts, outermost(v->dims));
  }

  // Nothing that can be done in place.
  void move() {
    const auto v = pick(has_axes);
    if (!v) return;
    if (s_.chance(2)) {
      add_node("reverse", {*v}, v->dtype, v->dims, v->most);
      builder_.attr_list("axes", {s_.below(static_cast<int64_t>(v->dims.size()))});
      return;
    }
    const Dims perm = s_.permutation(v->dims.size());
    Dims dims;
    for (const int64_t p : perm) dims.push_back(v->dims[static_cast<size_t>(p)]);
    add_node("transpose", {*v}, v->dtype, dims, v->most);
    builder_.attr_list("perm", perm);
  }
  void sum() {
    const auto v =
        pick([](const Value& x) { return is_number(x) && x.most * static_cast<double>(product(x.dims)) <= kMost; });
    if (!v) return;
    const Dims axes = s_.some_of(v->dims.size());
    Dims dims;
    for (size_t d = 0; d < v->dims.size(); ++d)
      if (!std::count(axes.begin(), axes.end(), static_cast<int64_t>(d))) dims.push_back(v->dims[d]);
    add_node("reduce", {*v}, v->dtype, dims, v->most * static_cast<double>(product(v->dims)));
    builder_.attr_list("axes", axes).attr_enum("kind", TENON_REDUCE_SUM);
  }
  // Two results, of which some are never read, and scratch in most backends.
  void sort() {
    const auto v = pick([](const Value& x) { return is_number(x) && has_axes(x); });
    if (!v) return;
    Dims dims = v->dims;
    dims.back() = s_.chance(2) ? dims.back() : s_.between(1, dims.back());
    const uint32_t y = builder_.value(v->dtype, dims), order = builder_.value(TENON_I32, dims);
    what_ +=
        (what_.empty() ? "" : "; ") + name_of(y) + " " + name_of(order) + text_of(dims) + " = sort " + name_of(v->id);
    builder_.node("sort", {v->id}, {y, order}).name(name_of(y));
    builder_.attr_i64("k", dims.back()).attr_bool("descending", s_.chance(2));
    keep(y, v->dtype, dims, v->most);
    if (s_.chance(2)) keep(order, TENON_I32, dims, static_cast<double>(v->dims.back()));
  }

  // ---- results ----

  void give(const Value& v, uint32_t alias = 0) {
    builder_.result(v.id, TENON_MODE_LAST, alias);
    what_ += "; gives " + name_of(v.id) + (alias ? " to " + name_of(states_[alias - 1].id) : "");
  }
  // What a state becomes: anything of its size, itself and other states too.
  void update(uint32_t state) {
    const Value& s = states_[state];
    const auto fits = [&](const Value& v) {
      return v.dtype == s.dtype && v.most <= kMost && product(v.dims) == product(s.dims);
    };
    const Value next = *pick(fits);
    give(next.dims == s.dims ? next : reshape_to(next, s.dims), state + 1);
  }
  void give_results() {
    const auto any = [](const Value&) { return true; };
    std::vector<Value> given;
    for (int64_t i = s_.below(3); i > 0; --i) give(*pick(any));
    for (uint32_t i = 0; i < states_.size(); ++i)
      if (!s_.chance(4)) update(i);
    for (int64_t i = s_.below(3); i > 0; --i) give(*pick(any));
    if (s_.chance(3)) give(s_.one_of(states_));
    give(values_.back());
  }

  Sampler& s_;
  const GraphFamily& family_;
  plugin::GraphBuilder builder_;
  int64_t size_ = 0;
  int32_t dtype_ = 0;
  std::vector<Value> values_, states_;
  std::vector<Tensor> inputs_;
  std::string what_;
};

}  // namespace

const std::vector<GraphFamily>& graph_families() {
  static const std::vector<GraphFamily> families{
      {"views", 2, {"one", "two", "own part", "reshape", "reshape", "rows", "rows", "rows", "slice", "join", "recut"}},
      {"joins", 2, {"one", "two", "reshape", "rows", "join", "join", "join", "recut", "recut", "flags"}},
      {"maps", 2, {"one", "two", "two", "two", "own part", "choose", "cast", "reshape", "sum", "move"}},
      {"states", 4, {"one", "two", "two", "own part", "move", "recut", "reshape", "choose"}},
      {"several results", 2, {"sort", "sort", "one", "two", "cast", "move", "rows", "join"}},
      {"anything",
       3,
       {"one", "two", "own part", "choose", "cast", "reshape", "rows", "slice", "join", "recut", "move", "sum",
        "sort"}}};
  return families;
}

Drawn draw_graph(Sampler& sampler, const GraphFamily& family) { return Maker(sampler, family).make(); }

}  // namespace tenon::conformance
