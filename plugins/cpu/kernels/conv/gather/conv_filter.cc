#include "kernels/conv/gather/conv_filter.h"

#include "kernels/conv/direct/conv_groups.h"
#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/movement/transpose.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kSourceFloats = 48 * 1024;  // of x with halo: 192 KB, in L2
constexpr int64_t kPoints = 256;              // x 16 columns of dy: 16 KB, half of L1; x 64 stream from L2
constexpr int64_t kTileFloats = 256 * 1024;   // of x for tiles: 1 MB
constexpr int64_t kTilePoints = 512;          // for tiles, which wait for sums in memory
constexpr int64_t kPartial = 64 * 1024;       // floats of dw up to which each chunk sums its own
constexpr int64_t kFilterChunks = 12;
constexpr int64_t kCells = 8;

// As copy_halo, words of the elements of two images, of which the second may be missing.
void copy_pairs(const uint16_t* low, const uint16_t* high, const Point& size, int64_t c, const Point& first,
                const Point& extent, int64_t pitch, float* to) {
  const auto pair = [&](int64_t z, int64_t y, int64_t x, int64_t n, float* line) __attribute__((always_inline)) {
    const int64_t from = ((z * size[1] + y) * size[2] + x) * c;
    pair_points(low + from, high ? high + from : nullptr, n, c, pitch, line);
  };
  for_halo_lines(size, first, extent, pitch, to, pair);
}

}  // namespace

FilterGrad::FilterGrad(const ConvShape& shape, Form form) : s_(shape), form_(form), images_given_(shape.batch) {
  if (form_ == Form::kPairs) s_.batch = ceil_div(s_.batch, 2);
  tiles_ = form_ == Form::kPairs && has_tile_products();
  for (int d = 0; d < 3; ++d) {
    x_[d] = s_.x[d];
    y_[d] = s_.y[d];
    low_[d] = -s_.low[d];
  }
  axis_ = block_axis(y_);
  size_ = s_.taps() * s_.group_c() * s_.o;
  threads_ = s_.flops() < 1e5 ? 1 : plugin::kAllThreads;
  if (s_.groups > 1 && s_.c == s_.o && is_narrow(s_.group_c())) narrow_ = s_.group_c();
  choose_blocks();
  lay_out();
  const bool is_panel = s_.groups == 1 && s_.o <= kMostColumns && s_.o == padded_columns(s_.o);
  packs_ = form_ == Form::kPairs || (!is_panel && (a_rows_.size() > 32 || s_.o % 256 == 0));
  if (size_ <= kPartial || narrow_ > 0) {
    chunks_ = std::min(units_, kFilterChunks);
    if (threads_ == 1) chunks_ = 1;
    list_cells(1);
  } else {
    list_cells(1);
    list_cells(ceil_div(kCells, static_cast<int64_t>(cells_.size())));
  }
}

void FilterGrad::choose_blocks() {
  Point reach;
  direct_ = form_ != Form::kPairs;
  for (int d = 0; d < 3; ++d) {
    reach[d] = (s_.k[d] - 1) * s_.dilation[d] + 1;
    extent_[d] = (y_[d] - 1) * s_.stride[d] + reach[d];
    direct_ = direct_ && low_[d] == 0 && extent_[d] <= x_[d];
  }
  // Points a power of two apart would share a few sets of the cache.
  pixel_ = s_.c % 128 == 0 ? s_.c + 16 : s_.c;
  if (direct_ && pixel_ != s_.c && s_.taps() > 1) direct_ = false;
  if (direct_) pixel_ = s_.c;
  const int64_t slab = extent_.product() / extent_[axis_] * pixel_, others = y_.product() / y_[axis_];
  const auto span = [&](int64_t rows) { return (rows - 1) * s_.stride[axis_] + reach[axis_]; };
  const int64_t most = tiles_ ? kTileFloats : kSourceFloats, points = tiles_ ? kTilePoints : kPoints;
  const int64_t fit = (most / slab - reach[axis_]) / s_.stride[axis_] + 1;
  rows_ = std::clamp<int64_t>(std::min(fit, points / others), 1, y_[axis_]);
  rows_ = ceil_div(y_[axis_], ceil_div(y_[axis_], rows_));
  blocks_ = ceil_div(y_[axis_], rows_);
  extent_[axis_] = span(rows_);
  const int64_t one = extent_.product() * pixel_;
  if (blocks_ == 1) {
    images_ = std::clamp<int64_t>(std::min(most / one, points / y_.product()), 1, s_.batch);
    // Chunks need units to share.
    if (!tiles_ || size_ <= kPartial) images_ = std::min(images_, std::max<int64_t>(1, s_.batch / kFilterChunks));
  }
  units_ = blocks_ == 1 ? ceil_div(s_.batch, images_) : s_.batch * blocks_;
  pitch_size_ = direct_ ? x_ : extent_;
  source_ = direct_ ? 0 : images_ * one;
  if (tiles_) {
    pixel_ = 1;
    pitch_size_[2] = round_up(extent_[2], s_.stride[2]);
    plane_ = round_up(images_ * pitch_size_.product(), 16) + 16;  // off the powers of two
    source_ = (plane_ + extent_[2]) * s_.c;
  }
  packed_ = narrow_ > 0 ? 0 : images_ * rows_ * others * kMostColumns;
  map_ = form_ == Form::kPooled ? images_ * rows_ * others * s_.o : 0;
}

int64_t FilterGrad::place(int64_t i, int64_t j, int64_t k) const {
  const int64_t line = (i * pitch_size_[1] + j) * pitch_size_[2], stride = s_.stride[2];
  return (line + (tiles_ ? k % stride * (pitch_size_[2] / stride) + k / stride : k)) * pixel_;
}

void FilterGrad::lay_out() {
  const int64_t channels = narrow_ > 0 ? 1 : s_.group_c();
  for (int64_t i = 0; i < s_.k[0]; ++i)
    for (int64_t j = 0; j < s_.k[1]; ++j)
      for (int64_t k = 0; k < s_.k[2]; ++k)
        for (int64_t c = 0; c < channels; ++c) {
          c_rows_.push_back(static_cast<int64_t>(a_rows_.size()) * s_.o);
          a_rows_.push_back(place(i * s_.dilation[0], j * s_.dilation[1], k * s_.dilation[2]) +
                            c * (tiles_ ? plane_ : 1));
        }
  Point in_block = y_;
  in_block[axis_] = rows_;
  for (int64_t n = 0; n < images_; ++n)
    for (int64_t i = 0; i < in_block[0]; ++i)
      for (int64_t j = 0; j < in_block[1]; ++j)
        runs_.push_back(n * pitch_size_.product() * pixel_ + place(i * s_.stride[0], j * s_.stride[1], 0));
}

void FilterGrad::list_cells(int64_t splits) {
  cells_.clear();
  const int64_t rows = static_cast<int64_t>(a_rows_.size()),
                part = round_up(ceil_div(rows, splits), tiles_ ? 2 * kTileSide : 6);
  for (int64_t g = 0; g < s_.groups; ++g)
    for (int64_t j = 0, columns; j < s_.group_o(); j += columns) {
      columns = panel_columns(s_.group_o() - j);
      for (int64_t r = 0; r < rows; r += part) cells_.push_back({g, j, columns, r, std::min(part, rows - r)});
    }
}

void FilterGrad::run(const Call& call, const ConvData& d) const {
  Data data{d.from, d.weights, d.winner, static_cast<float*>(call.thread_scratch), d.to};
  const int64_t cells = static_cast<int64_t>(cells_.size());
  if (chunks_ == 1) return chunk(0, units_, call.share(narrow_ > 0 ? 1 : cells), data);
  const Slice part = call.share(chunks_);
  for (int64_t i = part.begin; i < part.end; ++i) {
    data.dw = static_cast<float*>(call.scratch) + i * size_;
    chunk(units_ * i / chunks_, units_ * (i + 1) / chunks_, {0, cells}, data);
  }
  call.barrier();
  add_chunks(call, static_cast<const float*>(call.scratch), chunks_, size_, d.to);
}

void FilterGrad::chunk(int64_t first_unit, int64_t last_unit, Slice cells, const Data& data) const {
  if (cells.begin == cells.end) return;
  const int64_t x_image = x_.product() * s_.c, others = y_.product() / y_[axis_];
  for (int64_t u = first_unit; u < last_unit; ++u) {
    Stretch s;
    s.image = blocks_ == 1 ? u * images_ : u / blocks_;
    s.row = blocks_ == 1 ? 0 : u % blocks_ * rows_;
    s.images = std::min(images_, s_.batch - s.image);
    s.rows = std::min(rows_, y_[axis_] - s.row);
    Point first = low_;
    first[axis_] += s.row * s_.stride[axis_];
    const float* const x = static_cast<const float*>(data.x);
    s.x = direct_ ? x + s.image * x_image + ((first[0] * x_[1] + first[1]) * x_[2] + first[2]) * s_.c : data.room;
    if (!direct_) tiles_ ? turn_source(data, s, first) : fill_source(data, s, first);
    s.dy = form_ == Form::kPlain ? static_cast<const float*>(data.dy) + (s.image * y_.product() + s.row * others) * s_.o
           : form_ == Form::kPooled ? unpool(data, s)
                                    : nullptr;
    s.length = axis_ == 2 ? s.rows : y_[2];
    s.runs = s.images * s.rows * others / s.length;
    s.first = u == first_unit;
    narrow_ > 0 ? narrow(s, data.dw) : dense(data, s, cells);
  }
}

// The copies of x that the rows of s read, from `first` on.
void FilterGrad::fill_source(const Data& data, const Stretch& s, const Point& first) const {
  const int64_t image = x_.product() * s_.c, copy = extent_.product() * pixel_;
  for (int64_t n = 0; n < s.images; ++n) {
    float* const to = data.room + n * copy;
    if (form_ != Form::kPairs) {
      copy_halo(static_cast<const float*>(data.x) + (s.image + n) * image, x_, s_.c, first, extent_, pixel_, to);
      continue;
    }
    const int64_t i = 2 * (s.image + n);
    const uint16_t* const low = static_cast<const uint16_t*>(data.x) + i * image;
    copy_pairs(low, i + 1 < images_given_ ? low + image : nullptr, x_, s_.c, first, extent_, pixel_, to);
  }
}

// The same for tiles.
void FilterGrad::turn_source(const Data& data, const Stretch& s, const Point& first) const {
  const int64_t image = x_.product() * s_.c, stride = s_.stride[2];
  const int64_t left = std::clamp<int64_t>(-first[2], 0, extent_[2]);
  const int64_t end = std::clamp<int64_t>(x_[2] - first[2], left, extent_[2]);
  float* const words = data.room + plane_ * s_.c;
  std::fill_n(data.room, plane_ * s_.c, 0.0f);
  for (int64_t n = 0; n < s.images; ++n) {
    const int64_t i = 2 * (s.image + n);
    const uint16_t* const low = static_cast<const uint16_t*>(data.x) + i * image;
    for (int64_t z = std::max<int64_t>(0, -first[0]); z < std::min(extent_[0], x_[0] - first[0]); ++z)
      for (int64_t y = std::max<int64_t>(0, -first[1]); y < std::min(extent_[1], x_[1] - first[1]); ++y) {
        const int64_t from = (((first[0] + z) * x_[1] + first[1] + y) * x_[2] + first[2] + left) * s_.c;
        pair_points(low + from, i + 1 < images_given_ ? low + image + from : nullptr, end - left, s_.c, s_.c, words);
        float* const line = data.room + n * pitch_size_.product();
        for (int64_t k = left; k < std::min(left + stride, end); ++k)
          transpose(words + (k - left) * s_.c, ceil_div(end - k, stride), s_.c, stride * s_.c, line + place(z, y, k),
                    plane_);
      }
  }
}

const float* FilterGrad::unpool(const Data& data, const Stretch& s) const {
  float* const map = data.room + round_up(source_, 16) + packed_;
  Point first{{0, 0, 0}}, extent = y_;
  first[axis_] = s.row;
  extent[axis_] = s.rows;
  const int64_t pooled = pooled_size(y_).product() * s_.o;
  for (int64_t n = 0; n < s.images; ++n) {
    const int64_t at = (s.image + n) * pooled;
    unpool_halo(static_cast<const float*>(data.dy) + at, data.winner + at, y_, s_.o, first, extent, s_.o,
                map + n * extent.product() * s_.o);
  }
  return map;
}

// The columns of dy that a cell reads.
void FilterGrad::pack(const Data& data, const Stretch& s, const Cell& cell, float* packed) const {
  const int64_t column = cell.group * s_.group_o() + cell.column;
  if (form_ != Form::kPairs) return pack_panels(s.dy + column, s.runs * s.length, cell.columns, s_.o, 0, packed);
  const int64_t image = y_.product() * s_.o, others = y_.product() / y_[axis_], points = s.rows * others;
  for (int64_t n = 0; n < s.images; ++n) {
    const int64_t i = 2 * (s.image + n);
    const uint16_t* const low = static_cast<const uint16_t*>(data.dy) + i * image + s.row * others * s_.o + column;
    pair_panels(low, i + 1 < images_given_ ? low + image : nullptr, points, cell.columns, s_.o, 0,
                packed + n * points * padded_columns(cell.columns));
  }
}

void FilterGrad::dense(const Data& data, const Stretch& s, Slice cells) const {
  float* const packed = data.room + round_up(source_, 16);
  Panel panel;
  panel.pairs = form_ == Form::kPairs;
  panel.runs = runs_.data();
  panel.n_runs = s.runs;
  panel.run_length = s.length;
  panel.a_step = tiles_ ? 1 : s_.stride[2] * pixel_;
  panel.tiles = tiles_;
  panel.accumulate = !s.first;
  panel.w_padded = packs_;
  int64_t last = -1;
  for (int64_t i = cells.begin; i < cells.end; ++i) {
    const Cell& cell = cells_[static_cast<size_t>(i)];
    const int64_t column = cell.group * s_.group_o() + cell.column;
    panel.columns = static_cast<int>(cell.columns);
    panel.w = packs_ ? packed : s.dy + column;
    panel.w_step = packs_ ? padded_columns(cell.columns) : s_.o;
    if (packs_ && column != last) pack(data, s, cell, packed);
    last = column;
    panel.a = s.x + cell.group * s_.group_c();
    panel.a_rows = a_rows_.data() + cell.row;
    panel.c_rows = c_rows_.data() + cell.row;
    panel.c = data.dw + column;
    run_panel(panel, cell.rows);
  }
}

void FilterGrad::narrow(const Stretch& s, float* dw) const {
  GroupFilter f;
  f.group = narrow_;
  f.a_taps = a_rows_.data();
  f.taps = s_.taps();
  f.runs = runs_.data();
  f.n_runs = s.runs;
  f.run_length = s.length;
  f.a_step = s_.stride[2] * pixel_;
  f.b_step = s_.o;
  f.c_step = s_.o;
  f.accumulate = !s.first;
  f.a = s.x;
  f.b = s.dy;
  f.c = dw;
  f.columns = s_.c;
  run_group_filter(f);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
