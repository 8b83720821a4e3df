#include "kernels/conv/winograd/conv_winograd.h"

#include <algorithm>

#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/conv/winograd/conv_winograd_products.h"
#include "kernels/dtype.h"
#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kSharedFloats = 1024 * 1024;  // of transformed filters: 4 MB, which are transformed once
constexpr int64_t kSharedTiles = 48;            // of a block, then
constexpr int64_t kOwnTiles = 96;               // of a block that transforms filters for itself
constexpr int64_t kWholeChunk = 128;            // channels of the source that are summed at once, where these are all
constexpr int64_t kChunk = 64;                  // or of more
constexpr int64_t kPart = 64;                   // channels of the result
constexpr int64_t kWinogradUnits = 8;           // enough pieces of work for a few threads
constexpr int64_t kFewTiles = 24;               // blocks of less are slow
static_assert(kWholeChunk <= kTileChannels && kPart <= kTileChannels);
static_assert(kOwnTiles % 6 == 0 && kSharedTiles <= kOwnTiles);
constexpr int64_t kPooledTiles = 6;  // whose points are in memory at once

bool is_3x3(const ConvShape& s) {
  bool plain = s.groups == 1 && s.k[0] == 1 && s.k[1] == 3 && s.k[2] == 3 && s.low[0] == 0 && s.x[0] == s.y[0];
  for (int d = 0; d < 3; ++d) plain = plain && s.stride[d] == 1 && s.dilation[d] == 1;
  return plain;
}

// Measured (share/doc/adr/0008-winograd.md): with 8 channels beside 16 it gains a fifth, with 64 and 64 it takes less
// than half the time; with fewer than 8 tiles, or a third of their points, nothing.
bool gains(const ConvShape& s, const int64_t* result) {
  const int64_t tiles = ceil_div(result[1], kWinogradStep) * ceil_div(result[2], kWinogradStep);
  return is_3x3(s) && std::min(s.c, s.o) >= 8 && std::max(s.c, s.o) >= 16 && s.batch * s.x[0] * tiles >= 8 &&
         3 * result[1] * result[2] >= 16 * tiles;
}

}  // namespace

bool winograd_gains(const ConvProblem& p) { return gains(p.shape, p.gradient() ? p.shape.x : p.shape.y); }

Winograd::Winograd(const ConvShape& s, bool gradient, Form form)
    : gradient_(gradient),
      pooled_(form == Form::kPooled),
      halves_(form == Form::kHalves),
      act_(s.act),
      alpha_(static_cast<float>(s.alpha)) {
  const TiledImages x{s.x[1], s.x[2], s.c, 0, 0}, y{s.y[1], s.y[2], s.o, 0, 0};
  from_ = gradient ? y : x;
  to_ = gradient ? x : y;
  from_.low_h = gradient ? 2 - s.low[1] : s.low[1];
  from_.low_w = gradient ? 2 - s.low[2] : s.low[2];
  grid_ = {ceil_div(to_.h, kWinogradStep), ceil_div(to_.w, kWinogradStep)};
  count_ = s.batch * s.x[0] * grid_.per_image();
  chunks_ = from_.c <= kWholeChunk ? 1 : ceil_div(from_.c, kChunk);
  chunk_ = round_up(ceil_div(from_.c, chunks_), 16);
  parts_ = ceil_div(to_.c, kPart);
  part_ = round_up(ceil_div(to_.c, parts_), 16);
  filters_ = Planes(chunk_, part_);
  shared_ = count_ > kOwnTiles && parts_ * chunks_ * filters_.floats() <= kSharedFloats;
  blocks_ = ceil_div(count_, shared_ ? kSharedTiles : kOwnTiles);
  blocks_ = std::max(blocks_, std::min(ceil_div(kWinogradUnits, parts_), ceil_div(count_, kFewTiles)));
  tiles_ = round_up(ceil_div(count_, blocks_), 6);  // rows of a register tile
  blocks_ = ceil_div(count_, tiles_);
  images_ = Planes(tiles_, chunk_);
  sums_ = Planes(tiles_, part_);
  if (halves_) wide_weights_ = round_up(9 * s.c * s.o, 16);
  mirrored_ = gradient ? 9 * chunk_ * part_ : 0;
  if (pooled_) points_ = kPooledTiles * (gradient ? 36 * from_.c : 16 * to_.c);
  for (int64_t t = 0; t < tiles_; ++t) {
    a_rows_.push_back(t * images_.pitch);
    c_rows_.push_back(t * sums_.pitch);
  }
}

Slice Winograd::channels(int64_t chunk) const { return {chunk * chunk_, std::min((chunk + 1) * chunk_, from_.c)}; }
Slice Winograd::results(int64_t part) const { return {part * part_, std::min((part + 1) * part_, to_.c)}; }

void Winograd::run(const Call& call, const ConvData& d) const {
  Room room;
  room.images = static_cast<float*>(call.thread_scratch);
  room.sums = room.images + images_.floats();
  room.mirrored = room.sums + sums_.floats();
  room.points = room.mirrored + mirrored_;
  room.filters = room.points + points_;
  ConvData data = d;
  if (halves_) data.weights = widen_weights(call, d.weights);
  if (shared_) share_filters(call, data.weights, room);
  const Slice mine = call.share(blocks_ * parts_);
  for (int64_t u = mine.begin; u < mine.end; ++u)
    shared_ ? unit(call, data, u / parts_, u % parts_, &room) : unit(call, data, u % blocks_, u / blocks_, &room);
}

const float* Winograd::widen_weights(const Call& call, const float* weights) const {
  float* const to = static_cast<float*>(call.scratch);
  const Slice mine = call.share(9 * from_.c * to_.c, kGrain);
  if (mine.begin < mine.end)
    widen(TENON_BF16, reinterpret_cast<const Bfloat*>(weights) + mine.begin, to + mine.begin, mine.end - mine.begin);
  call.barrier();
  return to;
}

// Transforms all filters into the scratch memory: a chunk of a part after another.
void Winograd::share_filters(const Call& call, const float* weights, const Room& room) const {
  constexpr int64_t kRows = 16;
  const int64_t pieces = ceil_div(chunk_, kRows);
  const Slice mine = call.share(parts_ * chunks_ * pieces);
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const int64_t at = i / pieces, row = i % pieces * kRows;
    const Slice all = channels(at % chunks_);
    const Slice some{std::min(all.begin + row, all.end), std::min(all.begin + row + kRows, all.end)};
    float* const to = filters_of(call) + at * filters_.floats() + row * filters_.pitch;
    transform(weights, some, results(at / chunks_), room.mirrored, to);
  }
  call.barrier();
}

// Filters between some channels of the source and of the result.
void Winograd::transform(const float* weights, Slice from, Slice to, float* mirrored, float* out) const {
  const int64_t rows = from.end - from.begin, n = to.end - to.begin, tap = from_.c * to_.c;
  if (rows <= 0) return;
  if (!gradient_) {
    transform_filters(weights + from.begin * to_.c + to.begin, tap, to_.c, rows, n, filters_, out);
    return;
  }
  const int64_t own = chunk_ * part_;
  for (int64_t t = 0; t < 9; ++t)
    transpose(weights + t * tap + to.begin * from_.c + from.begin, n, rows, from_.c, mirrored + (8 - t) * own, part_);
  transform_filters(mirrored, own, part_, rows, n, filters_, out);
}

void Winograd::load_tiles(const ConvData& d, Slice tiles, Slice channels, const Room& room) const {
  const int64_t n = channels.end - channels.begin;
  if (pooled_ && gradient_) return unpool(d, tiles, channels, room);
  if (halves_)
    return transform_images(reinterpret_cast<const Bfloat*>(d.from), from_, grid_, tiles, channels.begin, n, images_,
                            room.images);
  transform_images(d.from, from_, grid_, tiles, channels.begin, n, images_, room.images);
}

void Winograd::store_tiles(const ConvData& d, Slice tiles, Slice channels, const TileEpilogue& e,
                           const Room& room) const {
  const int64_t n = channels.end - channels.begin;
  if (pooled_ && !gradient_) return pool(d, tiles, channels, e, room);
  if (halves_)
    return restore_images(room.sums, sums_, tiles, grid_, to_, n, e, reinterpret_cast<Bfloat*>(d.to) + channels.begin);
  restore_images(room.sums, sums_, tiles, grid_, to_, n, e, d.to + channels.begin);
}

void Winograd::unit(const Call& call, const ConvData& d, int64_t block, int64_t part, Room* room) const {
  const Slice tiles{block * tiles_, std::min((block + 1) * tiles_, count_)}, to = results(part);
  for (int64_t i = 0; i < chunks_; ++i) {
    const Slice from = channels(i);
    if (chunks_ > 1 || room->block != block) load_tiles(d, tiles, from, *room);
    const float* filters = filters_of(call) + (part * chunks_ + i) * filters_.floats();
    if (!shared_) {
      if (chunks_ > 1 || room->part != part) transform(d.weights, from, to, room->mirrored, room->filters);
      filters = room->filters;
    }
    multiply(*room, filters, from, to, tiles.end - tiles.begin);
  }
  room->block = block;
  room->part = part;
  TileEpilogue e;
  e.bias = d.bias ? d.bias + to.begin : nullptr;
  e.norm = d.norm.at(to.begin);
  e.residual = d.residual ? d.residual + to.begin : nullptr;
  e.act = act_;
  e.alpha = alpha_;
  store_tiles(d, tiles, to, e, *room);
  if (d.visitor) hand_over(d, block, tiles, to);
}

// The points of some tiles: rows of neighbours, joined where they are whole rows of an image.
void Winograd::hand_over(const ConvData& d, int64_t block, Slice tiles, Slice channels) const {
  PointRun all[kOwnTiles * kWinogradStep];
  int64_t n = 0;
  for (int64_t t = tiles.begin, some; t < tiles.end; t += some) {
    some = std::min(grid_.columns - t % grid_.columns, tiles.end - t);
    const Point p = place(t);
    const int64_t width = std::min(p[2] + some * kWinogradStep, to_.w) - p[2];
    for (int64_t y = p[1]; y < std::min(p[1] + kWinogradStep, to_.h); ++y) {
      const int64_t first = (p[0] * to_.h + y) * to_.w + p[2];
      if (n > 0 && all[n - 1].first + all[n - 1].length == first)
        all[n - 1].length += width;
      else
        all[n++] = {first, width};
    }
  }
  d.visitor->visit(d.visitor->context, block, all, n, channels);
}

// The image of a tile and its first result.
Point Winograd::place(int64_t tile) const {
  const int64_t at = tile % grid_.per_image();
  return {{tile / grid_.per_image(), at / grid_.columns * kWinogradStep, at % grid_.columns * kWinogradStep}};
}

// Transforms tiles of the map that is pooled in memory: each is an image of its own.
void Winograd::unpool(const ConvData& d, Slice tiles, Slice channels, const Room& room) const {
  const Point size{{1, from_.h, from_.w}}, extent{{1, 6, 6}};
  for (int64_t t = tiles.begin; t < tiles.end; t += kPooledTiles) {
    const int64_t some = std::min(kPooledTiles, tiles.end - t);
    for (int64_t i = 0; i < some; ++i) {
      const Point p = place(t + i), first{{0, p[1] - from_.low_h, p[2] - from_.low_w}};
      const int64_t at = p[0] * pooled_size(size).product() * from_.c;
      unpool_halo(d.from + at, d.winner + at, size, from_.c, first, extent, from_.c, room.points + i * 36 * from_.c);
    }
    transform_images(room.points, {6, 6, from_.c, 0, 0}, {1, 1}, {0, some}, channels.begin,
                     channels.end - channels.begin, images_, room.images + (t - tiles.begin) * images_.pitch);
  }
}

// Restores tiles, each as an image of its own, and pools them.
void Winograd::pool(const ConvData& d, Slice tiles, Slice channels, const TileEpilogue& e, const Room& room) const {
  const int64_t c = to_.c, step = kWinogradStep;
  for (int64_t t = tiles.begin; t < tiles.end; t += kPooledTiles) {
    const int64_t some = std::min(kPooledTiles, tiles.end - t);
    restore_images(room.sums + (t - tiles.begin) * sums_.pitch, sums_, {0, some}, {1, 1}, {step, step, c, 0, 0},
                   channels.end - channels.begin, e, room.points + channels.begin);
    for (int64_t i = 0; i < some; ++i) {
      const Point p = place(t + i);
      for (int64_t y = 0; y < std::min(step, to_.h - p[1]); y += 2) {
        const int64_t at = ((p[0] * (to_.h / 2) + (p[1] + y) / 2) * (to_.w / 2) + p[2] / 2) * c;
        pool_rows(room.points + (i * step + y) * step * c, std::min(step, to_.w - p[2]), step, c, channels.begin,
                  channels.end, d.to + at, d.to_winner + at);
      }
    }
  }
}

void Winograd::multiply(const Room& room, const float* filters, Slice from, Slice to, int64_t tiles) const {
  const int64_t run = 0, n = to.end - to.begin;
  PlaneProduct plane;
  plane.a_row = images_.pitch;
  plane.a_step = 1;
  plane.w_step = filters_.pitch;
  plane.c_row = sums_.pitch;
  plane.rows = tiles;
  plane.columns = round_up(n, 16);  // there is room
  plane.depth = from.end - from.begin;
  plane.accumulate = from.begin > 0;
  if (has_plane_kernel(plane)) {
    for (int64_t f = 0; f < kWinogradPlanes; ++f) {
      plane.a = room.images + f * images_.plane;
      plane.w = filters + f * filters_.plane;
      plane.c = room.sums + f * sums_.plane;
      multiply_plane(plane);
    }
    return;
  }
  Panel panel;
  panel.runs = &run;
  panel.run_length = from.end - from.begin;
  panel.a_rows = a_rows_.data();
  panel.c_rows = c_rows_.data();
  panel.w_step = filters_.pitch;
  panel.accumulate = from.begin > 0;
  for (int64_t f = 0; f < kWinogradPlanes; ++f) {
    panel.a = room.images + f * images_.plane;
    for (int64_t j = 0; j < n; j += panel.columns) {
      panel.columns = static_cast<int>(panel_columns(n - j));
      panel.w = filters + f * filters_.plane + j;
      panel.c = room.sums + f * sums_.plane + j;
      run_panel(panel, tiles);
    }
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
