// Products of matrices, convolutions, pools and normalizations.
#include <algorithm>
#include <utility>

#include "export/onnx/onnx_node_rules.h"
#include "tenon/op/window.h"

namespace tenon::onnx::out {
namespace {

Ints swapped(int rank) {
  Ints perm = identity(static_cast<size_t>(rank));
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return perm;
}

// In f32, or f64. A bias that goes with it in one node is -1 afterwards.
Ref product(NodeScribe& n, DType dtype, int* bias) {
  const bool ta = n.flag("ta"), tb = n.flag("tb");
  if (n.rank() == 2 && bias && n.has(*bias) && n.dims(*bias).size() == 1) {
    const Ref with = n.cast(n.in(*bias), n.dtype(*bias), dtype);
    *bias = -1;
    return n.write("Gemm", {n.wide_in(0), n.wide_in(1), with},
                   {number_field("transA", ta), number_field("transB", tb)});
  }
  const auto operand = [&](int i, bool turned) {
    return n.cast(turned ? n.turned_in(i, swapped(n.rank(i))) : n.in(i), n.dtype(i), dtype);
  };
  return n.write("MatMul", {operand(0, ta), operand(1, tb)});
}

std::vector<Written> dot_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(product(n, dtype, nullptr), dtype);
}

std::vector<Written> dot_bias_act_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  int bias = 2;
  const Ref z = product(n, dtype, &bias);
  return epilogue(n, false, z, dtype, bias, 3);
}

Ints spatial_sizes(const Dims& dims, size_t first, size_t last) {
  Ints sizes;
  for (size_t i = first; i < last; ++i) {
    if (dims[i].each != 0) throw Lacking{"has a window whose size depends on the number of rows"};
    sizes.push_back(dims[i].base);
  }
  return sizes;
}

// Attributes of a window: strides, low, high and, where there is one, dilation.
op::Window window_of(const NodeScribe& n, const Ints& size, bool dilated) {
  const int axes = static_cast<int>(size.size());
  return {size, n.fixed_list("strides", axes), n.fixed_list("low", axes), n.fixed_list("high", axes),
          dilated ? n.fixed_list("dilation", axes) : Ints(size.size(), 1)};
}

Fields window_fields(const op::Window& window) {
  Ints pads = window.low;
  pads.insert(pads.end(), window.high.begin(), window.high.end());
  Fields fields = {list_field("kernel_shape", window.size), list_field("strides", window.stride),
                   list_field("pads", pads)};
  const auto is_one = [](int64_t step) { return step == 1; };
  if (!std::all_of(window.dilation.begin(), window.dilation.end(), is_one))
    fields.push_back(list_field("dilations", window.dilation));
  return fields;
}

// Negative pads cut, which windows there cannot.
Ref cut_in(NodeScribe& n, op::Window* window, DType dtype) {
  Ref x = n.wide_first_in(0);
  Ints pads(2 * n.dims().size(), 0);
  bool cuts = false;
  for (size_t d = 0; d < window->size.size(); ++d)
    for (const bool high : {false, true}) {
      int64_t& pad = (high ? window->high : window->low)[d];
      if (pad >= 0) continue;
      pads[d + 2 + (high ? n.dims().size() : 0)] = std::exchange(pad, 0);
      cuts = true;
    }
  return cuts ? n.write("Pad", {x, n.nodes().ints(pads), n.scalar(dtype, 0)}) : x;
}

// w[K.., C/G, O] as [O, C/G, K..].
Ref filter_in(NodeScribe& n, DType dtype) {
  const size_t rank = n.dims(1).size();
  Ints perm = identity(rank);
  std::rotate(perm.begin(), perm.end() - 2, perm.end());
  std::swap(perm[0], perm[1]);
  return n.cast(n.turned_in(1, perm), n.dtype(1), dtype);
}

Ref convolution(NodeScribe& n, DType dtype, int* bias) {
  op::Window window = window_of(n, spatial_sizes(n.dims(1), 0, n.dims(1).size() - 2), true);
  std::vector<Ref> in = {cut_in(n, &window, dtype), filter_in(n, dtype)};
  if (bias && n.has(*bias)) in.push_back(n.cast(n.in(std::exchange(*bias, -1)), n.dtype(2), dtype));
  Fields how = window_fields(window);
  how.push_back(number_field("group", n.number("groups")));
  return n.write("Conv", in, std::move(how));
}

std::vector<Written> conv_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow_first(convolution(n, dtype, nullptr), dtype);
}

std::vector<Written> conv_bias_act_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  int bias = 2;
  const Ref z = convolution(n, dtype, &bias);
  return epilogue(n, true, z, dtype, bias, 3);
}

// The transposed convolution: the window goes over the result, whose size says what is missing at its end.
std::vector<Written> conv_grad_input_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  op::Window window = window_of(n, spatial_sizes(n.dims(1), 0, n.dims(1).size() - 2), true);
  const Ints size = n.fixed_list("size"), places = spatial_sizes(n.dims(), 1, n.dims().size() - 1);
  Ints more;
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t reach = (places[d] - 1) * window.stride[d] + (window.size[d] - 1) * window.dilation[d] + 1;
    more.push_back(size[d] - (reach - window.low[d] - window.high[d]));
    if (more[d] < 0) window.high[d] -= std::exchange(more[d], 0);
    if (more[d] >= std::max(window.stride[d], window.dilation[d]) || window.low[d] < 0 || window.high[d] < 0)
      throw Lacking{"is a transposed convolution whose pads ONNX does not have"};
  }
  Fields how = window_fields(window);
  how.push_back(number_field("group", n.number("groups")));
  how.push_back(list_field("output_padding", more));
  const Ref y = n.write("ConvTranspose", {n.wide_first_in(0), filter_in(n, dtype)}, std::move(how));
  return n.narrow_first(y, dtype);
}

std::vector<Written> max_pool_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  const op::Window window = window_of(n, n.fixed_list("window"), false);
  return n.narrow_first(n.write("MaxPool", {n.wide_first_in(0)}, window_fields(window)), dtype);
}

std::vector<Written> avg_pool_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  Fields how = window_fields(window_of(n, n.fixed_list("window"), false));
  how.push_back(number_field("count_include_pad", n.flag("count_pad")));
  return n.narrow_first(n.write("AveragePool", {n.wide_first_in(0)}, std::move(how)), dtype);
}

std::vector<Written> batch_norm_rule(NodeScribe& n) {
  const bool doubles = n.dtype(0) == DType::kF64 || n.dtype(1) == DType::kF64;
  const DType dtype = doubles ? DType::kF64 : DType::kF32;
  if (n.rank() < 2) throw Lacking{"normalizes a vector"};
  const bool first = n.rank() > 2;
  std::vector<Ref> in = {n.cast(first ? n.first_in(0) : n.in(0), n.dtype(0), dtype)};
  for (int i = 1; i < 5; ++i) in.push_back(n.cast(n.in(i), n.dtype(i), dtype));
  const Ref y = n.write("BatchNormalization", in, {real_field("epsilon", n.real("eps"))});
  return epilogue(n, first, y, dtype, -1, 5);
}

bool are_last(Ints axes, size_t rank) {
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(rank - axes.size() + i)) return false;
  return true;
}

struct Normalized {
  Ref y, mean, variance;  // moments with axes of size 1
};

// (x - mean) / sqrt(var + eps) gamma + beta; not centred the mean is 0.
Normalized normalized(NodeScribe& n, const std::vector<Ref>& in, DType dtype, const Ints& axes) {
  const auto mean = [&](const Ref& x) { return n.write("ReduceMean", {x, n.nodes().ints(axes)}); };
  Normalized out;
  const Ref taken = mean(in[0]);
  out.mean = n.flag("center") ? taken : n.write("Sub", {taken, taken});
  const Ref centred = n.flag("center") ? n.write("Sub", {in[0], taken}) : in[0];
  out.variance = mean(n.write("Mul", {centred, centred}));
  const Ref deviation = n.write("Sqrt", {n.write("Add", {out.variance, n.scalar(dtype, n.real("eps"))})});
  out.y = n.write("Mul", {n.write("Div", {centred, deviation}), in[1]});
  if (in.size() > 2) out.y = n.write("Add", {out.y, in[2]});
  return out;
}

std::vector<Written> layer_norm_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype(1));
  const Ints axes = n.fixed_list("axes");
  std::vector<Ref> in;
  for (int i = 0; i < n.operands(); ++i)
    if (n.has(i)) in.push_back(n.cast(n.in(i), n.dtype(i), dtype));
  const bool whole = n.flag("center") && are_last(axes, n.dims().size()) && n.dims(1).size() == axes.size();
  Normalized all = normalized(n, in, dtype, axes);  // of which what is not read goes
  if (whole)
    all.y = n.write(
        "LayerNormalization", in,
        {number_field("axis", *std::min_element(axes.begin(), axes.end())), real_field("epsilon", n.real("eps"))});
  const auto squeezed = [&](const Ref& x) { return n.write("Squeeze", {x, n.nodes().ints(axes)}); };
  const DType moments = n.result(1).dtype;
  return {{n.cast(all.y, dtype, n.result().dtype)},
          {n.cast(squeezed(all.mean), dtype, moments)},
          {n.cast(squeezed(all.variance), dtype, moments)}};
}

constexpr NodeRule kNetworkRules[] = {
    {"dot", dot_rule},
    {"dot_bias_act", dot_bias_act_rule},
    {"conv", conv_rule},
    {"conv_bias_act", conv_bias_act_rule},
    {"conv_grad_input", conv_grad_input_rule},
    {"max_pool", max_pool_rule},
    {"avg_pool", avg_pool_rule},
    {"batch_norm_apply", batch_norm_rule},
    {"layer_norm", layer_norm_rule},
};

}  // namespace

std::span<const NodeRule> network_rules() { return kNetworkRules; }

}  // namespace tenon::onnx::out
