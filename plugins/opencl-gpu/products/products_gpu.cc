// Products on GPUs: kernels/product/product_gpu.cl.
#include <algorithm>
#include <utility>

#include "device/kernel_sources.h"
#include "device/tuning.h"
#include "products/products_parts.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kLocal = 16;  // work items along each side of a tile
constexpr int64_t kItems = kLocal * kLocal;
constexpr int64_t kVector = 4;
constexpr int64_t kDeepest = 32;  // of a block
constexpr int64_t kMostGroups = 65535;

// Rows and columns of a work item, chunks of k.
struct Tiles {
  int64_t rows, columns, chunks;

  int64_t count(const Product& s) const {
    return s.batch * pieces(s.m, kLocal * rows) * pieces(s.n, kLocal * columns) * chunks;
  }
  // The local memory that two blocks of a and of b take.
  int64_t local_bytes(int64_t depth, int64_t width) const {
    return 2 * depth * (kLocal * (rows + columns) + 2 * kVector) * width;
  }
};

int64_t width_of(const ProductKind& kind) { return tenon::plugin::dtype_bytes(kind.wide()); }

// The depth of blocks: a work item reads one vector or two of each, where local memory has room for that. 0: for none.
int64_t depth_of(const Driver& driver, const Tiles& t, int64_t width) {
  for (int64_t depth = 64 / std::min(t.rows, t.columns); depth >= kVector; depth /= 2)
    if (t.local_bytes(depth, width) <= static_cast<int64_t>(driver.local_bytes())) return depth;
  return 0;
}

// Whether the sums, what they are made of and the places in memory fit into registers, where the device tells of them.
bool in_registers(const Driver& driver, const Tiles& t, int64_t width) {
  constexpr int64_t kPlaces = 32;
  const int64_t numbers = t.rows * t.columns + 3 * (t.rows + t.columns);
  const int64_t registers = (numbers * width / 4 + kPlaces) * kItems;
  return driver.registers() == 0 || registers <= static_cast<int64_t>(driver.registers());
}

bool fits(const Driver& driver, const Tiles& t, int64_t width) {
  return depth_of(driver, t, width) > 0 && in_registers(driver, t, width);
}

// The one place where parameters are chosen.
Tiles tiles_of(const Driver& driver, const Product& s, const ProductKind& kind) {
  constexpr int64_t kLeastDepth = 256;
  const int64_t units = driver.compute_units();
  Tiles t{4, 4, 1};
  if (const Tiles large{8, 8, 1};
      kind.dtype != TENON_F64 && large.count(s) >= 2 * units && fits(driver, large, width_of(kind)))
    t = large;
  const int64_t missing = 2 * units / t.count(s);
  t.chunks = std::clamp<int64_t>(std::min(missing, s.k / kLeastDepth), 1, std::max<int64_t>(kMostGroups / s.batch, 1));
  return t;
}

// ---- what a program is made for ----

// A b whose runs of k are of one row has none.
Product without_runs(Product s) {
  if (s.b_inner == 1 && s.k > 1) s.b_inner = s.k, s.b_row = s.b_outer_row;
  return s;
}

bool by_vectors(std::initializer_list<int64_t> all) {
  return std::all_of(all.begin(), all.end(), [](int64_t n) { return n % kVector == 0; });
}

bool a_by_vectors(const Product& s, AIs a) {
  switch (a) {
    case AIs::kMatrix:
      return s.a_column == 1 && by_vectors({s.a_row, s.k, s.a_batch});
    case AIs::kTransposedMatrix:
      return s.a_row == 1 && by_vectors({s.a_column, s.m, s.a_batch});
    default:
      return by_vectors({s.channels, s.pitch, s.a_batch});
  }
}

bool b_along_k(const Product& s) { return s.b_column != 1; }

bool b_by_vectors(const Product& s) {
  return b_along_k(s) ? s.b_row == 1 && by_vectors({s.b_column, s.b_inner, s.b_outer_row, s.k, s.b_batch})
                      : by_vectors({s.b_row, s.n, s.b_batch});
}

// Whether indices of one product of a batch fit, with what lies a block behind its end.
bool in_32_bits(const Product& s, AIs a) {
  constexpr int64_t kMost = INT32_MAX;
  const bool matrix = a == AIs::kMatrix || a == AIs::kTransposedMatrix;
  const int64_t k = s.k + kDeepest, points = s.to[0] * s.to[1] * s.to[2], from = s.from[0] * s.from[1] * s.from[2];
  const int64_t images = (a == AIs::kWindows ? s.m : k) / points + 1;
  const int64_t size_a = matrix ? s.m * s.a_row + k * s.a_column : images * from * s.pitch;
  const int64_t size_b = k / s.b_inner * s.b_outer_row + std::min(k, s.b_inner + kDeepest) * s.b_row + s.n * s.b_column;
  const int64_t longest = std::max({s.m + kLocal * 8, s.n + kLocal * 8, k});
  return std::max({size_a, size_b, longest}) < kMost;
}

std::string options_of(const Driver& driver, const Product& s, const ProductKind& kind, const ProductKind& sums,
                       const Tiles& t) {
  std::string options = product_options(kind) + end_options(sums) + define("RM", t.rows) + define("RN", t.columns) +
                        define("BK", depth_of(driver, t, width_of(kind)));
  options += in_32_bits(s, kind.a) ? " -D INDEX=int" : " -D INDEX=long";
  if (a_by_vectors(s, kind.a)) options += " -D VECTOR_A";
  if (b_by_vectors(s)) options += " -D VECTOR_B";
  if (b_along_k(s)) options += " -D B_ALONG_K";
  if (t.columns >= kVector && by_vectors({s.n, s.c_row, s.c_batch})) options += " -D VECTOR_C";
  return options;
}

std::string gpu_text() {
  return ending_text("vectors") + kernel_source("product_gpu_read") + kernel_source("product_gpu");
}

Kernel kernel_in(Driver& driver, const Product& given, const ProductKind& kind, const Tiles& t) {
  ProductKind sums = kind;
  if (t.chunks > 1) sums.result = kind.wide(), sums.act = TENON_ACT_NONE;
  const Product s = without_runs(given), whole = t.chunks > 1 ? in_parts(s, t.chunks) : ended(s, kind);
  Launch product = Launch::of_text(driver, gpu_text(), "product_gpu", options_of(driver, whole, kind, sums, t));
  product.value(whole).value<cl_long>(up(pieces(s.k, t.chunks), kDeepest)).in(own::product::a).in(own::product::b);
  add_epilogue(product, kind);
  t.chunks > 1 ? product.scratch() : product.out(own::product::out::c);
  add_members(product, kind, t.chunks > 1 ? Places{{}, 0} : Places{});
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  product.groups({size(std::min(t.count(s), kMostGroups)), 1}, {size(kLocal), size(kLocal)});
  if (t.chunks == 1) return kernel_of({product});
  const int64_t bytes = t.chunks * s.batch * s.m * s.n * width_of(kind);
  return kernel_of({product, sum_of_parts(driver, s, kind, t.chunks, 0)}, static_cast<uint64_t>(bytes));
}

// The rule's, or the largest of its halves that the device's compiler finds registers for.
Kernel kernel_by_rule(Driver& driver, const Product& s, const ProductKind& kind, Tiles t) {
  for (; t.rows > 2; t.rows /= 2, t.columns /= 2) {
    try {
      return kernel_in(driver, s, kind, t);
    } catch (const TooLarge&) {
      continue;
    }
  }
  return kernel_in(driver, s, kind, t);
}

// The rule's and others of about its size, with its chunks of k: a sum's order is the same in tiles of any size.
std::vector<Tiles> tiles_like(const Driver& driver, const Tiles& rule, const ProductKind& kind) {
  std::vector<Tiles> all{rule};
  const int64_t most = kind.dtype == TENON_F64 ? 16 : 2 * rule.rows * rule.columns;
  for (const auto& [rows, columns] : {std::pair{8, 8}, {8, 4}, {4, 8}, {4, 4}, {4, 2}, {2, 4}}) {
    const int64_t size = rows * columns;
    const Tiles t{rows, columns, rule.chunks};
    if (size <= most && 4 * size >= rule.rows * rule.columns && !(rows == rule.rows && columns == rule.columns) &&
        fits(driver, t, width_of(kind)))
      all.push_back(t);
  }
  return all;
}

std::string name_of(const Tiles& t) {
  return std::to_string(t.rows) + " x " + std::to_string(t.columns) + " a work item";
}

}  // namespace

Kernel gpu_product_kernel(const NodeView& node, const Env& env, const Product& s, const ProductKind& kind) {
  Driver& driver = driver_of(*env.device);
  const Tiles rule = tiles_of(driver, s, kind);
  std::vector<Variant> variants;
  for (const Tiles& t : tiles_like(driver, rule, kind))
    variants.push_back({name_of(t), [&driver, s, kind, t] { return kernel_in(driver, s, kind, t); }});
  variants[0].make = [&driver, s, kind, rule] { return kernel_by_rule(driver, s, kind, rule); };
  return quickest(node, env, variants);
}

}  // namespace opencl_gpu
