#include "kernels/gemm/tiles/matrix_tile.h"

#ifdef __AMX_BF16__
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "kernels/gemm/gemm_tile_ends.h"
#include "kernels/gemm/tiles/matrix_tile_rows.h"

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

// 16 rows of 16 sums: where they come from, nullptr for zeros, and where they go.
struct Place {
  const float* from;
  float* to;
  int64_t from_step, to_step;  // bytes
};

// The tile loads of the compiler do not say what memory they read.
TENON_INLINE void write_all() { asm volatile("" ::: "memory"); }

#define TENON_START_TILE(tile, place)                   \
  if ((place).from)                                     \
    _tile_loadd(tile, (place).from, (place).from_step); \
  else                                                  \
    _tile_zero(tile)

template <int NR, int NC>
TENON_INLINE void add_tiles(const TileRows* a, const Weights& w, int64_t column, int64_t groups, const Place* c) {
  write_all();
  TENON_START_TILE(0, c[0]);
  if (NC > 1) {
    TENON_START_TILE(1, c[1]);
  }
  if (NR > 1) {
    TENON_START_TILE(2, c[2]);
  }
  if (NR > 1 && NC > 1) {
    TENON_START_TILE(3, c[3]);
  }
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
    for (int64_t r = 0; r < rows; r += 2 * kTileSide) {
      const int64_t count = std::min(2 * kTileSide, rows - r);
      const int tiles = count > kTileSide ? 2 : 1;
      for (int i = 0; i < tiles; ++i) {
        row_[i] = r + i * kTileSide;
        rows_[i] = std::min(kTileSide, count - i * kTileSide);
        stretch.read(p_, row_[i], rows_[i], a_room_ + i * kTileGroups * 256, &a_[i]);
        const int64_t* const c = p_.c_rows + row_[i];
        c_step_[i] = rows_[i] == kTileSide && has_one_step(c, kTileSide) ? (c[1] - c[0]) * 4 : 0;
      }
      for (int64_t j = 0; j < p_.columns; j += 2 * kTileSide) add_block(tiles, j, stretch.groups());
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

  void add_block(int tiles, int64_t column, int64_t groups) {
    Place c[4];
    const int across = p_.columns - column > kTileSide ? 2 : 1;
    for (int i = 0; i < tiles; ++i)
      for (int j = 0; j < across; ++j) c[2 * i + j] = place(i, column + j * kTileSide, c_room_ + (2 * i + j) * 256);
    if (tiles > 1)
      across > 1 ? add_tiles<2, 2>(a_, w_, column, groups, c) : add_tiles<2, 1>(a_, w_, column, groups, c);
    else
      across > 1 ? add_tiles<1, 2>(a_, w_, column, groups, c) : add_tiles<1, 1>(a_, w_, column, groups, c);
    for (int i = 0; i < tiles; ++i)
      for (int j = 0; j < across; ++j)
        if (c[2 * i + j].to == c_room_ + (2 * i + j) * 256) finish_tile(i, column + j * kTileSide, c[2 * i + j].to);
  }

  // Sums go to memory at once where nothing follows them and they are whole tiles, else through `room`.
  Place place(int tile, int64_t column, float* room) const {
    const bool even = c_step_[tile] != 0 && column + kTileSide <= p_.columns;
    const int64_t* const rows = p_.c_rows + row_[tile];
    float* const c = p_.c + rows[0] + column;
    Place at{p_.bias ? bias_ + column : nullptr, room, 0, 64};
    if (even && !ends_) at.to = c, at.to_step = c_step_[tile];
    if (!p_.accumulate) return at;
    at.from = even ? c : room;
    at.from_step = even ? c_step_[tile] : 64;
    if (even) return at;
    const Lanes::Mask mask = Lanes::first(std::min(kTileSide, p_.columns - column));
    for (int64_t r = 0; r < rows_[tile]; ++r)
      Lanes::store(room + r * kTileSide, Lanes::load(p_.c + rows[r] + column, mask));
    return at;
  }

  void finish_tile(int tile, int64_t column, const float* sums) {
    Panel part = p_;
    part.c += column;
    part.norm = p_.norm.at(column);
    if (part.residual) part.residual += column;
    part.columns = static_cast<int>(std::min(kTileSide, p_.columns - column));
    const Tail<Lanes> tail(part.columns);
    const Clip clip = Clip::of(part.act);
    for (int64_t r = 0; r < rows_[tile]; ++r) {
      Lanes::Vector sum = Lanes::load(sums + r * kTileSide);
      finish<Lanes, 1, false>(part, tail, p_.c_rows[row_[tile] + r], clip, &sum);
    }
    if (!is_clip(part.act)) act_rows(part.act)(part.c, p_.c_rows + row_[tile], rows_[tile], part.columns, part.alpha);
  }

  Panel p_;
  Weights w_;
  bool ends_ = false;
  TileRows a_[2];
  int64_t row_[2], rows_[2];  // the first of each, and how many
  int64_t c_step_[2];         // bytes between rows of C, 0 where they are not whole or not even
  alignas(64) float bias_[kMostColumns] = {};
  alignas(64) float a_room_[2 * kTileGroups * 256];
  alignas(64) float w_room_[kTileGroups * 256];  // or a group of a whole panel
  alignas(64) float c_room_[4 * 256];
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
