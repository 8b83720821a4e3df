#include "time/matrix_time.h"

#include <algorithm>

#include "tenon/op/names.h"
#include "tenon/plugin/cost.h"

namespace tpu {
namespace {

namespace op = tenon::op;
using tenon::plugin::NodeView;
using tenon::plugin::ValueView;

constexpr int64_t kSide = 128;

double tiles(int64_t n) { return static_cast<double>((n + kSide - 1) / kSide); }
double rows(int64_t n) { return static_cast<double>(std::max<int64_t>((n + 7) / 8 * 8, kSide)); }

double passes(const NodeView& node) {
  const int32_t asked = node.enumerator("precision");
  if (node.in(0).dtype() != TENON_F32 || asked <= TENON_PRECISION_DEFAULT) return 1;
  return asked == TENON_PRECISION_HIGH ? 3 : 6;
}

double dot_cycles(const NodeView& node) {
  const ValueView a = node.in(op::dot::a), y = node.out(op::dot::out::y);
  const int64_t m = y.dim(-2), n = y.dim(-1), k = node.flag("ta") ? a.dim(-2) : a.dim(-1);
  return product_cycles(m, k, n) * static_cast<double>(y.elements() / (m * n));
}

// `filter` [K.., C/G, O]; `pixels`: positions of the smaller image, over the batch. Forward and the input's gradient
// contract channels, packed with the taps where they are fewer than a tile; the filter's gradient contracts pixels.
double convolution_cycles(const NodeView& node, const ValueView& filter, int64_t pixels, bool to_input,
                          bool to_filter) {
  const int64_t in = filter.dim(-2), out_all = filter.dim(-1);
  const int64_t groups = std::max<int64_t>(node.i64("groups", 1), 1);
  const int64_t taps = filter.elements() / (in * out_all);
  // Groups lie in blocks of a tile on the diagonal.
  const int64_t per_block = std::clamp<int64_t>(kSide / std::max<int64_t>(in, 1), 1, groups);
  const double blocks = static_cast<double>((groups + per_block - 1) / per_block);
  const int64_t c = in * per_block, o = out_all / groups * per_block;
  const auto packed = [&](int64_t contracted, int64_t kept) {
    if (contracted < kSide) return product_cycles(pixels, taps * contracted, kept);
    return static_cast<double>(taps) * product_cycles(pixels, contracted, kept);
  };
  if (to_filter) {
    const double each = static_cast<double>(taps) * product_cycles(c, pixels, o);
    return blocks * (c < kSide ? std::min(each, product_cycles(taps * c, pixels, o)) : each);
  }
  return blocks * (to_input ? packed(o, c) : packed(c, o));
}

// A product and a sum for each tap and each element of the smaller image, where a channel has a group to itself.
double depthwise_ops(const NodeView& node, const ValueView& filter, int64_t pixels) {
  if (filter.dim(-2) != 1 || node.i64("groups", 1) <= 1) return 0;
  const int64_t channels = filter.dim(-1), taps = filter.elements() / channels;
  return 2.0 * static_cast<double>(taps * pixels * ((channels + 7) / 8 * 8));
}

int64_t pixels_of(const ValueView& image) { return image.elements() / image.dim(-1); }

}  // namespace

double product_cycles(int64_t m, int64_t k, int64_t n) {
  const double by_b = tiles(k) * tiles(n) * rows(m);
  const double by_a = tiles(k) * tiles(m) * rows(n);
  const double by_y = tiles(m) * tiles(n) * rows(k);
  return std::min({by_b, by_a, by_y});
}

MatrixWork matrix_work(const NodeView& node) {
  MatrixWork work;
  work.flops = tenon::plugin::cost_of(node).flops;
  const std::string_view name = node.op();
  if (name == "dot" || name == "dot_bias_act") {
    work.cycles = dot_cycles(node);
  } else if (name == "conv" || name == "conv_bias_act") {
    const ValueView w = node.in(op::conv::w), y = node.out(op::conv::out::y);
    work.cycles = convolution_cycles(node, w, pixels_of(y), false, false);
    work.vector_ops = depthwise_ops(node, w, pixels_of(y));
  } else if (name == "conv_grad_input") {
    const ValueView w = node.in(op::conv_grad_input::w), dy = node.in(op::conv_grad_input::dy);
    work.cycles = convolution_cycles(node, w, pixels_of(dy), true, false);
    work.vector_ops = depthwise_ops(node, w, pixels_of(dy));
  } else if (name == "conv_grad_filter") {
    const ValueView dw = node.out(op::conv_grad_filter::out::dw), dy = node.in(op::conv_grad_filter::dy);
    work.cycles = convolution_cycles(node, dw, pixels_of(dy), false, true);
    work.vector_ops = depthwise_ops(node, dw, pixels_of(dy));
  } else {  // composites that are mostly products
    work.cycles = static_cast<double>(work.flops) / (2.0 * kSide * kSide);
  }
  work.cycles *= passes(node);
  work.padded_flops = static_cast<uint64_t>(work.cycles * 2.0 * kSide * kSide);
  return work;
}

}  // namespace tpu
