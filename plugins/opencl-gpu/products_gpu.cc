// Products on GPUs: kernels/product_gpu.cl.
#include <algorithm>

#include "products_parts.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kLocal = 16;  // work items along each side of a tile
constexpr int64_t kMostGroups = 65535;

// The one place where parameters are chosen: rows (and columns) of a work item, chunks of k.
struct Tiles {
  int64_t registers, chunks;

  int64_t side() const { return kLocal * registers; }
};

Tiles tiles_of(const Driver& driver, const Product& s, const ProductKind& kind) {
  constexpr int64_t kLeastDepth = 256;
  const auto groups = [&](int64_t side) { return s.batch * pieces(s.m, side) * pieces(s.n, side); };
  const int64_t units = driver.compute_units();
  Tiles t{4, 1};
  if (kind.dtype != TENON_F64 && groups(8 * kLocal) >= 2 * units) t.registers = 8;
  const int64_t missing = 2 * units / groups(t.side());
  t.chunks = std::clamp<int64_t>(std::min(missing, s.k / kLeastDepth), 1, std::max<int64_t>(kMostGroups / s.batch, 1));
  return t;
}

}  // namespace

Kernel gpu_product_kernel(Driver& driver, const Product& s, const ProductKind& kind) {
  const Tiles t = tiles_of(driver, s, kind);
  ProductKind sums = kind;
  if (t.chunks > 1) sums.result = kind.wide(), sums.act = TENON_ACT_NONE;
  const std::string side = std::to_string(t.registers);
  Launch product = Launch::of_text(driver, ending_text("product_gpu"), "product_gpu",
                                   product_options(kind) + end_options(sums) + " -D RM=" + side + " -D RN=" + side +
                                       (s.b_column == 1 ? "" : " -D B_COLUMNS"));
  product.value(t.chunks > 1 ? in_parts(s, t.chunks) : ended(s, kind)).in(0).in(1);
  add_epilogue(product, kind);
  t.chunks > 1 ? product.scratch() : product.out(0);
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t tiles = pieces(s.m, t.side()) * pieces(s.n, t.side()) * s.batch * t.chunks;
  product.groups({size(std::min(tiles, kMostGroups)), 1}, {size(kLocal), size(kLocal)});
  if (t.chunks == 1) return kernel_of({product});
  const int64_t bytes = t.chunks * s.batch * s.m * s.n * tenon::plugin::dtype_bytes(kind.wide());
  return kernel_of({product, sum_of_parts(driver, s, kind, t.chunks, 0)}, static_cast<uint64_t>(bytes));
}

}  // namespace opencl_gpu
