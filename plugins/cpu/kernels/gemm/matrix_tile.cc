#include "kernels/gemm/matrix_tile.h"

#ifdef __AMX_BF16__
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "kernels/gemm/gemm_tile_ends.h"
#include "kernels/gemm/matrix_tile_rows.h"

namespace tenon::cpu::TENON_CPU_ISA {

bool tile_products = false;

bool request_tiles() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & (kBf16 | kTile)) != (kBf16 | kTile)) return false;
  static const bool given = syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
  return given;
}

namespace {

struct TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
alignas(64) constexpr TileConfig kWholeTiles{};

// All tiles are whole. Released at the end: threads with tiles in use are slower to switch.
class Tiles {
 public:
  Tiles() { _tile_loadconfig(&kWholeTiles); }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// W of a stretch of k, and how far apart its rows are, in bytes.
struct Weights {
  const float* at[kTileGroups];
  int64_t step;
};

// 16 rows of 16 sums: where they come from and where they go.
struct Place {
  const float* from;
  float* to;
  int64_t from_step, to_step;  // bytes
};

// The tile loads of the compiler do not say what memory they read.
TENON_INLINE void write_all() { asm volatile("" ::: "memory"); }

template <int NR, int NC>
void add_tiles(const TileRows* a, const Weights& w, int64_t column, int64_t groups, const Place* c) {
  write_all();
  _tile_loadd(0, c[0].from, c[0].from_step);
  if (NC > 1) _tile_loadd(1, c[1].from, c[1].from_step);
  if (NR > 1) _tile_loadd(2, c[2].from, c[2].from_step);
  if (NR > 1 && NC > 1) _tile_loadd(3, c[3].from, c[3].from_step);
  for (int64_t g = 0; g < groups; ++g) {
    const float* const b = w.at[g] + column;
    _tile_loadd(4, a[0].at[g], a[0].step[g]);
    _tile_loadd(6, b, w.step);
    if (NC > 1) _tile_loadd(7, b + kTileSide, w.step);
    if (NR > 1) _tile_loadd(5, a[1].at[g], a[1].step[g]);
    _tile_dpbf16ps(0, 4, 6);
    if (NC > 1) _tile_dpbf16ps(1, 4, 7);
    if (NR > 1) _tile_dpbf16ps(2, 5, 6);
    if (NR > 1 && NC > 1) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c[0].to, c[0].to_step);
  if (NC > 1) _tile_stored(1, c[1].to, c[1].to_step);
  if (NR > 1) _tile_stored(2, c[2].to, c[2].to_step);
  if (NR > 1 && NC > 1) _tile_stored(3, c[3].to, c[3].to_step);
}

// A panel while a stretch of its k is added, by blocks of up to 2 x 2 tiles.
class TilePanel {
 public:
  explicit TilePanel(const Panel& panel) : p_(panel) {
    p_.norm = {};
    p_.residual = nullptr;
    p_.act = TENON_ACT_NONE;
    if (panel.bias) std::copy_n(panel.bias, panel.columns, bias_);
  }

  // Words [k, k + depth) of `panel`, and its epilogue if they are the last. REQUIRES depth <= kTileGroups * kTileSide.
  void run(const Panel& panel, int64_t rows, int64_t k, int64_t depth, bool last) {
    if (last) p_.norm = panel.norm, p_.residual = panel.residual, p_.act = panel.act;
    p_.accumulate = panel.accumulate || k > 0;
    ends_ = p_.norm.scale || p_.residual || p_.act != TENON_ACT_NONE;
    const TileStretch stretch(p_, k, depth);
    take_weights(k, depth);
    TileRows a[2];
    for (int64_t r = 0; r < rows; r += 2 * kTileSide) {
      const int64_t count = std::min(2 * kTileSide, rows - r);
      stretch.read(p_, r, std::min(kTileSide, count), a_room_, &a[0]);
      if (count > kTileSide)
        stretch.read(p_, r + kTileSide, count - kTileSide, a_room_ + kTileGroups * kTileSide * kTileSide, &a[1]);
      for (int64_t j = 0; j < p_.columns; j += 2 * kTileSide)
        add_block(a, r, count, j, std::min(2 * kTileSide, p_.columns - j), stretch.groups());
    }
  }

 private:
  // W as it is packed, but for a copy of what is no whole tile.
  void take_weights(int64_t k, int64_t depth) {
    const float* const from = p_.w + k * p_.w_step;
    const bool narrow = p_.w_step < kTileSide;
    const int64_t width = padded_columns(p_.columns), step = narrow ? kTileSide : p_.w_step;
    w_.step = step * 4;
    for (int64_t g = 0; g * kTileSide < depth; ++g) {
      const int64_t first = g * kTileSide, words = std::min(kTileSide, depth - first);
      w_.at[g] = from + first * p_.w_step;
      if (!narrow && words == kTileSide) continue;
      float* const own = w_room_ + (narrow ? first * kTileSide : 0);
      for (int64_t i = 0; i < words; ++i) std::copy_n(w_.at[g] + i * p_.w_step, width, own + i * step);
      std::fill(own + words * step, own + kTileSide * step, 0.0f);
      w_.at[g] = own;
    }
  }

  bool is_even(int64_t row, int64_t rows, int64_t columns) const {
    return rows == kTileSide && columns == kTileSide && has_one_step(p_.c_rows + row, rows);
  }

  void add_block(const TileRows* a, int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t groups) {
    Place c[4];
    const int nr = rows > kTileSide ? 2 : 1, nc = columns > kTileSide ? 2 : 1;
    for (int i = 0; i < nr; ++i)
      for (int j = 0; j < nc; ++j)
        c[2 * i + j] = place(row + i * kTileSide, std::min(kTileSide, rows - i * kTileSide), column + j * kTileSide,
                             std::min(kTileSide, columns - j * kTileSide), c_room_ + (2 * i + j) * 256);
    if (nr > 1)
      nc > 1 ? add_tiles<2, 2>(a, w_, column, groups, c) : add_tiles<2, 1>(a, w_, column, groups, c);
    else
      nc > 1 ? add_tiles<1, 2>(a, w_, column, groups, c) : add_tiles<1, 1>(a, w_, column, groups, c);
    for (int i = 0; i < nr; ++i)
      for (int j = 0; j < nc; ++j)
        if (c[2 * i + j].to == c_room_ + (2 * i + j) * 256)
          finish_tile(row + i * kTileSide, std::min(kTileSide, rows - i * kTileSide), column + j * kTileSide,
                      c[2 * i + j].to);
  }

  // Sums go to memory at once where nothing follows them and they are whole tiles, else through `room`.
  Place place(int64_t row, int64_t rows, int64_t column, int64_t columns, float* room) const {
    const bool even = is_even(row, rows, columns);
    float* const c = p_.c + p_.c_rows[row] + column;
    const int64_t step = even ? (p_.c_rows[row + 1] - p_.c_rows[row]) * 4 : 0;
    Place at{bias_ + column, room, 0, 64};
    if (p_.accumulate && even) at.from = c, at.from_step = step;
    if (p_.accumulate && !even) {
      const Lanes::Mask mask = Lanes::first(columns);
      for (int64_t r = 0; r < rows; ++r)
        Lanes::store(room + r * kTileSide, Lanes::load(p_.c + p_.c_rows[row + r] + column, mask));
      at.from = room, at.from_step = 64;
    }
    if (even && !ends_) at.to = c, at.to_step = step;
    return at;
  }

  void finish_tile(int64_t row, int64_t rows, int64_t column, const float* sums) {
    Panel part = p_;
    part.c += column;
    part.norm = p_.norm.at(column);
    if (part.residual) part.residual += column;
    part.columns = static_cast<int>(std::min(kTileSide, p_.columns - column));
    const Tail<Lanes> tail(part.columns);
    const float floor = part.act == TENON_ACT_RELU ? 0 : -__builtin_inff();
    for (int64_t r = 0; r < rows; ++r) {
      Lanes::Vector sum = Lanes::load(sums + r * kTileSide);
      finish<Lanes, 1, false>(part, tail, p_.c_rows[row + r], floor, &sum);
    }
  }

  Panel p_;
  Weights w_;
  bool ends_ = false;
  alignas(64) float bias_[kMostColumns] = {};
  alignas(64) float a_room_[2 * kTileGroups * kTileSide * kTileSide];
  alignas(64) float w_room_[kTileGroups * kTileSide * kTileSide];  // or a group of a whole panel
  alignas(64) float c_room_[4 * kTileSide * kTileSide];
};

}  // namespace

void run_tile_panel(const Panel& p, int64_t rows) {
  const Tiles here;
  TilePanel tiles(p);
  const int64_t depth = p.n_runs * p.run_length, most = kTileGroups * kTileSide;
  const int64_t some = round_up(ceil_div(depth, std::max<int64_t>(1, ceil_div(depth, most))), kTileSide);
  for (int64_t k = 0; k < depth || k == 0; k += std::max<int64_t>(1, some))
    tiles.run(p, rows, k, std::min(some, depth - k), k + some >= depth);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
#endif
