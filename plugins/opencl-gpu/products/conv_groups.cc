#include "products/conv_groups.h"

#include <algorithm>

#include "device/kernel_sources.h"
#include "products/products_parts.h"

namespace opencl_gpu {
namespace {

constexpr int64_t kRowTaps = 8;  // of a row of the filter, whose sums are in registers
constexpr int64_t kLanes = 64, kPoints = 4;

bool is_filter(const ProductKind& kind) { return kind.a == AIs::kTransposedWindows; }

bool one_each(const Product& s) { return s.n == 1 && s.channels == 1 && s.a_batch == 1 && s.b_batch == 1; }

int64_t volume(const cl_long (&axes)[3]) { return axes[0] * axes[1] * axes[2]; }

bool in_32_bits(const Product& s, const ProductKind& kind) {
  const int64_t points = is_filter(kind) ? s.k : s.m, images = points / volume(s.to);
  const int64_t size_a = images * volume(s.from) * s.pitch, size_c = points * std::max(s.c_row, s.b_row);
  return std::max({size_a, size_c, s.batch * s.m * s.n, s.batch * s.k * s.n}) < INT32_MAX;
}

std::string options_of(const Product& s, const ProductKind& kind) {
  std::string options = product_options(kind);
  options += in_32_bits(s, kind) ? " -D INDEX=int" : " -D INDEX=long";
  options += one_each(s) ? " -D ONE_EACH" : define("FILTERS", s.n);
  return options;
}

Kernel kernel_by_points(Driver& driver, const Product& s, const ProductKind& kind) {
  Launch launch =
      Launch::of_text(driver, ending_text("conv_groups"), "conv_groups", options_of(s, kind) + end_options(kind));
  launch.value(ended(s, kind)).in(own::product::a).in(own::product::b);
  add_epilogue(launch, kind);
  const int64_t rows = s.m / s.to[2], lanes = s.batch * s.n;
  const bool cpu = driver.style() == KernelStyle::kCpu;
  const int64_t items = cpu ? s.m * pieces(lanes, kLanes) : rows * pieces(s.to[2], kPoints) * lanes;
  return kernel_of({launch.out(own::product::out::c).items(static_cast<uint64_t>(items), cpu ? kLanes : 1)});
}

// As many as keep the device busy; on CPUs a number that no compute units change.
int64_t chunks_of(const Driver& driver, const Product& s, int64_t items) {
  constexpr int64_t kBusy = 2048, kMostParts = 1 << 23;  // work items of a compute unit; numbers
  const int64_t wanted =
      driver.style() == KernelStyle::kCpu ? driver.sum_parts() : pieces(kBusy * driver.compute_units(), items);
  const int64_t most = std::max<int64_t>(kMostParts / (s.batch * s.m * s.n), 1);
  return std::min({wanted, most, s.k / s.to[2]});
}

Kernel kernel_of_filter(Driver& driver, const Product& s, const ProductKind& kind) {
  const bool cpu = driver.style() == KernelStyle::kCpu;
  const int64_t lanes = cpu ? pieces(s.batch * s.n, kLanes) : s.batch * s.n;
  const int64_t items = s.taps[0] * s.taps[1] * s.channels * lanes, chunks = chunks_of(driver, s, items);
  ProductKind sums = kind;
  sums.result = kind.wide();
  Launch launch = Launch::of_text(driver, ending_text("conv_groups"), "conv_groups_filter",
                                  options_of(s, kind) + end_options(sums) + " -D FILTER" + define("TAPS", s.taps[2]));
  launch.value(in_parts(s, chunks)).in(own::product::a).in(own::product::b).scratch();
  launch.items(static_cast<uint64_t>(items * chunks), cpu ? 2 : 1);
  const int64_t bytes = chunks * s.batch * s.m * s.n * tenon::plugin::dtype_bytes(kind.wide());
  return kernel_of({launch, sum_of_parts(driver, s, kind, chunks, 0)}, static_cast<uint64_t>(bytes));
}

}  // namespace

bool conv_groups_suits(const Driver& driver, const Product& s, const ProductKind& kind) {
  constexpr int64_t kNarrow = 16, kShallow = 4, kFewEach = 4;
  if (s.batch == 1 || (is_filter(kind) && s.taps[2] > kRowTaps)) return false;
  if (driver.style() == KernelStyle::kCpu) return s.n * s.channels <= kFewEach;
  return s.n <= kNarrow || s.channels <= kShallow;
}

Kernel conv_groups_kernel(Driver& driver, const Product& s, const ProductKind& kind) {
  return is_filter(kind) ? kernel_of_filter(driver, s, kind) : kernel_by_points(driver, s, kind);
}

}  // namespace opencl_gpu
