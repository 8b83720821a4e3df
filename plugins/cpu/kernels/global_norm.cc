// global_norm: y[] = sqrt(sum x^2) over all operands. Pieces are cut by the shape alone, so the bits do not depend on the
// number of threads.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/element.h"
#include "kernels/reduction.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kNormChunk = 16384;

template <class T>
double sum_of_squares(const T* x, int64_t n) {
  Wide<T> lane[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lane[l] += static_cast<Wide<T>>(x[i + l]) * static_cast<Wide<T>>(x[i + l]);
  for (; i < n; ++i) lane[0] += static_cast<Wide<T>>(x[i]) * static_cast<Wide<T>>(x[i]);
  double sum = 0;
  for (auto l : lane) sum += static_cast<double>(l);
  return sum;
}
double sum_of_squares(const float* x, int64_t n) {
  f32x8 s0 = {}, s1 = {}, s2 = {}, s3 = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const f32x8 a = load8(x + i), b = load8(x + i + 8), c = load8(x + i + 16), d = load8(x + i + 24);
    s0 = a * a + s0, s1 = b * b + s1, s2 = c * c + s2, s3 = d * d + s3;
  }
  for (; i < n; i += 8) {
    const f32x8 a = load8_part(x + i, std::min<int64_t>(8, n - i));
    s0 = a * a + s0;
  }
  return static_cast<double>(sum8((s0 + s1) + (s2 + s3)));
}

// One piece: at most kNormChunk elements of one operand.
struct NormPiece {
  int operand;
  int32_t dtype;
  int64_t at, n;
};

Kernel make_global_norm(const NodeView& node, const Env&) {
  std::vector<NormPiece> pieces;
  int64_t total = 0;
  for (int o = 0; o < node.operands(); ++o) {
    const int64_t n = node.in(o).elements();
    total += n;
    for (int64_t at = 0; at < n; at += kNormChunk)
      pieces.push_back({o, node.in(o).dtype(), at, std::min(kNormChunk, n - at)});
  }
  Kernel k;
  k.threads = threads_for(total);
  k.scratch_bytes = pieces.size() * sizeof(double);
  k.run = [pieces, dtype = node.out(0).dtype()](const Call& call) {
    double* partial = static_cast<double*>(call.scratch);
    const Slice s = call.share(static_cast<int64_t>(pieces.size()));
    for (int64_t i = s.begin; i < s.end; ++i) {
      const NormPiece& p = pieces[static_cast<size_t>(i)];
      with_float(p.dtype, [&](auto e) { partial[i] = sum_of_squares(call.in<decltype(e)>(p.operand) + p.at, p.n); });
    }
    call.barrier();
    if (call.index != 0) return;
    double sum = 0;
    for (size_t i = 0; i < pieces.size(); ++i) sum += partial[i];
    with_float(dtype, [&](auto e) { *call.out<decltype(e)>(0) = static_cast<decltype(e)>(std::sqrt(sum)); });
  };
  return k;
}

plugin::Verdict accept_global_norm(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (!plugin::is_float(node.in(i).dtype())) return plugin::refuse("global_norm: operands must be float");
  return plugin::take();
}

}  // namespace

void add_global_norm(KernelTable& table) { table.add("global_norm", accept_global_norm, make_global_norm); }

}  // namespace tenon::cpu::TENON_CPU_ISA
