#include <algorithm>

#include "kernels/conv/winograd/conv_winograd.h"
#include "kernels/conv/winograd/conv_winograd_products.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kGradTiles = 32;     // of a block
constexpr int64_t kGradChannels = 64;  // of a cell, each way
constexpr int64_t kGradUnits = 12;     // enough cells or chunks for a few threads

}  // namespace

WinogradFilterGrad::WinogradFilterGrad(const ConvShape& s, bool halves)
    : halves_(halves), x_{s.x[1], s.x[2], s.c, s.low[1], s.low[2]}, dy_{s.y[1], s.y[2], s.o, 0, 0}, c_(s.c), o_(s.o) {
  grid_ = {ceil_div(dy_.h, kWinogradStep), ceil_div(dy_.w, kWinogradStep)};
  count_ = s.batch * s.x[0] * grid_.per_image();
  size_ = 9 * c_ * o_;
  c_parts_ = ceil_div(c_, kGradChannels);
  c_part_ = round_up(ceil_div(c_, c_parts_), 16);
  o_parts_ = ceil_div(o_, kGradChannels);
  o_part_ = round_up(ceil_div(o_, o_parts_), 16);
  tiles_ = std::min(kGradTiles, count_);
  chunks_ = std::clamp<int64_t>(ceil_div(kGradUnits, c_parts_ * o_parts_), 1, ceil_div(count_, tiles_));
  images_ = Planes(tiles_, c_part_);
  slopes_ = Planes(tiles_, o_part_);
  sums_ = Planes(c_part_, o_part_);
  for (int64_t c = 0; c < c_part_; ++c) {
    a_rows_.push_back(c);
    c_rows_.push_back(c * sums_.pitch);
  }
}

void WinogradFilterGrad::run(const Call& call, const ConvData& data) const {
  const int64_t cells = c_parts_ * o_parts_;
  float* const partial = chunks_ > 1 ? static_cast<float*>(call.scratch) : data.to;
  const Slice mine = call.share(chunks_ * cells);
  for (int64_t u = mine.begin; u < mine.end; ++u) {
    const int64_t chunk = u / cells, c = u % cells / o_parts_ * c_part_, o = u % o_parts_ * o_part_;
    cell({count_ * chunk / chunks_, count_ * (chunk + 1) / chunks_}, {c, std::min(c + c_part_, c_)},
         {o, std::min(o + o_part_, o_)}, data.from, data.weights, static_cast<float*>(call.thread_scratch),
         partial + chunk * size_);
  }
  if (chunks_ == 1) return;
  call.barrier();
  add_chunks(call, partial, chunks_, size_, data.to);
}

template <class T>
void WinogradFilterGrad::transform(const T* x, const T* dy, Slice block, Slice c, Slice o, float* images,
                                   float* slopes) const {
  transform_images(x, x_, grid_, block, c.begin, c.end - c.begin, images_, images);
  transform_slopes(dy, dy_, grid_, block, o.begin, o.end - o.begin, slopes_, slopes);
}

void WinogradFilterGrad::cell(Slice tiles, Slice c, Slice o, const void* x, const void* dy, float* room,
                              float* dw) const {
  float *const images = room, *const slopes = images + images_.floats(), *const sums = slopes + slopes_.floats();
  const int64_t run = 0, n = o.end - o.begin;
  PlaneProduct plane;
  plane.a_row = 1;
  plane.a_step = images_.pitch;
  plane.w_step = slopes_.pitch;
  plane.c_row = sums_.pitch;
  plane.rows = c.end - c.begin;
  plane.columns = round_up(n, 16);
  Panel panel;
  panel.runs = &run;
  panel.a_rows = a_rows_.data();
  panel.c_rows = c_rows_.data();
  panel.a_step = images_.pitch;
  panel.w_step = slopes_.pitch;
  for (int64_t t = tiles.begin; t < tiles.end; t += tiles_) {
    const Slice block{t, std::min(t + tiles_, tiles.end)};
    if (halves_)
      transform(static_cast<const Bfloat*>(x), static_cast<const Bfloat*>(dy), block, c, o, images, slopes);
    else
      transform(static_cast<const float*>(x), static_cast<const float*>(dy), block, c, o, images, slopes);
    panel.accumulate = t > tiles.begin;
    panel.run_length = block.end - block.begin;
    plane.depth = block.end - block.begin;
    plane.accumulate = panel.accumulate;
    if (has_plane_kernel(plane)) {
      for (int64_t f = 0; f < kWinogradPlanes; ++f) {
        plane.a = images + f * images_.plane;
        plane.w = slopes + f * slopes_.plane;
        plane.c = sums + f * sums_.plane;
        multiply_plane(plane);
      }
      continue;
    }
    for (int64_t f = 0; f < kWinogradPlanes; ++f) {
      panel.a = images + f * images_.plane;
      for (int64_t j = 0; j < n; j += panel.columns) {
        panel.columns = static_cast<int>(panel_columns(n - j));
        panel.w = slopes + f * slopes_.plane + j;
        panel.c = sums + f * sums_.plane + j;
        run_panel(panel, c.end - c.begin);
      }
    }
  }
  restore_filters(sums, sums_, c.end - c.begin, n, c_ * o_, o_, dw + c.begin * o_ + o.begin);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
