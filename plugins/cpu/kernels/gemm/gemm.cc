#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "kernels/element/activation.h"
#include "kernels/gemm/gemm_slab.h"
#include "kernels/gemm/gemm_thin.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kDepth = 256;              // of a packed panel: 16 columns of it take half of L1
constexpr int64_t kPackedColumns = 256;      // packed at once: 256 KB, in L2
constexpr int64_t kPackedRows = 96;          // a multiple of every tile height
constexpr int64_t kLeastColumns = 64;        // of the blocks that decide how sums are split: the same on all machines
constexpr int64_t kDepthChunks = 8;          // of K
constexpr int64_t kWholeRows = 1024;         // columns up to which whole rows are consumed: one stretch of memory
constexpr int64_t kFewRows = 512;            // so few that a panel of B goes over all of them before the next one
constexpr int64_t kManyWeights = 64 * 1024;  // elements of B, more than caches next to a core keep
constexpr int64_t kNoRuns[1] = {0};

}  // namespace

Gemm::Gemm(const GemmShape& shape, bool consumed) : s_(shape), consumed_(consumed) {
  const double work = 2.0 * static_cast<double>(s_.batch) * static_cast<double>(s_.m) * static_cast<double>(s_.n) *
                      static_cast<double>(terms());
  threads_ = work < 1e5 ? 1 : plugin::kAllThreads;
  vector_ = !s_.pairs && !s_.widened && (s_.m == 1 || s_.n == 1);
  if (vector_) {
    nc_ = 256;
    column_blocks_ = ceil_div(std::max(s_.m, s_.n), nc_);
    return;
  }
  tiles_ = s_.pairs && has_tile_products();
  choose_packing();
  choose_blocks(work < 3e7 ? 4 : 8);
  choose_kernels();
  list_rows();
}

void Gemm::choose_packing() {
  direct_ = !tiles_ && !s_.tb && (s_.k * s_.n <= 8192 || (s_.m <= 12 && s_.n <= 128));
  kc_ = direct_ || consumed_ || s_.k <= kDepth + kDepth / 2
            ? s_.k
            : round_up(ceil_div(s_.k, ceil_div(s_.k, kDepth)), tiles_ ? kTileSide : 8);
  packs_a_ = s_.ta && (tiles_ || !(s_.k * s_.m <= 8192));
  widens_a_ = s_.plain_a && !s_.ta;
}

void Gemm::choose_blocks(int64_t enough) {
  const bool small = threads_ == 1;
  const bool whole_rows = consumed_ && s_.n <= kWholeRows && (!s_.pairs || s_.k * s_.n < kManyWeights);
  nc_ = std::min(whole_rows ? kWholeRows : kPackedColumns, round_up(s_.n, 16));
  mc_ = std::min(kPackedRows, round_up(s_.m, kTileRows));
  const auto units = [&] { return s_.batch * ceil_div(s_.m, mc_) * ceil_div(s_.n, nc_); };
  // C small and K long: every element of A and B is packed once, by the chunk that it lies in.
  if (!small && units() < enough && terms() >= kDepthChunks * kDepth && s_.batch * s_.m * s_.n <= 64 * 1024)
    chunks_ = kDepthChunks;
  const int64_t rows = tiles_ ? 2 * kTileSide : 2 * kTileRows, least_rows = tiles_ ? rows : 2 * rows;
  const auto narrow = [&](int64_t least) {
    while (!small && chunks_ == 1 && units() < enough && (nc_ > least || mc_ > least_rows)) {
      if (nc_ > least && (nc_ >= mc_ || mc_ <= least_rows))
        nc_ = round_up(nc_ / 2, 16);
      else
        mc_ = round_up(mc_ / 2, rows);
    }
  };
  narrow(kLeastColumns);
  if (consumed_) chunks_ = 1;
  if (!small && !consumed_ && chunks_ == 1 && units() < enough && terms() >= 1024)
    chunks_ = std::min(kDepthChunks, terms() / kDepth);
  narrow(std::max<int64_t>(32, kPanelColumns));
  own_ld_ = std::min(nc_, s_.n);
  row_blocks_ = ceil_div(s_.m, mc_);
  column_blocks_ = ceil_div(s_.n, nc_);
}

void Gemm::choose_kernels() {
  streamed_ = s_.batch == 1 && !tiles_ && !direct_ && !consumed_ && !s_.ta && !s_.tb && s_.m <= kFewRows &&
              s_.k * s_.n >= kManyWeights;
  if (chunks_ == 1 && !tiles_ && !direct_ && !consumed_ && !streamed_ && SlabProduct::suits(s_))
    slab_ = std::make_shared<SlabProduct>(s_);
  if (!s_.pairs && !s_.widened && !consumed_ && (s_.tb ? chunks_ == 1 : chunks_ > 1 && s_.n <= kWholeRows) &&
      ThinProduct::suits(s_))
    thin_ = std::make_shared<ThinProduct>(s_, chunks_ > 1);
}

void Gemm::list_rows() {
  for (int64_t r = 0; r < (streamed_ ? s_.m : std::min(mc_, s_.m)); ++r) {
    const int64_t plain = s_.ta ? r : s_.a_at.empty() ? r * s_.k : s_.a_at[static_cast<size_t>(r)];
    a_rows_.push_back(turns_a()   ? r * packed_row()
                      : packs_a_  ? r / kTileRows * tile_room() + r % kTileRows
                      : widens_a_ ? r * packed_row()
                                  : plain);
    c_rows_.push_back(r * (consumed_ ? own_ld_ : s_.n));
  }
}

const char* Gemm::algorithm() const {
  if (vector_) return "gemm by vectors";
  if (chunks_ > 1) return "gemm in parts of K";
  if (thin_) return "gemm thin";
  if (slab_) return "gemm slab";
  return streamed_ ? "gemm streamed" : direct_ ? "gemm direct" : "gemm packed";
}

uint64_t Gemm::scratch_bytes() const {
  return chunks_ > 1 ? static_cast<uint64_t>(chunks_ * s_.batch * s_.m * s_.n) * sizeof(float) : 0;
}

int64_t Gemm::a_room() const {
  if (turns_a() || widens_a_) return round_up(mc_ * packed_row(), 16) + (turns_a() ? kTileSide * mc_ : 0);
  return round_up(packs_a_ ? ceil_div(mc_, kTileRows) * tile_room() : 0, 16);
}

uint64_t Gemm::thread_scratch_bytes() const {
  if (vector_) return 0;
  if (slab_) return slab_->thread_scratch_bytes();
  const int64_t b = direct_ ? 0 : kc_ * round_up(nc_, 8);
  const int64_t c = consumed_ ? mc_ * nc_ + 16 : 0;
  const uint64_t blocks = static_cast<uint64_t>(a_room() + round_up(b, 16) + c) * sizeof(float);
  return thin_ ? std::max(blocks, thin_->thread_scratch_bytes()) : blocks;
}

void Gemm::run(const Call& call, const GemmData& data) const {
  if (vector_) return vector(call, data);
  if (chunks_ > 1) return split(call, data);
  if (is_thin(data)) return thin_columns(call, data);
  if (slab_) return slab_->run(call, data);
  blocks(call, data);
}

// Units are (matrix of the batch, column block, row block); a thread's neighbours in rows share what
// it packed of B.
void Gemm::blocks(const Call& call, const GemmData& d) const {
  const Slice part = call.share(s_.batch * column_blocks_ * row_blocks_);
  for (int64_t u = part.begin; u < part.end;) {
    const int64_t p = u / (column_blocks_ * row_blocks_), j = u / row_blocks_ % column_blocks_;
    const int64_t i = u % row_blocks_, end = std::min(part.end, u - i + row_blocks_);
    Block block;
    block.row = i * mc_;
    block.rows = std::min(s_.m, (i + end - u) * mc_) - block.row;
    block.column = j * nc_;
    block.columns = std::min(nc_, s_.n - block.column);
    block.k = 0;
    block.depth = s_.k;
    block.partial = false;
    block.next = end < part.end ? b_at(d.b, 0, block.column + nc_) : nullptr;
    const int64_t c = p * s_.m * s_.n;
    const GemmData one{d.a + p * a_size(),
                       d.b + p * b_size(),
                       d.bias,
                       d.residual ? d.residual + c : nullptr,
                       d.c + c,
                       d.consumer,
                       d.norm,
                       d.visitor};
    product(one, block, static_cast<float*>(call.thread_scratch));
    u = end;
  }
}

bool Gemm::is_thin(const GemmData& d) const { return thin_ && !d.residual && !d.norm.scale && !d.visitor; }

void Gemm::thin_columns(const Call& call, const GemmData& d) const {
  const int64_t width = thin_->columns();
  const Slice part = call.share(ceil_div(s_.n, width));
  for (int64_t i = part.begin; i < part.end; ++i)
    thin_->run(d, {i * width, std::min((i + 1) * width, s_.n)}, 0, s_.k, i == part.begin,
               static_cast<float*>(call.thread_scratch));
}

void Gemm::product(const GemmData& d, const Block& block, float* room) const {
  if (streamed_) return streamed(d, block, room);
  float* const packed_a = room;
  float* const packed_b = room + a_room();
  float* const own_c = packed_b + (direct_ ? 0 : round_up(kc_ * round_up(nc_, 8), 16));
  Panel panel;
  panel.runs = kNoRuns;
  panel.a_rows = a_rows_.data();
  panel.c_rows = c_rows_.data();
  panel.a_step = turns_a() ? 1 : packs_a_ ? kTileRows : s_.ta ? s_.m : 1;
  panel.w_padded = !direct_;
  panel.pairs = s_.pairs;
  panel.tiles = tiles_;
  const int64_t k_end = block.k + block.depth;
  for (int64_t k = block.k; k < k_end; k += kc_) {
    const int64_t depth = std::min(kc_, k_end - k);
    const bool last = k + depth == k_end;
    panel.run_length = depth;
    panel.accumulate = k > block.k;
    if (!direct_) pack_b(d.b, block, k, depth, packed_b);
    for (int64_t r = block.row; r < block.row + block.rows; r += mc_) {
      const int64_t rows = std::min(mc_, block.row + block.rows - r);
      const bool packed = packs_a_ || widens_a_;
      if (packed) pack_a(d.a, r, rows, k, depth, packed_a);
      panel.a = packed ? packed_a : d.a + (s_.ta ? k * s_.m + r : s_.a_at.empty() ? r * s_.k + k : k);
      if (!s_.a_at.empty()) panel.a_rows = s_.a_at.data() + r;
      multiply(d, block, k, {r, r + rows}, packed_b, own_c, panel);
      if (consumed_) d.consumer->consume(d.consumer->context, own_c, own_ld_, r, rows, block.column, block.columns);
      if (d.visitor && last) {
        const PointRun run{r, rows};
        d.visitor->visit(d.visitor->context, r / mc_, &run, 1, {block.column, block.column + block.columns});
      }
    }
  }
}

void Gemm::multiply(const GemmData& d, const Block& block, int64_t k, Slice rows, const float* packed_b, float* own_c,
                    Panel& panel) const {
  const bool last = k + panel.run_length == block.k + block.depth;
  for (int64_t j = 0; j < block.columns; j += panel.columns) {
    const int64_t column = block.column + j;
    panel.columns = static_cast<int>(panel_columns(block.columns - j));
    panel.w = direct_ ? d.b + k * s_.n + column : packed_b + j * kc_;
    panel.w_step = direct_ ? s_.n : padded_columns(panel.columns);
    panel.c = consumed_ ? own_c + j : d.c + rows.begin * s_.n + column;
    panel.later = consumed_ && last && d.consumer->later ? d.consumer->later + rows.begin * s_.n + column : nullptr;
    panel.later_step = s_.n;
    panel.bias = d.bias ? d.bias + column : nullptr;
    panel.norm = last && !block.partial ? d.norm.at(column) : ColumnNorm{};
    panel.residual = last && d.residual ? d.residual + rows.begin * s_.n + column : nullptr;
    panel.act = last && !block.partial ? s_.act : TENON_ACT_NONE;
    panel.alpha = s_.alpha;
    run_panel(panel, rows.end - rows.begin);
  }
}

void Gemm::streamed(const GemmData& d, const Block& block, float* room) const {
  if (block.rows <= kFewestRows && !s_.pairs)
    return s_.plain_b ? few_rows<uint16_t>(d, block) : few_rows<float>(d, block);
  Panel panel;
  panel.runs = kNoRuns;
  panel.a_rows = a_rows_.data() + block.row;
  panel.c_rows = c_rows_.data();
  panel.alpha = s_.alpha;
  panel.pairs = s_.pairs;
  const int64_t k_end = block.k + block.depth, end = block.column + block.columns;
  for (int64_t k = block.k; k < k_end; k += kc_)
    for (int64_t j = block.column; j < end; j += panel.columns) {
      const bool last = k + kc_ >= k_end;
      panel.a = d.a + k;
      panel.run_length = std::min(kc_, k_end - k);
      panel.columns = static_cast<int>(panel_columns(end - j));
      panel.accumulate = k > block.k;
      panel.c = d.c + block.row * s_.n + j;
      panel.bias = d.bias ? d.bias + j : nullptr;
      panel.norm = last && !block.partial ? d.norm.at(j) : ColumnNorm{};
      panel.residual = last && d.residual ? d.residual + block.row * s_.n + j : nullptr;
      panel.act = last && !block.partial ? s_.act : TENON_ACT_NONE;
      const void* const b = b_at(d.b, k, j);
      if (panel.columns == kPanelColumns) {
        panel.w = static_cast<const float*>(b);
        panel.w_step = s_.n;
        run_streamed(panel,
                     {room,
                      j + panel.columns < end ? b_at(d.b, k, j + panel.columns)
                      : last                  ? block.next
                                              : b_at(d.b, k + kc_, block.column),
                      s_.n, s_.plain_b},
                     block.rows);
        continue;
      }
      if (s_.plain_b)
        widen_panels(static_cast<const uint16_t*>(b), panel.run_length, panel.columns, s_.n, panel.run_length, room);
      else
        pack_panels(static_cast<const float*>(b), panel.run_length, panel.columns, s_.n, panel.run_length, room);
      panel.w = room;
      panel.w_step = padded_columns(panel.columns);
      run_panel(panel, block.rows);
    }
}

// Few rows and columns, long K: chunks of K that depend on the shape alone, added in order.
void Gemm::split(const Call& call, const GemmData& d) const {
  const int64_t size = s_.m * s_.n;
  const int64_t depth = round_up(ceil_div(terms(), chunks_), tiles_ ? kTileSide : 8) * (s_.widened ? 2 : 1);
  float* const partial = static_cast<float*>(call.scratch);
  const Slice part = call.share(s_.batch * chunks_);
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t p = u / chunks_, k = u % chunks_ * depth;
    const GemmData one{d.a + p * a_size(), d.b + p * b_size(), nullptr, nullptr, partial + u * size};
    if (k >= s_.k)
      std::fill(one.c, one.c + size, 0.0f);
    else if (is_thin(one))
      thin_->run(one, {0, s_.n}, k, std::min(depth, s_.k - k), true, static_cast<float*>(call.thread_scratch));
    else
      for (int64_t j = 0; j < s_.n; j += nc_)
        product(one,
                {0, s_.m, j, std::min(nc_, s_.n - j), k, std::min(depth, s_.k - k), true,
                 j + nc_ < s_.n     ? b_at(d.b, k, j + nc_)
                 : u + 1 < part.end ? b_at(d.b, k + depth, 0)
                                    : nullptr},
                static_cast<float*>(call.thread_scratch));
  }
  call.barrier();
  const Slice rows = call.share(s_.batch * s_.m);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    add_parts(d, partial + (r / s_.m * chunks_ * s_.m + r % s_.m) * s_.n, r);
    if (s_.act != TENON_ACT_NONE) act_loop(s_.act)(d.c + r * s_.n, d.c + r * s_.n, s_.n, s_.alpha);
  }
}

void Gemm::add_parts(const GemmData& d, const float* partial, int64_t row) const {
  using V = Lanes::Vector;
  const int64_t at = row * s_.n;
  for (int64_t j = 0; j < s_.n; j += Lanes::kLanes) {
    const int64_t n = std::min<int64_t>(Lanes::kLanes, s_.n - j);
    const auto mask = Lanes::first(n);
    const auto of = [&](const float* p) { return n == Lanes::kLanes ? Lanes::load(p + j) : Lanes::load(p + j, mask); };
    V sum = d.bias ? of(d.bias) : V{};
    for (int64_t i = 0; i < chunks_; ++i) sum += of(partial + i * s_.m * s_.n);
    if (d.norm.scale) {
      const V mean = of(d.norm.mean), scale = of(d.norm.scale), shift = of(d.norm.shift);
      sum = (sum - mean) * scale + shift;
    }
    if (d.residual) sum += of(d.residual + at);
    Lanes::store_part(d.c + at + j, sum, n);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
