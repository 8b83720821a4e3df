// Pools and batch normalization.
#include <algorithm>
#include <limits>

#include "export/tensorflow/windows.h"

namespace tenon::tensorflow {
namespace {

Ref pooled_in_plane(NodeScribe& n, const Ref& x, DType dtype, const Ints& window, const Ints& strides,
                    const char* padding) {
  return n.typed(n.op(), dtype, {x},
                 {list_field("ksize", strides_field(window)), list_field("strides", strides_field(strides)),
                  text_field("padding", padding)});
}

// f64 has no op for three axes: the last two, then the first of them, of [N, D, H W, C].
Ref pooled_in_turn(NodeScribe& n, const Spatial& spatial, Ref x, DType dtype) {
  const op::Window& w = spatial.window;
  Dims dims = spatial.dims;
  x = n.reshape(x, dtype, {product(dims, 0, 2), dims[2], dims[3], dims[4]});
  x = pooled_in_plane(n, x, dtype, {w.size[1], w.size[2]}, {w.stride[1], w.stride[2]}, "VALID");
  for (int d = 1; d < 3; ++d)
    dims[static_cast<size_t>(d) + 1] = fixed(op::window_output(w, d, dims[static_cast<size_t>(d) + 1].base));
  x = n.reshape(x, dtype, {dims[0], dims[1], product(dims, 2, 4), dims[4]});
  x = pooled_in_plane(n, x, dtype, {w.size[0], 1}, {w.stride[0], 1}, "VALID");
  dims[1] = fixed(op::window_output(w, 0, dims[1].base));
  return n.reshape(x, dtype, dims);
}

bool in_turn(const Spatial& spatial, DType dtype) { return spatial.axes() == 3 && dtype == DType::kF64; }

// The pool itself, of TensorFlow's op for two axes or three.
Ref pooled(NodeScribe& n, const Spatial& spatial, Ref x, DType dtype, const char* padding) {
  const op::Window& w = spatial.window;
  if (in_turn(spatial, dtype)) return pooled_in_turn(n, spatial, x, dtype);
  if (spatial.axes() == 3)
    return n.typed(std::string(n.op()) + "3D", dtype, {x},
                   {list_field("ksize", strides_field(w.size)), list_field("strides", strides_field(w.stride)),
                    text_field("padding", padding)});
  x = with_two_axes(n, x, dtype, spatial.axes(), 1);
  return with_one_axis(n, pooled_in_plane(n, x, dtype, w.size, w.stride, padding), dtype, spatial.axes());
}

std::vector<Ref> max_pool_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  Spatial spatial = spatial_of(n, n.fixed_list("window"), n.dims(), false);
  const bool same = spatial.is_same() && !in_turn(spatial, dtype);
  Ref x = n.wide_in(0);
  if (!same) x = padded(n, x, dtype, &spatial, -std::numeric_limits<double>::infinity());
  return n.narrow(pooled(n, spatial, x, dtype, same ? "SAME" : "VALID"), dtype);
}

// What a mean over pads and all is to be multiplied by, so that it counts elements alone: [1, places.., 1].
Ref share_of_elements(NodeScribe& n, const Spatial& spatial, DType dtype) {
  std::vector<double> shares = {1};
  Ints dims = {1};
  for (int d = 0; d < spatial.axes(); ++d) {
    const auto at = static_cast<size_t>(d);
    const op::Window& w = spatial.window;
    const PerRows& size = spatial.dims[at + 1];
    if (size.each != 0) throw Lacking{"averages over an axis that depends on the number of rows"};
    dims.push_back(op::window_output(w, d, size.base));
    std::vector<double> longer;
    for (const double before : shares)
      for (int64_t o = 0; o < dims.back(); ++o) {
        const int64_t begin = o * w.stride[at] - w.low[at];
        const int64_t count = std::min(begin + w.size[at], size.base) - std::max<int64_t>(begin, 0);
        longer.push_back(before * static_cast<double>(w.size[at]) / static_cast<double>(count));
      }
    shares = std::move(longer);
  }
  dims.push_back(1);
  std::string bytes;
  for (const double share : shares) {
    const auto narrow = static_cast<float>(share);
    bytes.append(dtype == DType::kF64 ? reinterpret_cast<const char*>(&share) : reinterpret_cast<const char*>(&narrow),
                 static_cast<size_t>(dtype_bytes(dtype)));
  }
  return n.nodes().constant(tensor_proto(dtype, dims, bytes));
}

std::vector<Ref> avg_pool_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  Spatial spatial = spatial_of(n, n.fixed_list("window"), n.dims(), false);
  const bool counts_pads = n.flag("count_pad");
  const Ref x = n.wide_in(0);
  if (!spatial.any_pads()) return n.narrow(pooled(n, spatial, x, dtype, "VALID"), dtype);
  if (!counts_pads && spatial.is_same() && !in_turn(spatial, dtype))
    return n.narrow(pooled(n, spatial, x, dtype, "SAME"), dtype);
  Spatial whole = spatial;
  const Ref mean = pooled(n, whole, padded(n, x, dtype, &whole, 0), dtype, "VALID");
  if (counts_pads) return n.narrow(mean, dtype);
  return n.narrow(n.typed("Mul", dtype, {mean, share_of_elements(n, spatial, dtype)}), dtype);
}

// (x - mean) * (gamma / sqrt(var + eps)) + beta, all of one type.
Ref normalized(NodeScribe& n, const std::vector<Ref>& in, DType dtype) {
  const Ref deviation = n.typed("Sqrt", dtype, {n.typed("AddV2", dtype, {in[4], n.scalar(dtype, n.real("eps"))})});
  const Ref scale = n.typed("RealDiv", dtype, {in[1], deviation});
  const Ref centred = n.typed("Sub", dtype, {in[0], in[3]});
  return n.typed("AddV2", dtype, {n.typed("Mul", dtype, {centred, scale}), in[2]});
}

std::vector<Ref> batch_norm_rule(NodeScribe& n) {
  const bool doubles = n.dtype(0) == DType::kF64 || n.dtype(1) == DType::kF64;
  const DType dtype = doubles ? DType::kF64 : DType::kF32;
  std::vector<Ref> in;
  for (int i = 0; i < 5; ++i) in.push_back(n.cast(n.in(i), n.dtype(i), dtype));
  Ref y;
  if (n.rank() == 4 && !doubles)
    y = n.write("FusedBatchNormV3", in,
                {type_field("T", dtype), type_field("U", dtype), real_field("epsilon", n.real("eps")),
                 flag_field("is_training", false)});
  else
    y = normalized(n, in, dtype);
  return epilogue(n, y, dtype, -1, 5);
}

constexpr NodeRule kNetworkRules[] = {
    {"max_pool", max_pool_rule, "MaxPool"},
    {"avg_pool", avg_pool_rule, "AvgPool"},
    {"batch_norm_apply", batch_norm_rule},
};

}  // namespace

std::span<const NodeRule> network_rules() { return kNetworkRules; }

}  // namespace tenon::tensorflow
