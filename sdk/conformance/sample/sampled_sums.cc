// Samples of the primitives that add up or look at a whole row.
#include <algorithm>

#include "conformance/sample/sampler.h"

namespace tenon::conformance {
namespace {

using reference::Tensor;
using Dims = std::vector<int64_t>;

constexpr int64_t kMostProducts = 60000;  // of the reference, which is slow

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// Floats for a product of so many: it neither vanishes nor overflows.
Tensor factors(Sampler& s, int32_t dtype, const Dims& dims) {
  Tensor t = s.tensor(dtype, dims, Values::kPlain);
  for (double& v : t.f) v = reference::round_to(dtype, s.uniform(0.98, 1.02) * (s.chance(2) ? -1 : 1));
  return t;
}

Drawn draw_reduce(Sampler& s, int32_t dtype) {
  Drawing d("reduce");
  const int64_t kind = dtype == TENON_BOOL ? s.between(TENON_REDUCE_MAX, TENON_REDUCE_MIN) : s.below(4);
  const bool picks = kind == TENON_REDUCE_MAX || kind == TENON_REDUCE_MIN;
  const Dims dims = s.dims(3000), axes = s.some_of(dims.size());
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) out.push_back(dims[i]);
  Tensor x = picks ? s.tensor(dtype, dims, s.any_values())
                   : s.tensor(dtype, dims, s.one_of<Values>({Values::kPlain, Values::kEdges}));
  if (kind == TENON_REDUCE_PROD && plugin::is_float(dtype)) x = factors(s, dtype, dims);
  d.node({d.input(std::move(x))}, {{dtype, out}}).attr_list("axes", axes).attr_enum("kind", kind);
  return d.finish("kind " + std::to_string(kind) + " axes " + text_of(axes));
}

Drawn draw_sort(Sampler& s, int32_t dtype) {
  Drawing d("sort");
  Dims dims = s.dims();
  if (dims.empty()) dims = {1};
  const int64_t k = s.chance(3) ? dims.back() : s.size(dims.back());
  const bool descending = s.chance(2);
  Dims out = dims;
  out.back() = k;
  const uint32_t x = d.input(s.tensor(dtype, dims, s.any_values()));
  d.node({x}, {{dtype, out}, {TENON_I32, out}}).attr_i64("k", k).attr_bool("descending", descending);
  return d.finish("k " + std::to_string(k) + (descending ? " descending" : ""));
}

// What is infinite in one operand meets zeros in the other: their product is no number and must not be left out.
struct Pair {
  Values a, b;
};
Pair pair_of_values(Sampler& s) {
  return s.one_of<Pair>({{Values::kPlain, Values::kPlain},
                         {Values::kPlain, Values::kZeros},
                         {Values::kZeros, Values::kEdges},
                         {Values::kEdges, Values::kZeros}});
}

int32_t out_dtype(Sampler& s, int32_t dtype) {
  return (dtype == TENON_BF16 || dtype == TENON_F16) && s.chance(2) ? TENON_F32 : dtype;
}

Drawn draw_dot(Sampler& s, int32_t dtype) {
  Drawing d("dot");
  const Dims batch = s.chance(2) ? Dims{} : s.dims_of_rank(static_cast<size_t>(s.between(1, 4)), 8);
  const Dims sizes = s.dims_of_rank(3, kMostProducts / product(batch));
  const bool ta = s.chance(2), tb = s.chance(2);
  const auto with = [&](int64_t rows, int64_t columns) {
    Dims dims = batch;
    dims.push_back(rows), dims.push_back(columns);
    return dims;
  };
  const auto [m, k, n] = std::array<int64_t, 3>{sizes[0], sizes[1], sizes[2]};
  const Pair values = pair_of_values(s);
  const uint32_t a = d.input(s.tensor(dtype, ta ? with(k, m) : with(m, k), values.a)),
                 b = d.input(s.tensor(dtype, tb ? with(n, k) : with(k, n), values.b));
  const int32_t out = out_dtype(s, dtype);
  d.node({a, b}, {{out, with(m, n)}}).attr_bool("ta", ta).attr_bool("tb", tb);
  d.builder.attr_enum("precision", TENON_PRECISION_HIGHEST).attr_dtype("out", out);
  return d.finish(std::string(ta ? "ta " : "") + (tb ? "tb " : "") + plugin::dtype_name(out));
}

struct Window {
  Dims x, w, y, size, taps, strides, low, high, dilation;
  int64_t groups = 1;
};

Window window(Sampler& s) {
  Window c;
  const size_t n = static_cast<size_t>(s.one_of<int64_t>({1, 2, 2, 2, 3}));
  c.groups = s.one_of<int64_t>({1, 1, 1, 2, 3, 4});
  const int64_t inputs = s.size(9), outputs = s.size(17), batch = s.between(1, 3);
  int64_t room = std::max<int64_t>(1, kMostProducts / (batch * inputs * outputs * c.groups));
  Dims points;
  for (size_t i = 0; i < n; ++i) {
    const int64_t tap = s.one_of<int64_t>({1, 2, 3, 3, 4, 5, 7}), dilation = s.one_of<int64_t>({1, 1, 1, 2, 3});
    c.taps.push_back(room >= tap ? tap : 1);
    room = std::max<int64_t>(1, room / c.taps.back());
    c.dilation.push_back(dilation);
    c.strides.push_back(s.one_of<int64_t>({1, 1, 2, 2, 3, 4}));
    c.low.push_back(s.chance(2) ? 0 : s.below(4));
    c.high.push_back(s.chance(2) ? 0 : s.below(4));
    const int64_t reach = (c.taps.back() - 1) * dilation + 1;
    const int64_t least = std::max<int64_t>(1, reach - c.low.back() - c.high.back());
    c.size.push_back(least + s.below(std::min<int64_t>(room, 20)));
    points.push_back((c.size.back() + c.low.back() + c.high.back() - reach) / c.strides.back() + 1);
    room = std::max<int64_t>(1, room / points.back());
  }
  const auto around = [](int64_t front, const Dims& middle, int64_t last) {
    Dims dims{front};
    dims.insert(dims.end(), middle.begin(), middle.end());
    dims.push_back(last);
    return dims;
  };
  c.x = around(batch, c.size, inputs * c.groups);
  c.w = c.taps;
  c.w.push_back(inputs), c.w.push_back(outputs * c.groups);
  c.y = around(batch, points, outputs * c.groups);
  return c;
}

std::string words(const Window& c) {
  return "strides " + text_of(c.strides) + " low " + text_of(c.low) + " high " + text_of(c.high) + " dilation " +
         text_of(c.dilation) + " groups " + std::to_string(c.groups);
}

void set_window(Drawing& d, const Window& c) {
  d.builder.attr_list("strides", c.strides).attr_list("low", c.low).attr_list("high", c.high);
  d.builder.attr_list("dilation", c.dilation).attr_i64("groups", c.groups);
  d.builder.attr_enum("precision", TENON_PRECISION_HIGHEST);
}

bool padded(const Window& c) {
  return product(c.low) + product(c.high) > 0 || c.low != Dims(c.low.size()) || c.high != Dims(c.high.size());
}

// Where the window reaches outside, the filter stays finite: a backend may multiply by the zeros there.
Drawn draw_conv(Sampler& s, int32_t dtype) {
  Drawing d("conv");
  const Window c = window(s);
  Pair values = pair_of_values(s);
  if (padded(c) && values.b == Values::kEdges) values.b = Values::kZeros;
  const uint32_t x = d.input(s.tensor(dtype, c.x, values.a)), w = d.input(s.tensor(dtype, c.w, values.b));
  const int32_t out = out_dtype(s, dtype);
  d.node({x, w}, {{out, c.y}});
  set_window(d, c);
  d.builder.attr_dtype("out", out);
  return d.finish(words(c) + " " + plugin::dtype_name(out));
}

Drawn draw_conv_grad_input(Sampler& s, int32_t dtype) {
  Drawing d("conv_grad_input");
  const Window c = window(s);
  Pair values = pair_of_values(s);
  if (values.b == Values::kEdges) values.b = Values::kZeros;  // a backend may spread dy with zeros
  const uint32_t dy = d.input(s.tensor(dtype, c.y, values.a)), w = d.input(s.tensor(dtype, c.w, values.b));
  d.node({dy, w}, {{dtype, c.x}}).attr_list("size", c.size);
  set_window(d, c);
  d.builder.attr_dtype("out", dtype);
  return d.finish(words(c));
}

Drawn draw_conv_grad_filter(Sampler& s, int32_t dtype) {
  Drawing d("conv_grad_filter");
  const Window c = window(s);
  Pair values = pair_of_values(s);
  if (padded(c) && values.b == Values::kEdges) values.b = Values::kZeros;
  const uint32_t x = d.input(s.tensor(dtype, c.x, values.a)), dy = d.input(s.tensor(dtype, c.y, values.b));
  d.node({x, dy}, {{dtype, c.w}}).attr_list("size", c.taps);
  set_window(d, c);
  d.builder.attr_dtype("out", dtype);
  return d.finish(words(c));
}

}  // namespace

std::vector<SampledOp> sum_samples() {
  return {{"reduce", dtypes::kNumbersAndBool, draw_reduce},
          {"sort", dtypes::kNumbers, draw_sort},
          {"dot", dtypes::kFloats, draw_dot},
          {"conv", dtypes::kFloats, draw_conv},
          {"conv_grad_input", dtypes::kFloats, draw_conv_grad_input},
          {"conv_grad_filter", dtypes::kFloats, draw_conv_grad_filter}};
}

}  // namespace tenon::conformance
