#include "ops/reductions.h"

#include <algorithm>

#include "device/kernel_sources.h"
#include "device/table.h"
#include "ops/shapes.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

Argument operand(int i) {
  return [i](Launch& launch) { launch.in(i); };
}
Argument result(int i) {
  return [i](Launch& launch) { launch.out(i); };
}
Argument scratch_at(uint64_t offset) {
  return [offset](Launch& launch) { launch.scratch(offset); };
}

namespace {

std::string identity(const std::string& kind, int32_t dtype) {
  if (kind == "sum") return "0";
  if (kind == "prod") return "1";
  const bool max = kind == "max";
  switch (dtype) {
    case TENON_BOOL:
      return max ? "0" : "1";
    case TENON_I32:
      return max ? "INT_MIN" : "INT_MAX";
    case TENON_I64:
      return max ? "LONG_MIN" : "LONG_MAX";
    default:
      return max ? "-INFINITY" : "INFINITY";
  }
}

struct Stage {  // Shape of kernels/element/reductions.cl
  cl_ulong a, r, b, pieces, length;
};

// How long pieces are: long enough to pay, short enough that their sums are exact to some hundred roundings; 2 or more,
// so that each stage has less to fold than the one before.
uint64_t piece_length(const Driver& driver, const FoldShape& s, bool by_rows) {
  const bool cpu = driver.style() == KernelStyle::kCpu;
  const uint64_t most = by_rows ? 16384 : 1024;
  const uint64_t least = by_rows ? (cpu ? 4096 : 1024) : cpu ? std::max<uint64_t>(2, parts_of(8192, s.b)) : 32;
  const uint64_t outputs = by_rows ? s.a : cpu ? s.a * parts_of(s.b, 256) : s.a * s.b;
  const uint64_t wanted = cpu       ? static_cast<uint64_t>(driver.sum_parts())
                          : by_rows ? 8 * driver.compute_units()
                                    : 1024 * driver.compute_units();
  const uint64_t pieces = std::max<uint64_t>(1, parts_of(wanted, outputs));
  return std::clamp(parts_of(s.r, pieces), std::min(least, most), most);
}

Launch stage_launch(Driver& driver, const std::string& options, const Stage& s, bool by_rows, const Sources* sources,
                    const Argument& x, const Argument& y) {
  Launch launch = Launch::of_text(driver, (sources ? sources->text() : "") + kernel_source("reductions"),
                                  by_rows ? "fold_rows" : "fold_columns", options);
  y(launch);
  if (sources)
    sources->add(launch);
  else
    x(launch);
  launch.bytes(&s, sizeof s);
  if (driver.style() == KernelStyle::kCpu) {
    const uint64_t items = s.a * s.pieces * (by_rows ? 1 : parts_of(s.b, 256));
    const uint64_t work = s.a * s.r * s.b;
    return launch.groups({std::clamp<uint64_t>(work / 4096, 1, std::min<uint64_t>(items, 4 * driver.compute_units()))},
                         {1});
  }
  if (by_rows) return launch.groups({std::min<uint64_t>(s.a * s.pieces, 64 * driver.compute_units())}, {128});
  return launch.items(s.a * s.pieces * s.b);
}

}  // namespace

void add_fold(std::vector<Launch>& launches, Driver& driver, const Fold& fold, const FoldShape& shape,
              const Argument& x, const Argument& y, uint64_t* scratch) {
  constexpr uint64_t kShort = 64;  // a row that one work item of a GPU folds
  FoldShape s = shape;
  Argument from = x;
  int32_t from_dtype = fold.from;
  const Sources* sources = fold.sources;
  std::string map = fold.map.empty() ? "(x)" : "(" + fold.map + ")";
  for (bool last = false; !last;) {
    const bool by_rows = s.b == 1 && (driver.style() == KernelStyle::kCpu || s.r >= kShort);
    const uint64_t length = piece_length(driver, s, by_rows), pieces = parts_of(s.r, length);
    last = pieces == 1;
    const int32_t to_dtype = last ? fold.to : fold.sums;
    const std::string options = "-D KIND_" + fold.kind + " -D IDENTITY=" + identity(fold.kind, fold.sums) +
                                " -D FROM=" + dtype_name(from_dtype) + " -D ACC=" + dtype_name(fold.sums) +
                                " -D TO=" + dtype_name(to_dtype) + (is_float(fold.sums) ? " -D FLOATS" : "") +
                                " -D UNSIGNED=" + (fold.sums == TENON_I64 ? "ulong" : "uint") + " -D MAP=" + map;
    Argument to = y;
    if (!last) {
      to = scratch_at(*scratch);
      *scratch += aligned(s.a * pieces * s.b * static_cast<uint64_t>(dtype_bytes(fold.sums)));
    }
    launches.push_back(stage_launch(driver, options, {s.a, s.r, s.b, pieces, length}, by_rows, sources, from, to));
    from = to;
    sources = nullptr;
    from_dtype = to_dtype;
    map = "(x)";
    s.r = pieces;
  }
}

namespace {

struct Axis {
  uint64_t n;
  bool folded;
};

// Neighbouring axes with the same fate are one.
std::vector<Axis> axes_of(tenon::plugin::Span<int64_t> dims, tenon::plugin::Span<int64_t> folded) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    const uint64_t n = static_cast<uint64_t>(dims[d]);
    const bool is_folded = std::find(folded.begin(), folded.end(), static_cast<int64_t>(d)) != folded.end();
    if (n == 1) continue;
    if (!axes.empty() && axes.back().folded == is_folded)
      axes.back().n *= n;
    else
      axes.push_back({n, is_folded});
  }
  return axes;
}

// One axis at a time, the last first.
Kernel folded_axes(Driver& driver, std::vector<Axis> axes, int32_t kind, int32_t dtype, const Sources* sources) {
  static const char* const kinds[] = {"sum", "prod", "max", "min"};
  const int32_t sums = sum_dtype(dtype);
  std::vector<Launch> launches;
  uint64_t scratch = 0;
  Fold fold{dtype, sums, sums, kinds[kind], "", sources};
  Argument from = operand(0);
  size_t left = static_cast<size_t>(std::count_if(axes.begin(), axes.end(), [](const Axis& a) { return a.folded; }));
  do {
    size_t at = axes.size();
    while (at > 0 && !axes[at - 1].folded) --at;
    FoldShape s{1, 1, 1};
    for (size_t d = 0; d < axes.size(); ++d) (d + 1 < at ? s.a : d + 1 == at ? s.r : s.b) *= axes[d].n;
    const bool last = left <= 1;
    if (last) fold.to = dtype;
    Argument to = result(0);
    if (!last) {
      to = scratch_at(scratch);
      scratch += aligned(s.a * s.b * static_cast<uint64_t>(dtype_bytes(sums)));
    }
    add_fold(launches, driver, fold, s, from, to, &scratch);
    if (at > 0) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(at) - 1);
    from = to;
    fold.from = sums;
    fold.sources = nullptr;
  } while (left-- > 1);
  return kernel_of(std::move(launches), scratch);
}

Kernel reduce_kernel(Driver& driver, const NodeView& node) {
  return folded_axes(driver, axes_of(node.in(0).dims(), node.list("axes")), node.enumerator("kind"), node.in(0).dtype(),
                     nullptr);
}

Kernel folded_map_kernel(Driver& driver, const NodeView& node) {
  const tenon_attr& body = *node.find("body");
  const auto* text = reinterpret_cast<const char*>(node.graph().attr_data(body));
  const std::vector<Axis> axes = axes_of(node.list("dims"), node.list("folded"));
  uint64_t n = 1;
  for (const Axis& axis : axes) n *= axis.n;
  const Sources sources(node, n, std::string(text, body.count), 1);
  Kernel kernel = folded_axes(driver, axes, node.enumerator("kind"), node.out(0).dtype(), &sources);
  sources.allow_in_place(kernel);
  return kernel;
}

// sqrt of the sum of the squares of all operands: each one's sum in scratch, and theirs.
Kernel global_norm_kernel(Driver& driver, const NodeView& node) {
  const int32_t dtype = node.out(0).dtype();
  const uint64_t width = static_cast<uint64_t>(dtype_bytes(dtype)), operands = static_cast<uint64_t>(node.operands());
  std::vector<Launch> launches;
  uint64_t scratch = aligned((operands + 1) * width);
  for (int i = 0; i < node.operands(); ++i)
    add_fold(launches, driver, {node.in(i).dtype(), dtype, dtype, "sum", "(x)*(x)"},
             {1, static_cast<uint64_t>(node.in(i).elements()), 1}, operand(i),
             scratch_at(static_cast<uint64_t>(i) * width), &scratch);
  add_fold(launches, driver, {dtype, dtype, dtype, "sum"}, {1, operands, 1}, scratch_at(0),
           scratch_at(operands * width), &scratch);
  Launch root(driver, "reductions", "root", std::string("-D ROOT=") + dtype_name(dtype));
  launches.push_back(root.out(0).scratch(operands * width).groups({1}));
  return kernel_of(std::move(launches), scratch);
}

}  // namespace

void add_reductions(KernelTable& table) {
  using namespace tenon::plugin;
  table.add(
      "reduce",
      [](const NodeView& node) {
        if (node.in(0).dtype() == TENON_BOOL && node.enumerator("kind") < TENON_REDUCE_MAX)
          return refuse("reduce: no kernel for a sum or product of bool");
        return takes<NumbersAndBool>(0, TENON_REDUCE_MIN + 1)(node);
      },
      [](const NodeView& node, const Env& env) { return reduce_kernel(driver_of(*env.device), node); });
  table.add_own(kFoldedMap,
                [](const NodeView& node, const Env& env) { return folded_map_kernel(driver_of(*env.device), node); });
  table.add("global_norm", takes<Floats>(),
            [](const NodeView& node, const Env& env) { return global_norm_kernel(driver_of(*env.device), node); });
}

}  // namespace opencl_gpu
