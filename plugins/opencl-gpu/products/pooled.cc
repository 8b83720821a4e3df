#include "products/pooled.h"

#include <algorithm>
#include <cmath>

#include "device/kernel_sources.h"
#include "device/table.h"
#include "products/products_parts.h"
#include "products/winograd.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::ConvShape;

// As kernels/pool/pooled.cl has it.
struct Pooled {
  cl_long images, from_rows, from_columns, c;
  cl_long rows, columns, n;
  cl_long tap_rows, tap_columns, stride_row, stride_column, low_row, low_column;
  cl_long band = 1, chunks = 1;
  cl_long run, padded;
  cl_float floor = 0;
  cl_int bias = 0;

  int64_t columns_of(int64_t windows) const { return (2 * windows - 1) * stride_column + tap_columns; }
  int64_t rows_of(int64_t windows) const { return (2 * windows - 1) * stride_row + tap_rows; }
};

// How a row of taps is cut: `rows` of them x `vectors` are in registers at once.
struct PooledCut {
  int64_t rows, vectors;
};

constexpr int64_t kShortRun = 12;        // floats of a row of taps that vectors of them do not pay for
constexpr int64_t kMostTaps = 32;        // of short runs: sums in registers
constexpr int64_t kNear = 8 * 1024;      // floats of x in the nearest cache
constexpr int64_t kMostImage = 1 << 20;  // floats of x's gradient that a work item holds

std::string pooled_text(const char* file) {
  return std::string(kernel_source("pooled")) + kernel_source("largest") + kernel_source(file);
}

bool is_short(const Pooled& s) { return s.run < kShortRun; }

Pooled pooled_of(const ConvShape& c) {
  Pooled s;
  s.images = c.batch, s.c = c.c, s.n = c.o;
  s.from_rows = c.size[1], s.from_columns = c.size[2];
  s.rows = c.out[1] / 2, s.columns = c.out[2] / 2;
  s.tap_rows = c.taps[1], s.tap_columns = c.taps[2];
  s.stride_row = c.stride[1], s.stride_column = c.stride[2];
  s.low_row = c.low[1], s.low_column = c.low[2];
  s.run = s.padded = s.tap_columns * s.c;
  return s;
}

// Also chooses how many rows of windows are taken at once.
PooledCut tap_cut_of(const Driver& driver, Pooled& s) {
  const int64_t lanes = lanes_of(driver), most = driver.float_width() >= 16 ? 24 : 10;  // of registers
  PooledCut cut{1, pieces(s.run, lanes)};
  const int64_t parts = pieces(cut.vectors, most);
  cut.vectors = pieces(cut.vectors, parts);
  s.padded = parts * cut.vectors * lanes;
  if (parts == 1)
    for (int64_t rows = 2; rows <= s.tap_rows; ++rows)
      if (s.tap_rows % rows == 0 && rows * cut.vectors <= most) cut.rows = rows;
  s.band = 1;
  while (s.band < s.rows && s.rows_of(s.band + 1) * s.columns_of(s.columns) * s.c <= kNear) ++s.band;
  s.band = pieces(s.rows, pieces(s.rows, s.band));
  return cut;
}

int64_t lists_size(const Pooled& s) { return up(s.n, 16) + s.n * (s.band * s.columns + 1) * 2; }  // in floats

std::string pooled_options(const Driver& driver, const PooledCut& cut) {
  return define("VW", lanes_of(driver)) + define("R", cut.rows) + define("RV", cut.vectors);
}

bool has_highest_precision(const NodeView& node) { return node.enumerator("precision") >= TENON_PRECISION_HIGHEST; }

// The convolution as far as the windows need it, from values whose y is the pooled one.
ConvShape even_shape(const NodeView& node, const ValueView& x, const ValueView& w, const ValueView& pooled) {
  ConvShape shape = tenon::plugin::conv_shape(node, x, w, pooled);
  for (int d = 1; d < 3; ++d) shape.out[d] *= 2;
  return shape;
}

// ---- kernels ----

Kernel make_conv_pool(const NodeView& node, const Env& env) {
  using op = own::conv_pool;
  Driver& driver = driver_of(*env.device);
  const ConvShape shape = even_shape(node, node.in(op::x), node.in(op::w), node.out(op::out::pooled));
  const bool bias = node.has(op::bias), relu = node.enumerator("act") == TENON_ACT_RELU;
  if (shape.c >= kShortRun) return winograd_pooled_kernel(driver, shape, bias, relu);
  Pooled s = pooled_of(shape);
  s.bias = bias, s.floor = relu ? 0.0f : -INFINITY;
  const int64_t lanes = lanes_of(driver), vectors = s.n % (2 * lanes) == 0 ? 2 : 1;
  const int64_t room = up(s.rows_of(1) * s.columns_of(up(s.columns, 2)) * s.c, 16);
  const int64_t items = std::min<int64_t>(s.images * s.rows, 4 * driver.compute_units());
  Launch launch = Launch::of_text(driver, pooled_text("pooled_forward"), "pooled_forward",
                                  define("VW", lanes) + define("NV", vectors));
  launch.value(s).value<cl_long>(room).in(op::x).in(op::w).in(bias ? op::bias : op::w).out(op::out::pooled);
  launch.out(op::out::winner).scratch();
  launch.groups({static_cast<size_t>(items)});
  return kernel_of({launch}, static_cast<uint64_t>(items * room) * 4);
}

Kernel make_pooled_grad_input(const NodeView& node, const Env& env) {
  using op = own::pooled_grad_input;
  Driver& driver = driver_of(*env.device);
  Pooled s = pooled_of(even_shape(node, node.out(op::out::dx), node.in(op::w), node.in(op::dp)));
  const PooledCut cut = tap_cut_of(driver, s);
  const std::string text = pooled_text("pooled_input"), options = pooled_options(driver, cut);
  const int64_t image = up(s.rows_of(s.rows) * s.columns_of(s.columns) * s.c + s.padded, 16);
  const int64_t room = up(image + lists_size(s), 16), items = std::min<int64_t>(s.images, 4 * driver.compute_units());
  const uint64_t filters_at = static_cast<uint64_t>(items * room) * 4;
  const int64_t rows = s.n * s.tap_rows;
  Launch filters = Launch::of_text(driver, text, "pooled_filters", options);
  filters.value(s).in(op::w).scratch(filters_at).items(static_cast<uint64_t>(rows), 16);
  Launch sums = Launch::of_text(driver, text, "pooled_grad_input", options);
  sums.value(s).value<cl_long>(room).value<cl_long>(image).in(op::dp).scratch(filters_at).in(op::winner);
  sums.out(op::out::dx).scratch();
  sums.groups({static_cast<size_t>(items)});
  return kernel_of({filters, sums}, filters_at + static_cast<uint64_t>(rows * s.padded) * 4);
}

Kernel make_pooled_grad_filter(const NodeView& node, const Env& env) {
  using op = own::pooled_grad_filter;
  Driver& driver = driver_of(*env.device);
  Pooled s = pooled_of(even_shape(node, node.in(op::x), node.out(op::out::dw), node.in(op::dp)));
  const PooledCut cut = tap_cut_of(driver, s);
  const bool places = is_short(s);
  std::string options = pooled_options(driver, cut);
  if (places) {
    const int64_t rows = s.tap_rows * s.run <= kMostTaps ? s.tap_rows : 1;
    options = define("VW", lanes_of(driver)) + define("R", rows) + define("RUN", s.run) + " -D PLACES_OF";
  }
  const int64_t size = places ? s.tap_rows * s.run * s.n : s.n * s.tap_rows * s.padded;
  const int64_t source = up(s.rows_of(s.band) * s.columns_of(s.columns) * s.c + s.padded, 16);
  s.chunks = std::min<int64_t>(s.images * pieces(s.rows, s.band), driver.sum_parts());
  const int64_t room = up(source + lists_size(s), 16);
  const uint64_t parts_at = static_cast<uint64_t>(s.chunks * room) * 4;
  Launch sums = Launch::of_text(driver, pooled_text("pooled_filter"), "pooled_grad_filter", options);
  sums.value(s).value<cl_long>(room).value<cl_long>(source).value<cl_long>(size).in(op::x).in(op::dp).in(op::winner);
  sums.scratch(parts_at).scratch().groups({static_cast<size_t>(s.chunks)});
  Launch whole = Launch::of_text(driver, pooled_text("pooled_filter"), "pooled_filter_sums", options);
  whole.value(s).value<cl_long>(size).scratch(parts_at).out(op::out::dw);
  whole.items(static_cast<uint64_t>(places ? s.tap_rows * s.run : s.n), 8);
  return kernel_of({sums, whole}, parts_at + static_cast<uint64_t>(s.chunks * size) * 4);
}

}  // namespace

bool pooled_suits(const NodeView& conv, const Env& env) {
  const Driver& driver = driver_of(*env.device);
  const ConvShape c = tenon::plugin::conv_shape(conv);
  if (conv.in(own::product::a).dtype() != TENON_F32 || driver.style() != KernelStyle::kCpu || c.dilation[1] != 1 ||
      c.dilation[2] != 1 || c.o % lanes_of(driver) != 0)
    return false;
  const Pooled s = pooled_of(c);
  const int64_t image = s.rows_of(s.rows) * s.columns_of(s.columns) * s.c;
  if (image > kMostImage || s.from_rows * s.from_columns * s.c > kMostImage) return false;
  return s.c < kShortRun ||
         (!has_highest_precision(conv) && winograd_suits(driver, c, kind_of(conv, AIs::kWindows), false));
}

void add_pooled(KernelTable& table) {
  table.add_own(std::string(kOwn) + ".conv_pool", make_conv_pool);
  table.add_own(std::string(kOwn) + ".pooled_grad_input", make_pooled_grad_input);
  table.add_own(std::string(kOwn) + ".pooled_grad_filter", make_pooled_grad_filter);
}

}  // namespace opencl_gpu
