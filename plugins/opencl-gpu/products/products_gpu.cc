// Products on GPUs: kernels/product/product_gpu.cl.
#include <algorithm>
#include <utility>

#include "device/tuning.h"
#include "products/products_parts.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kLocal = 16;  // work items along each side of a tile
constexpr int64_t kMostGroups = 65535;

// The one place where parameters are chosen: rows and columns of a work item, chunks of k.
struct Tiles {
  int64_t rows, columns, chunks;

  int64_t count(const Product& s) const {
    return s.batch * pieces(s.m, kLocal * rows) * pieces(s.n, kLocal * columns) * chunks;
  }
};

Tiles tiles_of(const Driver& driver, const Product& s, const ProductKind& kind) {
  constexpr int64_t kLeastDepth = 256;
  const int64_t units = driver.compute_units();
  Tiles t{4, 4, 1};
  if (const Tiles large{8, 8, 1}; kind.dtype != TENON_F64 && large.count(s) >= 2 * units) t = large;
  const int64_t missing = 2 * units / t.count(s);
  t.chunks = std::clamp<int64_t>(std::min(missing, s.k / kLeastDepth), 1, std::max<int64_t>(kMostGroups / s.batch, 1));
  return t;
}

Kernel kernel_in(Driver& driver, const Product& s, const ProductKind& kind, const Tiles& t) {
  ProductKind sums = kind;
  if (t.chunks > 1) sums.result = kind.wide(), sums.act = TENON_ACT_NONE;
  Launch product =
      Launch::of_text(driver, ending_text("product_gpu"), "product_gpu",
                      product_options(kind) + end_options(sums) + " -D RM=" + std::to_string(t.rows) +
                          " -D RN=" + std::to_string(t.columns) + (s.b_column == 1 ? "" : " -D B_COLUMNS"));
  product.value(t.chunks > 1 ? in_parts(s, t.chunks) : ended(s, kind)).in(0).in(1);
  add_epilogue(product, kind);
  t.chunks > 1 ? product.scratch() : product.out(0);
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  product.groups({size(std::min(t.count(s), kMostGroups)), 1}, {size(kLocal), size(kLocal)});
  if (t.chunks == 1) return kernel_of({product});
  const int64_t bytes = t.chunks * s.batch * s.m * s.n * tenon::plugin::dtype_bytes(kind.wide());
  return kernel_of({product, sum_of_parts(driver, s, kind, t.chunks, 0)}, static_cast<uint64_t>(bytes));
}

// The rule's and others of about its size, with its chunks of k: a sum's order is the same in tiles of any size.
std::vector<Tiles> tiles_like(const Tiles& rule, const ProductKind& kind) {
  std::vector<Tiles> all{rule};
  const int64_t most = kind.dtype == TENON_F64 ? 16 : 2 * rule.rows * rule.columns;
  for (const auto& [rows, columns] : {std::pair{8, 8}, {8, 4}, {4, 8}, {4, 4}, {4, 2}, {2, 4}}) {
    const int64_t size = rows * columns;
    if (size <= most && 4 * size >= rule.rows * rule.columns && !(rows == rule.rows && columns == rule.columns))
      all.push_back({rows, columns, rule.chunks});
  }
  return all;
}

}  // namespace

Kernel gpu_product_kernel(const NodeView& node, const Env& env, const Product& s, const ProductKind& kind) {
  Driver& driver = driver_of(*env.device);
  std::vector<Way> ways;
  for (const Tiles& t : tiles_like(tiles_of(driver, s, kind), kind))
    ways.push_back({std::to_string(t.rows) + " x " + std::to_string(t.columns) + " a work item",
                    [&driver, s, kind, t] { return kernel_in(driver, s, kind, t); }});
  return soonest(node, env, ways);
}

}  // namespace opencl_gpu
