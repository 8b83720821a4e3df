// Products on CPU devices: kernels/product/product_cpu.cl.
#include <algorithm>

#include "device/kernel_sources.h"
#include "device/tuning.h"
#include "products/products_parts.h"

namespace opencl_gpu {
namespace {

// What a program is compiled for.
struct Registers {
  int lanes = 4, vectors = 2, rows = 4;  // of c: rows x (vectors of lanes)
  static constexpr int kDepth = 256;
  static constexpr int kPanels = 8;  // of rows in a block of a

  int columns() const { return lanes * vectors; }
  int most_rows() const { return rows * kPanels; }
};

// How one product is cut.
struct Cut {
  int64_t rows, columns;  // a tile's
  int64_t chunks = 1;     // of k
  bool packs = true;
  int64_t items = 1;

  int64_t tiles(const Product& s) const { return chunks * s.batch * pieces(s.m, rows) * pieces(s.n, columns); }
};

bool stays(const ProductKind& kind) { return kind.dtype == kind.wide(); }

// The one place where a program's parameters are chosen.
Registers registers_of(const Driver& driver, const Product& s, const ProductKind& kind) {
  Registers r;
  r.lanes = static_cast<int>(std::clamp<uint32_t>(driver.float_width(), 4, 16)) / (kind.dtype == TENON_F64 ? 2 : 1);
  const int most = driver.float_width() >= 16 ? 14 : 6;  // of 32 or 16 registers
  r.vectors = s.n <= r.lanes ? 1 : 2;
  const auto cost = [&](int rows) { return pieces(s.m, rows) * (2 * rows + 3); };
  r.rows = r.vectors == 1 || cost(most) <= cost(4) ? most : 4;
  return r;
}

// As large as caches like them, but `wanted` of them where there is so much.
Cut cut_into_tiles(const Product& s, const Registers& r, int64_t wanted) {
  constexpr int64_t kColumns = 512;
  Cut cut{};
  cut.rows = std::min<int64_t>(r.most_rows(), up(s.m, r.rows));
  cut.columns = up(s.n, r.columns());
  if (s.k > Registers::kDepth) cut.columns = std::min(cut.columns, kColumns);
  while (cut.tiles(s) < wanted) {
    if (cut.rows > 2 * r.rows)
      cut.rows = up(cut.rows / 2, r.rows);
    else if (cut.columns > r.columns())
      cut.columns = up(cut.columns / 2, r.columns());
    else
      break;
  }
  return cut;
}

// And the one where a shape's are.
Cut cut_of(const Driver& driver, const Product& s, const ProductKind& kind, const Registers& r) {
  const bool small = s.batch * s.m * s.n * s.k < 1 << 18;
  const int64_t wanted = small ? 1 : 4 * driver.compute_units(), parts = small ? 1 : driver.sum_parts();
  Cut cut = cut_into_tiles(s, r, wanted);
  const int64_t missing = parts / cut_into_tiles(s, r, parts).tiles(s);
  if (missing > 1) cut.chunks = std::max<int64_t>(std::min(s.k / (2 * Registers::kDepth), missing), 1);
  cut.rows = up(pieces(s.m, pieces(s.m, cut.rows)), r.rows);  // of equal size
  const bool rows_of_b = stays(kind) && s.b_column == 1 && s.b_inner >= s.k && s.n % r.columns() == 0;
  cut.packs = !rows_of_b;
  cut.items = std::min<int64_t>(cut.tiles(s), wanted);
  return cut;
}

std::string same(const ProductKind& kind) { return stays(kind) ? " -D SAME_DTYPE" : ""; }

std::string options_of(const Registers& r, const ProductKind& kind, bool packs) {
  return product_options(kind) + define("VW", r.lanes) + define("NV", r.vectors) + define("MR", r.rows) +
         define("KC", Registers::kDepth) + define("MC", r.most_rows()) +
         (kind.dtype == TENON_F64 ? " -D W_VECTOR=double" : " -D W_VECTOR=float") + same(kind) +
         (packs ? "" : " -D B_ROWS");
}

Launch pack(Driver& driver, const Product& s, ProductKind kind, const Registers& r, uint64_t at) {
  kind.a = AIs::kMatrix;
  const std::string text = std::string(kernel_source("product")) + kernel_source("product_pack");
  Launch pack = Launch::of_text(driver, text, "pack_b", product_options(kind) + define("NR", r.columns()) + same(kind));
  add_members(pack.value(s).in(own::product::b).scratch(at), kind, {});
  const int64_t grains = s.batch * pieces(s.n, r.columns()) * pieces(s.k, Registers::kDepth);
  return pack.groups({static_cast<size_t>(std::min<int64_t>(grains, 4 * driver.compute_units()))});
}

Kernel kernel_in(Driver& driver, const Product& s, const ProductKind& kind, const Registers& r, const Cut& cut) {
  const bool transposed = kind.a == AIs::kTransposedMatrix || kind.a == AIs::kTransposedWindows;
  const bool held = s.k > Registers::kDepth, parts = cut.chunks > 1 || !ends_at_once(kind);
  const int64_t width = kind.dtype == TENON_F64 ? 8 : 4, sums = cut.chunks * s.batch * s.m * s.n;
  const int64_t block =
      transposed ? Registers::kDepth * (r.most_rows() + 16) : r.most_rows() * (Registers::kDepth + 16);
  const int64_t panel = cut.packs ? 0 : Registers::kDepth * r.columns();
  const int64_t room = up(block + panel + (held ? cut.rows * cut.columns : r.rows * r.columns()), 16);
  const uint64_t b_at = up(cut.items * room * width, 64);
  const uint64_t parts_at = b_at + (cut.packs ? up(s.batch * up(s.n, r.columns()) * s.k * width, 64) : 0);

  std::vector<Launch> launches;
  if (cut.packs) launches.push_back(pack(driver, s, kind, r, b_at));
  Launch product = Launch::of_text(driver, tile_source() + kernel_source("product_cpu"), "product_cpu",
                                   options_of(r, kind, cut.packs));
  product.value(parts ? in_parts(s, cut.chunks) : ended(s, kind));
  product.value<cl_long>(cut.rows).value<cl_long>(cut.columns).value<cl_long>(room).in(own::product::a);
  cut.packs ? product.scratch(b_at) : product.in(own::product::b);
  add_epilogue(product, kind);
  parts ? product.scratch(parts_at) : product.out(own::product::out::c);
  Places places;
  if (cut.packs) places.b = b_at;
  if (parts) places.c = parts_at;
  add_members(product.scratch(), kind, places);
  product.groups({static_cast<size_t>(cut.items)});
  launches.push_back(product);
  if (parts) launches.push_back(sum_of_parts(driver, s, kind, cut.chunks, parts_at));
  return kernel_of(std::move(launches), parts_at + (parts ? up(sums * width, 64) : 0));
}

// Other cuts than the rule's. All keep its chunks of k, and so the order of each sum.
std::vector<Cut> cuts_like(const Product& s, const Registers& r, const Cut& rule) {
  std::vector<Cut> cuts{rule};
  const auto add = [&](int64_t rows, int64_t columns, bool packs) {
    Cut cut = rule;
    cut.rows = rows, cut.columns = columns, cut.packs = packs;
    cut.items = std::min(cut.items, cut.tiles(s));
    cuts.push_back(cut);
  };
  const int64_t all = up(s.n, r.columns());
  if (rule.columns < all) add(rule.rows, std::min(2 * rule.columns, all), rule.packs);
  if (rule.rows > r.rows) add(up(rule.rows / 2, r.rows), rule.columns, rule.packs);
  if (!rule.packs) add(rule.rows, rule.columns, true);
  return cuts;
}

std::string name_of(const Cut& cut) {
  return "tiles of " + std::to_string(cut.rows) + " x " + std::to_string(cut.columns) + (cut.packs ? ", packed" : "");
}

}  // namespace

Kernel cpu_product_kernel(const NodeView& node, const Env& env, const Product& s, const ProductKind& kind) {
  Driver& driver = driver_of(*env.device);
  const Registers r = registers_of(driver, s, kind);
  std::vector<Variant> variants;
  for (const Cut& cut : cuts_like(s, r, cut_of(driver, s, kind, r)))
    variants.push_back({name_of(cut), [&driver, s, kind, r, cut] { return kernel_in(driver, s, kind, r, cut); }});
  return quickest(node, env, variants);
}

}  // namespace opencl_gpu
