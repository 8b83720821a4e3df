// Uniform numbers in [0, 1), the same on every device.
#include <iterator>

#include "conformance/reference/ops.h"
#include "conformance/reference/reference_philox.h"

namespace tenon::reference {
namespace {

// e is the row-major index (per_replica adds first * size, the draws of the replicas before this one);
// word e & 3 of Philox(counter {e >> 2, stream, step low, step high}, key {seed low, seed high}), its upper
// 24 bits times 2^-24.
void random(const NodeView& node, const Operands& in, Results& out) {
  require(!is_float(*in[0]) && !is_float(*in[1]), "seed and step must be integers");
  require(in[0]->dims.empty() && in[1]->dims.empty(), "seed and step must have rank 0");
  const uint64_t seed = static_cast<uint64_t>(in[0]->i[0]), step = static_cast<uint64_t>(in[1]->i[0]);
  const uint32_t stream = static_cast<uint32_t>(node.i64("stream"));
  Tensor y = zeros(TENON_F32, list(node, "shape"));
  const uint64_t before =
      node.flag("per_replica") ? static_cast<uint64_t>(node.i64("first")) * static_cast<uint64_t>(elements(y)) : 0;
  for (int64_t i = 0; i < elements(y); ++i) {
    const uint64_t e = before + static_cast<uint64_t>(i);
    const auto words = philox4x32_10(
        {static_cast<uint32_t>(e >> 2), stream, static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    y.f[i] = static_cast<double>(words[e & 3] >> 8) / (1 << 24);
  }
  out = {y};
}

constexpr Primitive kRandomPrimitives[] = {{"random", random}};

}  // namespace

Span<Primitive> random_primitives() { return {kRandomPrimitives, std::size(kRandomPrimitives)}; }

}  // namespace tenon::reference
