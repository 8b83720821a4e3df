// argmax and cumsum: what goes along one axis.
#include <algorithm>

#include "device/table.h"
#include "ops/shapes.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

struct Lines {  // kernels/element/lines.cl
  cl_ulong a = 1, n = 1, b = 1;
};

Lines lines_of(const NodeView& node) {
  const ValueView x = node.in(0);
  const int axis = static_cast<int>(node.i64("axis"));
  Lines s;
  for (int d = 0; d < x.rank(); ++d) (d < axis ? s.a : d == axis ? s.n : s.b) *= static_cast<uint64_t>(x.dim(d));
  return s;
}

Kernel line_kernel(Driver& driver, const NodeView& node, const char* name, const std::string& options, bool sums) {
  const Lines s = lines_of(node);
  const int32_t dtype = node.in(0).dtype();
  Launch launch(driver, "lines", name,
                std::string("-D X=") + dtype_name(dtype) + " -D ACC=" + dtype_name(sum_dtype(dtype)) +
                    (is_float(dtype) ? " -D FLOATS" : "") + " -D UNSIGNED=" + (dtype == TENON_I64 ? "ulong" : "uint") +
                    options);
  launch.out(0).in(0).value(s);
  if (sums) launch.value<cl_int>(node.flag("exclusive")).value<cl_int>(node.flag("reverse"));
  constexpr uint64_t kLanes = 64;
  if (driver.style() == KernelStyle::kCpu)
    launch.items(s.a * s.n * s.b);
  else
    launch.groups({std::min<uint64_t>(s.a * s.b, 64 * driver.compute_units())}, {kLanes});
  Kernel kernel = kernel_of({launch});
  if (sums) kernel.in_place = {{0, 0}};
  return kernel;
}

}  // namespace

void add_lines(KernelTable& table) {
  using namespace tenon::plugin;
  table.add("argmax", takes<Numbers>(), [](const NodeView& node, const Env& env) {
    const char* options = node.enumerator("kind", TENON_REDUCE_MAX) == TENON_REDUCE_MIN ? " -D ARGMAX -D MIN" : " -D ARGMAX";
    return line_kernel(driver_of(*env.device), node, "argmax", options, false);
  });
  table.add("cumsum", takes<Numbers>(), [](const NodeView& node, const Env& env) {
    return line_kernel(driver_of(*env.device), node, "cumsum", "", true);
  });
}

}  // namespace opencl_gpu
