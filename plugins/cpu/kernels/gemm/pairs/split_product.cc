#include "kernels/gemm/pairs/split_product.h"

#include <algorithm>
#include <span>

#include "kernels/dtype.h"
#include "kernels/gemm/matmul.h"

namespace tenon::cpu::TENON_CPU_ISA {
#ifdef __AVX512BF16__
int f32_terms = 0;
#endif

namespace {

constexpr int kMostTerms = 3;

// Which term of A meets which of B, from 0, in the order of the sum.
struct TermPair {
  uint8_t a, b;
};
constexpr TermPair kOfTwo[] = {{0, 1}, {1, 0}, {0, 0}};
constexpr TermPair kOfThree[] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};

std::span<const TermPair> pairs_of(int terms) {
  return terms == 2 ? std::span<const TermPair>(kOfTwo) : std::span<const TermPair>(kOfThree);
}

// Up to kBlock numbers as terms; the first also without what is not finite.
struct TermBlock {
  uint16_t all_first[kBlock], terms[kMostTerms][kBlock];

  void split(const float* x, int64_t n, int count) {
    alignas(64) float rest[kBlock], term[kBlock];
    std::copy_n(x, n, rest);
    for (int t = 0; t < count; ++t) {
      narrow(TENON_BF16, rest, terms[t], n);
      if (t == 0) std::copy_n(terms[0], n, all_first);
      widen(TENON_BF16, terms[t], term, n);
      for (int64_t i = 0; i < n; ++i) {
        const bool finite = (terms[t][i] & 0x7f80) != 0x7f80;
        rest[i] = finite ? rest[i] - term[i] : 0.0f;
        terms[t][i] = finite ? terms[t][i] : uint16_t{0};
      }
    }
  }
};

// [P, R, C] of f32 as the operand of one product of bf16: in place of a row, or of a matrix, one of each pair's terms, one after
// the other.
struct SplitOperand {
  int64_t count, rows, columns;
  bool down;  // the sum runs over rows
  std::vector<uint8_t> terms;
  uint64_t at = 0;  // in scratch

  uint64_t bytes() const { return static_cast<uint64_t>(count * rows * columns) * terms.size() * sizeof(uint16_t); }
  uint16_t* in(const Call& call) const { return reinterpret_cast<uint16_t*>(static_cast<uint8_t*>(call.scratch) + at); }
  void make(const Call& call, const float* from) const {
    const Slice part = call.share(count * rows);
    TermBlock block;
    for (int64_t r = part.begin; r < part.end; ++r)
      for (int64_t c = 0; c < columns; c += kBlock) {
        const int64_t n = std::min(kBlock, columns - c);
        block.split(from + r * columns + c, n, 1 + *std::max_element(terms.begin(), terms.end()));
        for (size_t t = 0; t < terms.size(); ++t) {
          const bool last = t + 1 == terms.size();
          std::copy_n(last ? block.all_first : block.terms[terms[t]], n, in(call) + row(r, t) * columns + c);
        }
      }
  }

 private:
  // Where the row goes, for the term of a pair.
  int64_t row(int64_t r, size_t pair) const {
    const int64_t times = std::ssize(terms), t = static_cast<int64_t>(pair);
    return down ? (r / rows * times + t) * rows + r % rows : r * times + t;
  }
};

struct SplitProduct {
  SplitOperand a, b;
  GemmWork product;  // of bf16
  uint64_t own_scratch = 0;

  uint32_t threads() const { return product.threads(); }
  uint64_t scratch_bytes() const { return own_scratch + product.scratch_bytes(); }
  uint64_t thread_scratch_bytes() const { return product.thread_scratch_bytes(); }
  void run(const Call& call, const GemmData& d) const {
    a.make(call, d.a);
    b.make(call, d.b);
    call.barrier();
    Call inner = call;
    inner.scratch = static_cast<uint8_t*>(call.scratch) + own_scratch;
    GemmData terms = d;
    terms.a = reinterpret_cast<const float*>(a.in(call));
    terms.b = reinterpret_cast<const float*>(b.in(call));
    product.run(inner, terms);
  }
};

}  // namespace

int split_terms(const GemmShape& s, int64_t precision) {
  constexpr int64_t kNarrow = 32;
  if (f32_terms == 0 || std::min({s.m, s.n, s.k}) < kNarrow) return 0;
  return precision == TENON_PRECISION_DEFAULT ? f32_terms : kMostTerms;
}

GemmWork split_product_work(const GemmShape& s, int terms) {
  const auto split = std::make_shared<SplitProduct>();
  split->a = {s.batch, s.ta ? s.k : s.m, s.ta ? s.m : s.k, s.ta, {}};
  split->b = {s.batch, s.tb ? s.n : s.k, s.tb ? s.k : s.n, !s.tb, {}};
  for (const TermPair& pair : pairs_of(terms)) {
    split->a.terms.push_back(pair.a);
    split->b.terms.push_back(pair.b);
  }
  split->b.at = aligned_room(split->a.bytes());
  split->own_scratch = split->b.at + aligned_room(split->b.bytes());
  GemmShape longer = s;
  longer.k *= std::ssize(split->a.terms);
  split->product = pair_product_work(longer, {.round = false, .wide = true});
  return work_of<GemmData>(split);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
