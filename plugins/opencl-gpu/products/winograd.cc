#include "products/winograd.h"

#include <algorithm>
#include <cmath>

#include "device/kernel_sources.h"
#include "products/products_parts.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::ConvShape;

constexpr int64_t kPlanes = 36, kStep = 4, kFilterRows = 8;

// As kernels/product/product_winograd.cl has it.
struct Winograd {
  cl_long images, rows, columns, from_rows, from_columns, low_row, low_column, k, n;
  cl_long tap, k_step, n_step;
  cl_float floor;
  cl_int bias, residual, unused = 0;

  int64_t tiles() const { return images * pieces(rows, kStep) * pieces(columns, kStep); }
};

struct Parameters {
  int64_t lanes, rows, block, depth;  // block: tiles; depth: of k at once

  int64_t columns() const { return 2 * lanes; }
};

int64_t depth_of(int64_t k) { return k <= 32 ? 32 : k <= 64 ? 64 : k <= 128 ? 128 : 256; }

std::string text_of() { return tile_source() + kernel_source("largest") + kernel_source("product_winograd"); }

std::string options_of(const Parameters& p) {
  return "-D T=f32 -D A_IS=0 -D W_VECTOR=float -D NV=2" + define("VW", p.lanes) + define("MR", p.rows) +
         define("BLOCK", p.block) + define("KC", p.depth);
}

Parameters parameters_of(const Driver& driver, const Winograd& s) {
  Parameters p;
  p.lanes = lanes_of(driver);
  p.rows = driver.float_width() >= 16 ? 14 : 6;
  p.block = p.rows * (p.rows == 14 ? 2 : 4);
  p.depth = depth_of(s.k);
  return p;
}

Winograd shape_of(const ConvShape& s, bool input) {
  const ConvShape::Axes &to = input ? s.size : s.out, &from = input ? s.out : s.size;
  Winograd w;
  w.images = s.batch * to[0];
  w.rows = to[1], w.columns = to[2], w.from_rows = from[1], w.from_columns = from[2];
  w.low_row = input ? 2 - s.low[1] : s.low[1], w.low_column = input ? 2 - s.low[2] : s.low[2];
  w.k = input ? s.o : s.c, w.n = input ? s.c : s.o;
  w.tap = input ? -s.c * s.o : s.c * s.o;
  w.k_step = input ? 1 : s.o, w.n_step = input ? s.o : 1;
  return w;
}

// What the two launches of a convolution share.
struct Blocks {
  int64_t items, room, panels;
  uint64_t filters_at, end;  // in scratch, in bytes

  Blocks(const Driver& driver, const Winograd& s, const Parameters& p) {
    panels = pieces(s.n, p.columns());
    items = std::min<int64_t>(pieces(s.tiles(), p.block), 2 * driver.compute_units());  // whose room stays in the cache
    room = kPlanes * p.block * (p.depth + 16 + panels * p.columns());
    filters_at = up(items * room * 4, 64);
    end = filters_at + up(kPlanes * panels * p.columns() * s.k * 4, 64);
  }
};

Launch filters_launch(Driver& driver, const Winograd& s, const Parameters& p, const Blocks& b) {
  Launch filters = Launch::of_text(driver, text_of(), "winograd_filters", options_of(p));
  filters.value(s).in(own::product::b).scratch(b.filters_at);
  const int64_t groups = std::min<int64_t>(pieces(b.panels * s.k, 16), 4 * driver.compute_units());
  return filters.groups({static_cast<size_t>(groups)});
}

Kernel winograd_of(std::vector<Launch> launches, uint64_t scratch_bytes) {
  Kernel kernel = kernel_of(std::move(launches), scratch_bytes);
  kernel.algorithm = "winograd 3x3";
  return kernel;
}

}  // namespace

bool winograd_suits(const Driver& driver, const ConvShape& s, const ProductKind& kind, bool input) {
  constexpr int64_t kLeastChannels = 16;
  if (driver.style() != KernelStyle::kCpu || kind.dtype != TENON_F32 || kind.result != TENON_F32 || s.groups != 1)
    return false;
  const bool flat = s.taps[0] == 1 && s.size[0] == s.out[0] && s.stride[0] == 1 && s.low[0] == 0;
  bool square = s.taps[1] == 3 && s.taps[2] == 3;
  for (int d = 1; d < 3; ++d) square = square && s.stride[d] == 1 && s.dilation[d] == 1;
  const int64_t lanes = lanes_of(driver);
  if (!flat || !square || s.c < kLeastChannels || s.c % lanes != 0 || s.o % lanes != 0) return false;
  const Winograd w = shape_of(s, input);
  return 2 * w.rows * w.columns >= up(w.rows, kStep) * up(w.columns, kStep) && w.tiles() >= 16;
}

Kernel winograd_kernel(Driver& driver, const ConvShape& shape, const ProductKind& kind, bool input, double alpha) {
  Winograd s = shape_of(shape, input);
  const Parameters p = parameters_of(driver, s);
  const bool parts = !ends_at_once(kind);
  Product sums;  // as what comes behind sees it
  sums.m = s.images * s.rows * s.columns, sums.n = s.n, sums.c_row = s.n, sums.c_batch = sums.m * s.n;
  sums.set_alpha(alpha);
  const Product end = parts ? in_parts(sums, 1) : ended(sums, kind);
  s.floor = end.floor, s.bias = end.bias, s.residual = end.residual;

  const Blocks b(driver, s, p);
  Launch product = Launch::of_text(driver, text_of(), "winograd", options_of(p));
  product.value(s).value<cl_long>(b.room).in(own::product::a).scratch(b.filters_at);
  add_epilogue(product, kind);
  parts ? product.scratch(b.end) : product.out(own::product::out::c);
  product.scratch().groups({static_cast<size_t>(b.items)});
  std::vector<Launch> launches{filters_launch(driver, s, p, b), product};
  if (parts) launches.push_back(sum_of_parts(driver, sums, kind, 1, b.end));
  return winograd_of(std::move(launches), b.end + (parts ? up(sums.m * sums.n * 4, 64) : 0));
}

Kernel winograd_pooled_kernel(Driver& driver, const ConvShape& shape, bool bias, bool relu) {
  Winograd s = shape_of(shape, false);
  s.bias = bias, s.residual = 0, s.floor = relu ? 0.0f : -INFINITY;
  const Parameters p = parameters_of(driver, s);
  const Blocks b(driver, s, p);
  Launch product = Launch::of_text(driver, text_of(), "winograd", options_of(p) + " -D POOLED");
  product.value(s).value<cl_long>(b.room).in(own::product::a).scratch(b.filters_at);
  product.in(bias ? own::conv_pool::bias : own::conv_pool::w).out(own::conv_pool::out::winner);
  product.out(own::conv_pool::out::pooled).scratch();
  product.groups({static_cast<size_t>(b.items)});
  return winograd_of({filters_launch(driver, s, p, b), product}, b.end);
}

// ---- the filter's gradient ----

bool winograd_filter_suits(const Driver& driver, const ConvShape& s, const ProductKind& kind) {
  return winograd_suits(driver, s, kind, false) && s.o % (2 * lanes_of(driver)) == 0 && s.c % kFilterRows == 0;
}

Kernel winograd_filter_kernel(Driver& driver, const ConvShape& shape, const ProductKind& kind) {
  constexpr int64_t kBlock = 32, kSums = 600 * 1024, kMostParts = 1 << 23;  // tiles; floats; floats
  const Winograd s = shape_of(shape, false);
  Parameters p{lanes_of(driver), kFilterRows, kBlock, 0};
  const int64_t unit = std::max(p.lanes, kFilterRows);  // of channels; the kernel takes kFilterRows at once
  const int64_t most = kSums / (kPlanes * s.n) / unit * unit;
  const int64_t c_part = std::clamp<int64_t>(most, unit, std::min<int64_t>(s.k, 256));
  p.depth = depth_of(c_part);
  const int64_t wanted = driver.sum_parts(), c_parts = pieces(s.k, c_part), size = 9 * s.k * s.n;
  int64_t chunks = std::clamp<int64_t>(kMostParts / size, 1, pieces(wanted, c_parts));
  chunks = std::min(chunks, pieces(s.tiles(), kBlock));
  const int64_t items = std::min<int64_t>(chunks * c_parts, 4 * driver.compute_units());
  const int64_t room = kPlanes * (kBlock * (p.depth + 16 + p.columns()) + c_part * s.n);
  const uint64_t parts_at = up(items * room * 4, 64);
  Launch sums =
      Launch::of_text(driver, text_of() + kernel_source("winograd_filter"), "winograd_filter_grad", options_of(p));
  sums.value(s).value<cl_long>(chunks).value<cl_long>(c_part).value<cl_long>(room).in(own::product::a);
  sums.in(own::product::b);
  chunks > 1 ? sums.scratch(parts_at) : sums.out(own::product::out::c);
  sums.scratch().groups({static_cast<size_t>(items)});
  if (chunks == 1) return winograd_of({sums}, parts_at);
  Product whole;
  whole.m = 9 * s.k, whole.n = s.n, whole.c_row = s.n, whole.c_batch = size;
  return winograd_of({sums, sum_of_parts(driver, whole, kind, chunks, parts_at)},
                     parts_at + static_cast<uint64_t>(chunks * size) * 4);
}

}  // namespace opencl_gpu
