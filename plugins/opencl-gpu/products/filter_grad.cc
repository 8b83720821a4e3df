#include "products/filter_grad.h"

#include <algorithm>

#include "device/kernel_sources.h"
#include "device/tuning.h"
#include "products/products_parts.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::ConvShape;

// As kernels/product/product_filter.cl has it.
struct FilterGrad {
  cl_long images, from[3], to[3], taps[3], stride[3], dilation[3], low[3];
  cl_long c, n;
  cl_long c_part, rows;
  cl_long chunks;
  cl_long run_channels = 0, run_from = 0, run_stride = 0, run_low = 0;

  int64_t points() const { return images * to[0] * to[1]; }
};

constexpr int64_t kRows = 8;  // channels of x in registers

bool whole_channels(const ConvShape& s) { return s.c % kRows == 0; }

// A row's taps and their channels as channels of a point of y.
void join_taps(FilterGrad& f) {
  f.run_channels = f.c, f.run_from = f.from[2], f.run_stride = f.stride[2], f.run_low = f.low[2];
  f.c *= f.taps[2];
  f.from[2] = f.to[2];
  f.taps[2] = f.stride[2] = 1;
  f.low[2] = 0;
}

// The one place where parameters are chosen.
FilterGrad shape_of(const Driver& driver, const ConvShape& s) {
  constexpr int64_t kSums = 64 * 1024, kPoints = 224, kMostParts = 1 << 23;  // floats; points of y; floats
  FilterGrad f;
  f.images = s.batch, f.c = s.c, f.n = s.o;
  for (int d = 0; d < 3; ++d) {
    f.from[d] = s.size[d], f.to[d] = s.out[d], f.taps[d] = s.taps[d];
    f.stride[d] = s.stride[d], f.dilation[d] = s.dilation[d], f.low[d] = s.low[d];
  }
  if (!whole_channels(s)) join_taps(f);
  const int64_t taps = f.taps[0] * f.taps[1] * f.taps[2], wanted = driver.sum_parts();
  f.c_part = std::clamp<int64_t>(kSums / (taps * s.o) / kRows * kRows, kRows, up(f.c, kRows));
  f.chunks = std::min(pieces(wanted, pieces(f.c, f.c_part)), f.points());
  f.chunks = std::clamp<int64_t>(kMostParts / (taps * f.c * s.o), 1, f.chunks);
  f.rows = std::max<int64_t>(kPoints / s.out[2], 1);
  return f;
}

Kernel kernel_in(Driver& driver, const FilterGrad& s, const ProductKind& kind) {
  const int64_t lanes = lanes_of(driver), vectors = s.n % (2 * lanes) == 0 ? 2 : 1;
  const int64_t taps = s.taps[0] * s.taps[1] * s.taps[2], size = taps * s.c * s.n;
  const int64_t items = std::min<int64_t>(s.chunks * pieces(s.c, s.c_part), 4 * driver.compute_units());
  const int64_t sums_size = up(taps * up(s.c_part, kRows) * s.n, 16), y_size = up(s.rows * s.to[2] * s.n, 16);
  const int64_t room = sums_size + y_size + up(s.rows * s.from[2] * kRows, 16);
  const uint64_t parts_at = up(items * room * 4, 64);
  Launch sums = Launch::of_text(
      driver, tile_source() + kernel_source("product_filter"), "filter_grad",
      "-D T=f32 -D A_IS=0 -D W_VECTOR=float" + define("NV", vectors) + define("VW", lanes) + define("MR", kRows));
  sums.value(s).value<cl_long>(room).value<cl_long>(sums_size).value<cl_long>(y_size).in(own::product::a);
  sums.in(own::product::b);
  s.chunks > 1 ? sums.scratch(parts_at) : sums.out(own::product::out::c);
  sums.scratch().groups({static_cast<size_t>(items)});
  if (s.chunks == 1) return kernel_of({sums}, parts_at);
  Product whole;
  whole.m = taps * s.c, whole.n = s.n, whole.c_row = s.n, whole.c_batch = size;
  return kernel_of({sums, sum_of_parts(driver, whole, kind, s.chunks, parts_at)},
                   parts_at + static_cast<uint64_t>(s.chunks * size) * 4);
}

// Other parts than the rule's. All keep its chunks, and so the order of each sum.
std::vector<FilterGrad> parts_like(const FilterGrad& rule) {
  std::vector<FilterGrad> all{rule};
  const auto add = [&](int64_t rows, int64_t c_part) {
    FilterGrad f = rule;
    f.rows = rows, f.c_part = c_part;
    all.push_back(f);
  };
  if (rule.rows > 1) add(rule.rows / 2, rule.c_part);
  if (rule.c_part > kRows) add(rule.rows, up(rule.c_part / 2, kRows));
  return all;
}

}  // namespace

bool filter_grad_suits(const Driver& driver, const ConvShape& s, const ProductKind& kind) {
  return driver.style() == KernelStyle::kCpu && kind.dtype == TENON_F32 && kind.result == TENON_F32 && s.groups == 1 &&
         (whole_channels(s) || s.dilation[2] == 1) && s.o % lanes_of(driver) == 0;
}

Kernel filter_grad_kernel(const NodeView& node, const Env& env, const ConvShape& shape, const ProductKind& kind) {
  Driver& driver = driver_of(*env.device);
  std::vector<Variant> variants;
  for (const FilterGrad& f : parts_like(shape_of(driver, shape)))
    variants.push_back({std::to_string(f.rows) + " rows of " + std::to_string(f.c_part) + " channels",
                    [&driver, kind, f] { return kernel_in(driver, f, kind); }});
  Kernel kernel = quickest(node, env, variants);
  kernel.algorithm = "direct, " + kernel.algorithm;
  return kernel;
}

}  // namespace opencl_gpu
