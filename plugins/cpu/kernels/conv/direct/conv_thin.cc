#include "kernels/conv/direct/conv_thin.h"

#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using Vector = Lanes::Vector;
using Ints = Lanes::Ints;
constexpr int kThinLanes = Lanes::kLanes;
constexpr int64_t kThinFloats = 16 * 1024;  // of x with halo: 64 KB

// A row of windows, for the filters of one vector.
struct WindowRow {
  const float* x;     // the first tap of the first window's first place
  const float* w;     // [3][run][o]
  const float* bias;  // or nullptr
  float* pooled;      // [count][o]
  uint8_t* winner;
  int64_t count, o;
  int64_t right, down;  // from a place to the next ones
  int64_t pitch;        // from a kernel row's taps to the next's
  bool relu;
};

template <int kRun>
__attribute__((noinline)) void pool_row(const WindowRow& row) {
  Vector w[3 * kRun];
#pragma GCC unroll 27
  for (int k = 0; k < 3 * kRun; ++k) w[k] = Lanes::load(row.w + k * row.o);
  const Vector bias = row.bias ? Lanes::load(row.bias) : Vector{};
  const Vector floor = Lanes::splat(row.relu ? 0 : -__builtin_inff());
  const float* x = row.x;
  for (int64_t i = 0; i < row.count; ++i, x += 2 * row.right) {
    const float* const at[4] = {x, x + row.right, x + row.down, x + row.down + row.right};
    Vector sum[4] = {bias, bias, bias, bias};
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r)
#pragma GCC unroll 9
      for (int v = 0; v < kRun; ++v)
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) sum[p] += Lanes::splat(at[p][r * row.pitch + v]) * w[r * kRun + v];
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) sum[p] = vmax(floor, sum[p]);
    Ints who;
    const Vector top = largest<Lanes>(sum, who);
    Lanes::store(row.pooled + i * row.o, top);
    Lanes::store_u8(row.winner + i * row.o, who);
  }
}

}  // namespace

bool ThinPooled::suits(const ConvShape& s) {
  const bool flat = s.x[0] == 1 && s.y[0] == 1 && s.k[0] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1;
  const bool thin = s.k[1] == 3 && s.k[2] == 3 && (s.c == 1 || s.c == 3) && s.groups == 1;
  return kThinLanes == 16 && flat && thin && s.o % kThinLanes == 0 && s.act <= TENON_ACT_RELU && s.flops() >= 1e6;
}

ThinPooled::ThinPooled(const ConvShape& shape) : s_(shape) {
  width_ = (s_.y[2] - 1) * s_.stride[2] + s_.k[2];
  const auto height = [&](int64_t rows) { return (2 * rows - 1) * s_.stride[1] + s_.k[1]; };
  const int64_t all = s_.y[1] / 2;
  while (rows_ < all && height(rows_ + 1) * width_ * s_.c <= kThinFloats) ++rows_;
  while (rows_ > 1 && s_.batch * ceil_div(all, rows_) < 8) rows_ = ceil_div(rows_, 2);
  blocks_ = ceil_div(all, rows_);
  height_ = height(rows_);
  source_ = round_up(height_ * width_ * s_.c, 16);
}

void ThinPooled::run(const Call& call, const ConvData& d) const {
  float* const source = static_cast<float*>(call.thread_scratch);
  const Point size{{1, s_.x[1], s_.x[2]}}, extent{{1, height_, width_}};
  const int64_t all = s_.y[1] / 2, across = s_.y[2] / 2;
  WindowRow row;
  row.count = across;
  row.o = s_.o;
  row.right = s_.stride[2] * s_.c;
  row.down = s_.stride[1] * width_ * s_.c;
  row.pitch = width_ * s_.c;
  row.relu = s_.act == TENON_ACT_RELU;
  const Slice part = call.share(s_.batch * blocks_);
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t image = u / blocks_, first = u % blocks_ * rows_, rows = std::min(rows_, all - first);
    copy_halo(d.from + image * s_.x_points() * s_.c, size, s_.c,
              Point{{0, 2 * first * s_.stride[1] - s_.low[1], -s_.low[2]}}, extent, s_.c, source);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t o = 0; o < s_.o; o += kThinLanes) {
        const int64_t to = ((image * all + first + i) * across) * s_.o + o;
        row.x = source + i * 2 * row.down;
        row.w = d.weights + o;
        row.bias = d.bias ? d.bias + o : nullptr;
        row.pooled = d.to + to;
        row.winner = d.to_winner + to;
        s_.c == 1 ? pool_row<3>(row) : pool_row<9>(row);
      }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
