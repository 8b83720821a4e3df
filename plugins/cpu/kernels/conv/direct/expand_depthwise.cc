// cpu.expand_depthwise: x [N, H, W, C], w [kh, kw, 1, O], [bias O], [residual], [gamma, beta, mean, var O] of the depthwise
// convolution, then w [1, 1, C, O], [bias O], [gamma, beta, mean, var O] of the product in front of it -> y [N, H', W', O].
// The sums of both are in the order of the two nodes apart, and so are the bits.
#include "kernels/conv/direct/expand_depthwise.h"

#include <algorithm>

#include "kernels/conv/conv_work.h"
#include "kernels/conv/direct/depthwise_tile.h"
#include "own_nodes.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using expand_op = own::expand_depthwise;

// Measured: bands of 256 to 512 KB and blocks of 96 to 192 channels differ by less than a tenth. Narrower blocks read x more
// often and write shorter stretches.
constexpr int64_t kExpandChannels = 192;    // of the wide map at a time, at most
constexpr int64_t kFewestExpanded = 32;     // at least, but in the last block
constexpr int64_t kExpandRoom = 96 * 1024;  // elements of a band of it: 384 KB, in L2
constexpr int64_t kExpandPoints = 96;       // of a panel of the product, whose operands stay in L1
constexpr int64_t kExpandUnits = 16;        // enough pieces of work for a few threads
constexpr int64_t kExpandVector = 16;       // channels, of which blocks are multiples
constexpr int64_t kExpandRuns[1] = {0};

// What is done to the sums of the product.
struct ExpandEpilogue {
  bool bias, norm;
  float eps;
  int act;
  float alpha;
};

class ExpandDepthwise {
 public:
  explicit ExpandDepthwise(const NodeView& node) : s_(conv_problem(node).shape) {
    c_ = s_.c, s_.c = s_.o;  // of the depthwise convolution alone from here on
    s_.norm = node.has(expand_op::gamma);
    expand_ = {node.has(expand_op::expand_bias), node.has(expand_op::expand_gamma),
               static_cast<float>(node.f64("expand_eps", 1e-3)), node.enumerator("expand_act"),
               static_cast<float>(node.f64("expand_alpha"))};
    choose_blocks();
    choose_bands();
    for (int64_t i = 0; i < kExpandPoints; ++i) {
      x_points_.push_back(i * c_);
      band_points_.push_back(i * channels_);
    }
  }

  const char* algorithm() const { return "depthwise on bands of a product"; }
  uint32_t threads() const {
    const double flops = s_.flops() + 2.0 * static_cast<double>(s_.batch * s_.x_points() * c_ * s_.o);
    return flops < 1e5 ? 1 : plugin::kAllThreads;
  }
  uint64_t scratch_bytes() const { return 0; }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(weights_room() + band_room() + 2 * s_.o) * sizeof(float);
  }

  // Units are (image, block of channels, band of rows).
  void run(const Call& call) const {
    const Slice units = call.share(s_.batch * blocks_ * bands_);
    if (units.begin == units.end) return;
    const Operands d = operands_of(call);
    for (int64_t u = units.begin; u < units.end; ++u) {
      const int64_t band = u % bands_, block = u / bands_ % blocks_, image = u / bands_ / blocks_;
      const Slice channels = channels_of(block);
      const bool first = u == units.begin || band == 0;
      if (first) pack_panels(d.expand_w + channels.begin, c_, channels.end - channels.begin, s_.o, c_, d.packed);
      const Slice rows = source_rows(band);
      const int64_t kept = first ? 0 : keep_rows(source_rows(band - 1), rows, d.band);
      expand(d, image, {rows.begin + kept, rows.end}, d.band + kept * row_size(), channels);
      convolve(d, image, band, rows, channels);
    }
  }

 private:
  struct Operands {
    const float *x, *w, *bias, *residual, *expand_w, *expand_bias;
    ColumnNorm norm, expand_norm;
    float *y, *packed, *band;
  };

  int64_t vectors() const { return ceil_div(s_.o, kExpandVector); }

  // Rows of the wide map that a row of the result reads.
  int64_t reach() const { return (s_.k[1] - 1) * s_.dilation[1] + 1; }

  // So narrow that the room holds what two rows of the result read. One, or an even number, which two threads share without a
  // row that both expand.
  void choose_blocks() {
    const int64_t fit = kExpandRoom / ((reach() + s_.stride[1]) * s_.x[2]);
    blocks_ = ceil_div(s_.o, std::clamp(fit / kExpandVector * kExpandVector, kFewestExpanded, kExpandChannels));
    if (blocks_ > 1) blocks_ = round_up(blocks_, 2);
    channels_ = std::min(s_.o, ceil_div(vectors(), blocks_) * kExpandVector);
  }

  // Blocks of about the same size.
  Slice channels_of(int64_t block) const {
    const auto end = [&](int64_t blocks) { return std::min(vectors() * blocks / blocks_ * kExpandVector, s_.o); };
    return {end(block), end(block + 1)};
  }

  // As many rows of the result as the room has those of the wide map for, and an even number of them.
  void choose_bands() {
    const int64_t fit = kExpandRoom / row_size();
    rows_ = std::clamp<int64_t>((fit - reach()) / s_.stride[1] + 1, 1, s_.y[1]);
    while (s_.batch * blocks_ * ceil_div(s_.y[1], rows_) < kExpandUnits && rows_ > 2) rows_ = ceil_div(rows_, 2);
    rows_ = std::min(s_.y[1], round_up(rows_, 2));
    bands_ = ceil_div(s_.y[1], rows_);
    source_rows_ = std::min(s_.x[1], (rows_ - 1) * s_.stride[1] + reach());
  }

  int64_t row_size() const { return s_.x[2] * channels_; }  // of a band, in elements
  int64_t weights_room() const { return round_up(c_ * packed_columns(channels_), 16); }
  int64_t band_room() const { return round_up(source_rows_ * row_size(), 16); }

  Operands operands_of(const Call& call) const {
    Operands d;
    d.x = call.in(expand_op::x);
    d.w = call.in(expand_op::w);
    d.bias = s_.bias ? call.in(expand_op::bias) : nullptr;
    d.residual = s_.residual ? call.in(expand_op::residual) : nullptr;
    d.expand_w = call.in(expand_op::expand_w);
    d.expand_bias = expand_.bias ? call.in(expand_op::expand_bias) : nullptr;
    d.y = call.out(0);
    d.packed = static_cast<float*>(call.thread_scratch);
    d.band = d.packed + weights_room();
    float* const scales = d.band + band_room();
    if (s_.norm) d.norm = norm_of(call, expand_op::gamma, s_.o, s_.eps, scales);
    if (expand_.norm) d.expand_norm = norm_of(call, expand_op::expand_gamma, s_.o, expand_.eps, scales + s_.o);
    return d;
  }

  // Those of the wide map that a band of the result reads.
  Slice source_rows(int64_t band) const {
    const int64_t first = band * rows_, last = std::min(first + rows_, s_.y[1]) - 1;
    const int64_t begin = std::clamp<int64_t>(first * s_.stride[1] - s_.low[1], 0, s_.x[1]);
    return {begin, std::clamp<int64_t>(last * s_.stride[1] - s_.low[1] + reach(), begin, s_.x[1])};
  }

  // Rows of `rows` that are in the band already go to its begin; gives how many.
  int64_t keep_rows(Slice before, Slice rows, float* band) const {
    const int64_t kept = std::max<int64_t>(before.end - rows.begin, 0);
    const float* const from = band + (rows.begin - before.begin) * row_size();
    if (kept > 0 && from > band) std::copy(from, from + kept * row_size(), band);
    return kept;
  }

  // Rows of the wide map.
  void expand(const Operands& d, int64_t image, Slice rows, float* to, Slice channels) const {
    const float* const x = d.x + (image * s_.x[1] + rows.begin) * s_.x[2] * c_;
    const int64_t points = (rows.end - rows.begin) * s_.x[2];
    for (int64_t i = 0; i < points; i += kExpandPoints)
      expand_points(d, x + i * c_, std::min(kExpandPoints, points - i), to + i * channels_, channels);
  }

  void expand_points(const Operands& d, const float* x, int64_t points, float* to, Slice channels) const {
    Panel panel;
    panel.a = x;
    panel.a_rows = x_points_.data();
    panel.c_rows = band_points_.data();
    panel.runs = kExpandRuns;
    panel.run_length = c_;
    panel.act = expand_.act;
    panel.alpha = expand_.alpha;
    const int64_t n = channels.end - channels.begin;
    for (int64_t j = 0; j < n; j += panel.columns) {
      panel.columns = static_cast<int>(panel_columns(n - j));
      panel.w = d.packed + j * c_;
      panel.w_step = padded_columns(panel.columns);
      panel.c = to + j;
      panel.bias = d.expand_bias ? d.expand_bias + channels.begin + j : nullptr;
      panel.norm = d.expand_norm.at(channels.begin + j);
      run_panel(panel, points);
    }
  }

  // A band of the result, from `rows` of the wide map.
  void convolve(const Operands& d, int64_t image, int64_t band, Slice rows, Slice channels) const {
    const int64_t c = channels.begin, row = band * rows_;
    DepthwisePhase<float> f;
    f.from = d.band;
    f.from_rows = rows.end - rows.begin, f.from_columns = s_.x[2], f.from_row = row_size(), f.from_point = channels_;
    f.row_step = s_.stride[1], f.first_row = row * s_.stride[1] - s_.low[1] - rows.begin, f.tap_row = s_.dilation[1];
    f.column_step = s_.stride[2], f.first_column = -s_.low[2], f.tap_column = s_.dilation[2];
    f.rows = s_.k[1], f.columns = s_.k[2];
    f.w = d.w + c, f.w_row = s_.k[2] * s_.o, f.w_column = s_.o;
    const int64_t at = (image * s_.y[1] + row) * s_.y[2] * s_.o + c;
    f.to = d.y + at, f.to_row = s_.y[2] * s_.o, f.to_point = s_.o;
    f.fetches_source = false;
    f.fetches_result = true;
    f.residual = d.residual ? d.residual + at : nullptr;
    f.bias = d.bias ? d.bias + c : nullptr;
    f.norm = d.norm.at(c);
    f.act = s_.act;
    f.alpha = static_cast<float>(s_.alpha);
    run_depthwise(f, std::min(rows_, s_.y[1] - row), s_.y[2], {0, channels.end - c});
  }

  ConvShape s_;    // the depthwise convolution's
  int64_t c_ = 1;  // channels of x
  ExpandEpilogue expand_;
  int64_t channels_ = 1, blocks_ = 1;            // of the wide map: in a block, blocks
  int64_t rows_ = 1, bands_ = 1;                 // of the result: in a band, bands
  int64_t source_rows_ = 1;                      // of the wide map, that a band reads at most
  std::vector<int64_t> x_points_, band_points_;  // where they begin, for a panel
};

}  // namespace

void add_expand_depthwise(KernelTable& table) {
  table.add_own("cpu.expand_depthwise", [](const NodeView& node, const Env&) {
    auto work = std::make_shared<ExpandDepthwise>(node);
    Kernel kernel = kernel_of(work);
    kernel.run = [work](const Call& call) { work->run(call); };
    return kernel;
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
