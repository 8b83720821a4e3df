#include "ops/indexing.h"

#include <algorithm>

#include "device/kernel_sources.h"
#include "device/table.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "tenon/op/names.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

using tenon::plugin::index_shape;
using tenon::plugin::IndexShape;

namespace {

using tenon::op::gather;
using tenon::op::scatter;
using tenon::op::sort;

std::string index_option(int32_t dtype) { return dtype == TENON_I64 ? "-D I=long" : "-D I=int"; }

struct Indexed {  // IndexShape of kernels/movement/indexing.cl
  cl_ulong b, p, j, s, n;
};

Indexed indexed(const IndexShape& g) {
  const auto u = [](int64_t v) { return static_cast<cl_ulong>(v); };
  return {u(g.b), u(g.p), u(g.j), u(g.s), u(g.n)};
}

Kernel gather_kernel(Driver& driver, const NodeView& node) {
  using op = gather;
  const Indexed g = indexed(index_shape(node));
  constexpr uint64_t kPart = 4096;
  Launch launch(driver, "indexing", "gather",
                "-D GATHER " + index_option(node.in(op::i).dtype()) +
                    " -D E=" + element_type(dtype_bytes(node.out(op::out::y).dtype())));
  launch.out(op::out::y).in(op::x).in(op::i).bytes(&g, sizeof g).value<cl_ulong>(parts_of(g.s, kPart));
  launch.value<cl_ulong>(kPart);
  return kernel_of({launch.items(g.b * g.p * g.j * g.s)});
}

}  // namespace

Launch chains_launch(Driver& driver, const NodeView& node, int operand, int64_t n) {
  const uint64_t parts = (driver.style() == KernelStyle::kCpu ? 4 : 256) * driver.compute_units();
  Launch launch(driver, "indexing", "chains", "-D CHAINS " + index_option(node.in(operand).dtype()));
  launch.scratch().in(operand).value(static_cast<cl_ulong>(n));
  launch.value(static_cast<cl_ulong>(node.in(operand).elements())).value<cl_ulong>(parts);
  return launch.items(parts);
}

Launch scatter_launch(Driver& driver, int32_t index_dtype, int32_t dtype, int32_t sums, bool adds) {
  const std::string d = dtype_name(dtype), y = dtype_name(sums);
  std::string put = "(y, u) (u)";
  if (adds) put = "(y, u) to_stored_" + y + "(to_wide_" + y + "(y)+to_wide_" + d + "(u))";
  if (adds && dtype == TENON_I32) put = "(y, u) (int)((uint)(y)+(uint)(u))";
  if (adds && dtype == TENON_I64) put = "(y, u) (long)((ulong)(y)+(ulong)(u))";
  if (adds && dtype == TENON_BOOL) put = "(y, u) ((y)|(u))";
  // Options define no macros with parameters in OpenCL 1.2.
  return Launch::of_text(driver, "#define PUT" + put + "\n" + kernel_source("indexing"), "scatter",
                         "-D SCATTER " + index_option(index_dtype) + " -D D=" + d + " -D Y=S_" + y);
}

Launch& finish_scatter(Launch& launch, Driver& driver, const IndexShape& shape) {
  const Indexed g = indexed(shape);
  const uint64_t bp = g.b * g.p, wanted = 4 * driver.compute_units();
  launch.bytes(&g, sizeof g);
  if (driver.style() == KernelStyle::kCpu) {  // columns in parts, 16 or more
    const uint64_t part = std::max<uint64_t>(16, parts_of(g.s * bp, wanted)), cuts = parts_of(g.s, part);
    launch.value<cl_ulong>(cuts).value<cl_ulong>(part);
    return launch.groups({std::min<uint64_t>(bp * cuts, wanted)}, {1});
  }
  constexpr uint64_t kLanes = 64;
  const uint64_t blocks = parts_of(g.s, kLanes) * bp;
  const uint64_t cuts = std::clamp<uint64_t>(parts_of(wanted, blocks), 1, g.n), part = parts_of(g.n, cuts);
  launch.value<cl_ulong>(parts_of(g.n, part)).value<cl_ulong>(part);
  return launch.groups({std::min<uint64_t>(blocks * parts_of(g.n, part), 64 * wanted)}, {kLanes});
}

namespace {

// Sums of 16 bits: x widened into scratch, added to, narrowed.
Kernel scatter_through_f32(Driver& driver, const NodeView& node) {
  using op = scatter;
  const int32_t dtype = node.out(op::out::y).dtype();
  const uint64_t n = static_cast<uint64_t>(node.out(op::out::y).elements());
  const std::string options = std::string("-D WIDEN -D D=") + dtype_name(dtype);
  Launch widen(driver, "indexing", "widen", options), narrow(driver, "indexing", "narrow", options);
  widen.scratch().in(op::x).value<cl_ulong>(n).items(n);
  narrow.out(op::out::y).scratch().value<cl_ulong>(n).items(n);
  Launch add = scatter_launch(driver, node.in(op::i).dtype(), dtype, TENON_F32, true);
  finish_scatter(add.scratch().in(op::i).in(op::u), driver, index_shape(node));
  return kernel_of({widen, add, narrow}, n * sizeof(float));
}

Kernel scatter_kernel(Driver& driver, const NodeView& node) {
  using op = scatter;
  const int32_t dtype = node.out(op::out::y).dtype();
  const bool adds = node.enumerator("kind") != TENON_SCATTER_SET;
  if (adds && is_half(dtype)) return scatter_through_f32(driver, node);
  Launch put = scatter_launch(driver, node.in(op::i).dtype(), dtype, dtype, adds);
  finish_scatter(put.out(op::out::y).in(op::i).in(op::u), driver, index_shape(node));
  Kernel kernel;
  kernel.in_place = {{op::x, op::out::y}};
  kernel.run = [put, bytes = static_cast<uint64_t>(node.out(op::out::y).bytes())](const Call& call) {
    copy_through(call, 0, bytes);
    put(call);
  };
  return kernel;
}

// ---- sort ----

Kernel sort_kernel(Driver& driver, const NodeView& node) {
  using op = sort;
  const uint64_t n = static_cast<uint64_t>(node.in(op::x).dim(-1)),
                 rows = static_cast<uint64_t>(node.in(op::x).elements()) / n;
  const uint64_t k = static_cast<uint64_t>(node.i64("k"));
  const int32_t dtype = node.in(op::x).dtype();
  const std::string options = std::string("-D SORT -D D=") + dtype_name(dtype) + (is_float(dtype) ? " -D FLOATS" : "") +
                              " -D DESCENDING=" + (node.flag("descending") ? "1" : "0");
  constexpr uint64_t kFew = 16;
  const bool many_rows = driver.style() == KernelStyle::kCpu || rows >= 64 * driver.compute_units();
  if (k <= kFew && many_rows) {
    Launch few(driver, "indexing", "first_few", options);
    few.out(op::out::values).out(op::out::indices).in(op::x).value<cl_ulong>(rows).value<cl_ulong>(n);
    few.value<cl_ulong>(k);
    return kernel_of({few.items(rows * n, 4096)});
  }
  std::vector<Launch> launches;
  uint64_t from = 0, to = (rows * n * 4 + 63) / 64 * 64;
  const uint64_t scratch = 2 * to;
  for (uint64_t run = 1; run < n; run *= 2) {
    Launch merge(driver, "indexing", "merge", options);
    merge.scratch(to).scratch(from).in(op::x).value<cl_ulong>(rows).value<cl_ulong>(n).value<cl_ulong>(run);
    launches.push_back(merge.items(rows * n));
    std::swap(from, to);
  }
  Launch take(driver, "indexing", "take", options);
  take.out(op::out::values).out(op::out::indices).scratch(from).in(op::x).value<cl_ulong>(rows).value<cl_ulong>(n);
  take.value<cl_ulong>(k);
  launches.push_back(take.value<cl_int>(n > 1).items(rows * k));
  return kernel_of(std::move(launches), scratch);
}

Verdict accept_indexed(const NodeView& node) {
  const int32_t index = node.in(scatter::i).dtype();  // or of gather
  if (index != TENON_I32 && index != TENON_I64)
    return tenon::plugin::refuse(std::string(node.op()) + ": no kernel for indices of " + dtype_name(index));
  return tenon::plugin::take();
}

}  // namespace

void add_indexing(KernelTable& table) {
  using namespace tenon::plugin;
  const auto add = [&](const char* op, Accept accept, Kernel (*make)(Driver&, const NodeView&)) {
    table.add(op, accept, [make](const NodeView& node, const Env& env) { return make(driver_of(*env.device), node); });
  };
  add("gather", accept_indexed, gather_kernel);
  add("scatter", accept_indexed, scatter_kernel);
  add("sort", takes<Numbers>(), sort_kernel);
}

}  // namespace opencl_gpu
