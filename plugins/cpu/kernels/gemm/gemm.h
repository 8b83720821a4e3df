// Dense matrix products with sums in f32: C[p, M, N] = act(norm(A[p, M, K] B[p, K, N] + bias[N]) + residual[p, M, N]).
#pragma once

#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/result_visitor.h"
#include "kernels/work.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct GemmShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool ta = false, tb = false;  // A lies as [K, M], B as [N, K]
  int act = TENON_ACT_NONE;
  float alpha = 0;
  bool pairs = false;  // A and B are words of two bf16 (pairs.h), of which there are k
  // A and B are what such words hold, widened: f32, in the order in which a pair is added (widen_rows). The sums have the
  // same bits. REQUIRES k even
  bool widened = false;
  // A, B is bf16 as it lies, which is paired or widened while it is packed; K is 2 k of pairs, else k. REQUIRES packs_a(),
  // packs_b().
  bool plain_a = false, plain_b = false;
  std::vector<int64_t> a_at =
      {};  // where the rows of A begin, or empty: one after the other. REQUIRES batch 1, n above 1, not ta
};

// Gets rows [row, row + rows) and columns [column, column + columns) of C, whose rows are `ld` floats apart, while they are
// in cache. Called by all threads, on different elements.
struct GemmConsumer {
  const void* context;
  void (*consume)(const void* context, const float* c, int64_t ld, int64_t row, int64_t rows, int64_t column,
                  int64_t columns);
  const uint16_t* later = nullptr;  // [M, N]: what it reads beside C, fetched before; or nullptr
};

struct GemmData {
  const float* a;
  const float* b;
  const float* bias;      // or nullptr
  const float* residual;  // or nullptr
  float* c;
  const GemmConsumer* consumer = nullptr;  // of a Gemm that is consumed, which writes no c
  ColumnNorm norm = {};                    // of columns [0, N)
  const ResultVisitor* visitor = nullptr;  // where it has parts
};
using GemmWork = Work<GemmData>;

class SlabProduct;
class ThinProduct;

// Blocking chosen once for a shape; immutable, so that threads share it.
class Gemm {
 public:
  static constexpr int64_t kFewestRows = 5;  // that are no tile

  // consumed: C goes to a consumer, block by block. REQUIRES batch 1, m and n above 1.
  explicit Gemm(const GemmShape& shape, bool consumed = false);

  uint32_t threads() const { return threads_; }
  const char* algorithm() const;          // "gemm slab"
  uint64_t scratch_bytes() const;         // shared
  uint64_t thread_scratch_bytes() const;  // each thread's
  // In which a visitor sees C: blocks of rows; 0: none, as rows are few or the sums of K are split.
  int64_t parts() const {
    return vector_ || streamed_ || chunks_ > 1 || consumed_ || slab_ || thin_ || s_.batch > 1 ? 0 : row_blocks_;
  }
  int64_t block_rows() const { return mc_; }  // of C, that a consumer gets at most
  // Whether all of A, of B is packed before it is multiplied: then it may come as it lies.
  bool packs_a() const {
    if (s_.ta) return slab_ || ((s_.widened || tiles_) && packs_a_);
    return s_.widened && !streamed_ && s_.a_at.empty() && column_blocks_ <= 2;  // each widens it again
  }
  bool packs_b() const {
    if (vector_ || direct_) return false;
    return s_.tb || streamed_ ? s_.widened && !slab_ : true;
  }
  // Whether sums are split over K: then C has few elements.
  bool splits() const { return chunks_ > 1; }
  // Called by every thread of the gang; has a barrier inside only when K is split.
  void run(const Call& call, const GemmData& data) const;

 private:
  static constexpr int64_t kTileRows = 6;  // of a packed tile of A

  struct Block {
    int64_t row, rows, column, columns, k, depth;
    bool partial;      // no activation yet
    const void* next;  // where the B of this thread's next block begins, or nullptr
  };
  void choose_packing();
  void choose_blocks(int64_t enough);  // pieces of work for a few threads
  void choose_kernels();
  void list_rows();
  void vector(const Call& call, const GemmData& d) const;
  void blocks(const Call& call, const GemmData& d) const;
  bool is_thin(const GemmData& d) const;
  void thin_columns(const Call& call, const GemmData& d) const;
  void split(const Call& call, const GemmData& d) const;
  // A row of C from those of the parts of K, the first of which is given.
  void add_parts(const GemmData& d, const float* partial, int64_t row) const;
  // The sums of `block`; what is packed goes to `room`.
  void product(const GemmData& d, const Block& block, float* room) const;
  // Those of `rows`, of the run of K that `panel` has of A and that begins at k.
  void multiply(const GemmData& d, const Block& block, int64_t k, Slice rows, const float* packed_b, float* own_c,
                Panel& panel) const;
  // As product, where rows are so few that B, read once, takes longer than its sums.
  void streamed(const GemmData& d, const Block& block, float* room) const;
  template <class T>
  void few_rows(const GemmData& d, const Block& block) const;
  void pack_b(const float* b, const Block& block, int64_t at, int64_t depth, float* out) const;
  // Some rows of B [n, K], which become columns.
  void turn_b(const float* b, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const;
  void pack_a(const float* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const;
  void turn_a(const float* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const;
  template <class T>
  void pack_tiles(const T* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const;

  int64_t tile_room() const { return kTileRows * kc_ + 8; }  // floats of a packed tile of A
  bool turns_a() const { return packs_a_ && tiles_; }
  // By which sums are split: the same whether words are multiplied or what they hold.
  int64_t terms() const { return s_.widened ? s_.k / 2 : s_.k; }
  // Floats from a matrix of A, of B to the next one.
  int64_t a_size() const { return s_.m * (s_.plain_a ? terms() : s_.k); }
  int64_t b_size() const { return s_.n * (s_.plain_b ? terms() : s_.k); }
  // B [K, n] from that row and column on. REQUIRES no pairs of plain_b
  const void* b_at(const float* b, int64_t row, int64_t column) const {
    return reinterpret_cast<const char*>(b) + (row * s_.n + column) * (s_.plain_b ? 2 : 4);
  }
  int64_t packed_row() const { return kc_ + 16; }  // floats of a widened or turned row of A
  int64_t a_room() const;

  GemmShape s_;
  uint32_t threads_ = 1;
  bool streamed_ = false;  // a_rows_ and c_rows_ have all of C's rows
  bool tiles_ = false;     // of AMX (matrix_tile.h)
  bool consumed_ = false, vector_ = false, direct_ = false, packs_a_ = false, widens_a_ = false;
  int64_t mc_ = 0, nc_ = 0, kc_ = 0;  // rows, columns and depth of a block
  int64_t own_ld_ = 0;                // of a block of C that is consumed
  int64_t row_blocks_ = 1, column_blocks_ = 1;
  int64_t chunks_ = 1;                       // of K, added in order
  std::vector<int64_t> a_rows_, c_rows_;     // offsets of the rows of one block
  std::shared_ptr<const SlabProduct> slab_;  // or nullptr: by blocks
  std::shared_ptr<const ThinProduct> thin_;  // or nullptr: neither
};

}  // namespace tenon::cpu::TENON_CPU_ISA
