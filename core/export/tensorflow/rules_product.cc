// Products of matrices and convolutions.
#include <algorithm>
#include <utility>

#include "export/tensorflow/windows.h"

namespace tenon::tensorflow {
namespace {

// In f32, or f64.
Ref product(NodeScribe& n, DType dtype) {
  const std::vector<Ref> in = {n.wide_in(0), n.wide_in(1)};
  const bool ta = n.flag("ta"), tb = n.flag("tb");
  if (n.rank() == 2)
    return n.typed("MatMul", dtype, in, {flag_field("transpose_a", ta), flag_field("transpose_b", tb)});
  return n.typed("BatchMatMulV2", dtype, in, {flag_field("adj_x", ta), flag_field("adj_y", tb)});
}

std::vector<Ref> dot_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(product(n, dtype), dtype);
}

std::vector<Ref> dot_bias_act_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return epilogue(n, product(n, dtype), dtype, 2, 3);
}

// A convolution on its way: its operands are wide, the filter is w[K.., C/G, O].
struct Convolution {
  Spatial spatial;
  Ref x, w;
  Dims filter;
  int64_t groups = 1;
  DType dtype = DType::kF32;

  int axes() const { return spatial.axes(); }
  int64_t channels(int back) const { return filter[filter.size() - static_cast<size_t>(back)].base; }
};

Ints spatial_sizes(const Dims& dims, size_t first, size_t last) {
  Ints sizes;
  for (size_t i = first; i < last; ++i) {
    if (dims[i].each != 0) throw Lacking{"has a window whose size depends on the number of rows"};
    sizes.push_back(dims[i].base);
  }
  return sizes;
}

Ints filter_sizes(const Dims& filter) { return spatial_sizes(filter, 0, filter.size() - 2); }

bool all_ones(const Ints& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t number) { return number == 1; });
}

// The filter with zeros between its elements, for what knows no dilation.
void write_dilation_out(NodeScribe& n, Convolution& c) {
  op::Window& window = c.spatial.window;
  if (all_ones(window.dilation)) return;
  Ints interior;
  for (int64_t& step : window.dilation) interior.push_back(std::exchange(step, 1) - 1);
  interior.insert(interior.end(), 2, 0);
  const Dims none(c.filter.size(), fixed(0));
  c.w = n.pad(c.w, c.dtype, &c.filter, none, none, interior, 0);
  window.size = filter_sizes(c.filter);
}

Ref convolve_in_space(NodeScribe& n, Convolution c) {
  write_dilation_out(n, c);
  const bool same = c.spatial.is_same();
  if (!same) c.x = padded(n, c.x, c.dtype, &c.spatial, 0);
  return n.typed(
      "Conv3D", c.dtype, {c.x, c.w},
      {list_field("strides", strides_field(c.spatial.window.stride)), text_field("padding", same ? "SAME" : "VALID")});
}

Ref convolve_in_plane(NodeScribe& n, Convolution c) {
  const bool same = c.spatial.is_same();
  if (!same) c.x = padded(n, c.x, c.dtype, &c.spatial, 0);
  c.x = with_two_axes(n, c.x, c.dtype, c.axes(), 1);
  c.w = with_two_axes(n, c.w, c.dtype, c.axes(), 0);
  return n.typed(
      "Conv2D", c.dtype, {c.x, c.w},
      {list_field("strides", strides_field(c.spatial.window.stride)), text_field("padding", same ? "SAME" : "VALID"),
       list_field("dilations", strides_field(c.spatial.window.dilation))});
}

// One filter or more for each channel alone: by TensorFlow's op, which knows neither dilation nor two strides.
Ref convolve_channels(NodeScribe& n, Convolution c) {
  write_dilation_out(n, c);
  const Ints strides = c.spatial.window.stride;
  const bool apart = strides.front() != strides.back();
  c.x = padded(n, c.x, c.dtype, &c.spatial, 0);
  Dims each = c.filter;
  each[each.size() - 2] = fixed(c.groups);
  each.back() = fixed(c.filter.back().base / c.groups);
  c.w = n.reshape(c.w, c.dtype, each);
  c.x = with_two_axes(n, c.x, c.dtype, c.axes(), 1);
  c.w = with_two_axes(n, c.w, c.dtype, c.axes(), 0);
  const int64_t stride = apart ? 1 : strides.front();
  const Ref y = n.typed("DepthwiseConv2dNative", c.dtype, {c.x, c.w},
                        {list_field("strides", {1, stride, stride, 1}), text_field("padding", "VALID")});
  if (!apart) return y;
  Dims all = c.spatial.dims;
  for (size_t d = 0; d < strides.size(); ++d) all[d + 1].base -= c.spatial.window.size[d] - 1;
  all.back() = c.filter.back();
  return n.slice(y, c.dtype, all, Dims(all.size(), fixed(0)), all, {1, strides[0], strides[1], 1});
}

Ref convolve(NodeScribe& n, const Convolution& c);

// Group by group: TensorFlow has some convolutions of groups, and then fuses them with what follows to ops that have none.
Ref convolve_groups(NodeScribe& n, Convolution c) {
  const int64_t groups = std::exchange(c.groups, 1), in = c.channels(2), out = c.channels(1) / groups;
  const Dims all = c.spatial.dims, filters = c.filter;
  const Ref x = c.x, w = c.w;
  std::vector<Ref> parts;
  for (int64_t g = 0; g < groups; ++g) {
    Dims start(all.size(), fixed(0)), limit = all, from(filters.size(), fixed(0)), to = filters;
    start.back() = fixed(g * in);
    limit.back() = fixed((g + 1) * in);
    from.back() = fixed(g * out);
    to.back() = fixed((g + 1) * out);
    c.x = n.slice(x, c.dtype, all, start, limit);
    c.w = n.slice(w, c.dtype, filters, from, to);
    c.spatial.dims.back() = fixed(in);
    c.filter.back() = fixed(out);
    parts.push_back(convolve(n, c));
  }
  parts.push_back(n.nodes().whole(-1));
  return n.typed("ConcatV2", c.dtype, parts, {number_field("N", groups), type_field("Tidx", DT_INT32)});
}

// With a spatial axis more where there is but one.
Ref convolve(NodeScribe& n, const Convolution& c) {
  if (c.groups > 1 && c.channels(2) == 1 && c.axes() < 3) return convolve_channels(n, c);
  if (c.groups > 1) return convolve_groups(n, c);
  return c.axes() == 3 ? convolve_in_space(n, c) : convolve_in_plane(n, c);
}

Convolution convolution_of(NodeScribe& n) {
  Convolution c;
  c.dtype = NodeScribe::wide(n.dtype());
  c.x = n.wide_in(0);
  c.w = n.wide_in(1);
  c.filter = n.dims(1);
  c.groups = n.number("groups");
  c.spatial = spatial_of(n, filter_sizes(c.filter), n.dims(), true);
  return c;
}

std::vector<Ref> conv_rule(NodeScribe& n) {
  const Convolution c = convolution_of(n);
  return n.narrow(with_one_axis(n, convolve(n, c), c.dtype, c.axes()), c.dtype);
}

std::vector<Ref> conv_bias_act_rule(NodeScribe& n) {
  const Convolution c = convolution_of(n);
  return epilogue(n, with_one_axis(n, convolve(n, c), c.dtype, c.axes()), c.dtype, 2, 3);
}

// w[K.., C/G, O] turned round in space, from outputs to inputs: [K.., O/G, C].
Ref turned(NodeScribe& n, const Ref& w, DType dtype, Dims* dims, int64_t groups) {
  const size_t axes = dims->size() - 2;
  Ints reversed, perm;
  for (size_t i = 0; i < axes; ++i) reversed.push_back(static_cast<int64_t>(i));
  perm = reversed;
  const auto at = static_cast<int64_t>(axes);
  const Ref back = n.typed("ReverseV2", dtype, {w, n.nodes().ints(reversed)}, {type_field("Tidx", DT_INT32)});
  const int64_t in = (*dims)[axes].base, out = (*dims)[axes + 1].base;
  Dims apart = *dims;
  apart.resize(axes + 1);
  apart.push_back(fixed(groups));
  apart.push_back(fixed(out / groups));
  perm.insert(perm.end(), {at + 2, at + 1, at});
  (*dims)[axes] = fixed(out / groups);
  (*dims)[axes + 1] = fixed(in * groups);
  return n.reshape(n.transpose(n.reshape(back, dtype, apart), dtype, perm), dtype, *dims);
}

// The convolution of the result with zeros between its elements and the filter turned round.
std::vector<Ref> conv_grad_input_rule(NodeScribe& n) {
  Convolution c = convolution_of(n);
  op::Window& window = c.spatial.window;
  const Ints size = n.fixed_list("size");
  Ints interior = {0};
  for (size_t d = 0; d < window.size.size(); ++d) {
    const int64_t dy = spatial_sizes(c.spatial.dims, d + 1, d + 2)[0],
                  reach = (window.size[d] - 1) * window.dilation[d];
    const int64_t spread = dy + (dy - 1) * (window.stride[d] - 1);
    interior.push_back(std::exchange(window.stride[d], 1) - 1);
    window.low[d] = reach - window.low[d];
    window.high[d] = size[d] - spread - window.low[d] + reach;
  }
  interior.push_back(0);
  const Dims none(c.spatial.dims.size(), fixed(0));
  c.x = n.pad(c.x, c.dtype, &c.spatial.dims, none, none, interior, 0);
  c.w = turned(n, c.w, c.dtype, &c.filter, c.groups);
  return n.narrow(with_one_axis(n, convolve(n, c), c.dtype, c.axes()), c.dtype);
}

constexpr NodeRule kProductRules[] = {
    {"dot", dot_rule},
    {"dot_bias_act", dot_bias_act_rule},
    {"conv", conv_rule},
    {"conv_bias_act", conv_bias_act_rule},
    {"conv_grad_input", conv_grad_input_rule},
};

}  // namespace

std::span<const NodeRule> product_rules() { return kProductRules; }

}  // namespace tenon::tensorflow
