// softmax, log_softmax, softmax_cross_entropy and their gradients.
#include <climits>

#include "device/table.h"
#include "ops/rows.h"
#include "tenon/op/names.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

using tenon::op::softmax;
using tenon::op::softmax_cross_entropy;
using tenon::op::softmax_cross_entropy_grad;
using tenon::op::softmax_grad;

using tenon::plugin::Floats;

struct RowShape {
  uint64_t rows, n, stride;
};

RowShape along(const ValueView& x, int64_t axis) {
  RowShape s{1, 1, 1};
  if (axis < 0) axis += x.rank();
  for (int d = 0; d < x.rank(); ++d) {
    const uint64_t n = static_cast<uint64_t>(x.dim(d));
    (d == axis ? s.n : s.rows) *= n;
    if (d > axis) s.stride *= n;
  }
  return s;
}

std::string dtype_options(int32_t dtype, bool strided) {
  return std::string("-D D=") + dtype_name(dtype) + " -D ACC=" + dtype_name(sum_dtype(dtype)) +
         (strided ? " -D STRIDE=stride" : " -D STRIDE=1");
}

Launch& finish_rows(Launch& launch, const Driver& driver, const RowShape& s) {
  launch.value<cl_ulong>(s.rows).value<cl_ulong>(s.n).value<cl_ulong>(s.stride);
  return over_rows(launch, driver, s.rows, s.n);
}

Kernel softmax_kernel(Driver& driver, const NodeView& node) {
  const bool gradient = node.operands() == 2, logarithm = node.op().substr(0, 3) == "log";
  const RowShape s = along(node.in(0), node.i64("axis"));
  Launch launch = Launch::of_text(driver, row_source("softmax"), gradient ? "softmax_grad" : "softmax",
                                  dtype_options(node.in(0).dtype(), s.stride > 1) + (logarithm ? " -D LOGARITHM" : ""));
  if (gradient)
    launch.out(softmax_grad::out::dx).in(softmax_grad::dy).in(softmax_grad::y);
  else
    launch.out(softmax::out::y).in(softmax::x);
  Kernel kernel = kernel_of({finish_rows(launch, driver, s)});
  kernel.in_place = {{0, 0}};
  if (gradient) kernel.in_place.push_back({softmax_grad::y, softmax_grad::out::dx});
  return kernel;
}

Kernel cross_entropy_kernel(Driver& driver, const NodeView& node) {
  using forward = softmax_cross_entropy;
  using backward = softmax_cross_entropy_grad;
  const bool gradient = node.operands() == 4;
  const int x = gradient ? +backward::x : +forward::x;
  const int32_t dtype = node.in(x).dtype(), label = node.in(x + 1).dtype(), sums = sum_dtype(dtype);
  const RowShape s = along(node.in(x), -1);
  Launch launch = Launch::of_text(
      driver, row_source("softmax"), gradient ? "cross_entropy_grad" : "cross_entropy",
      dtype_options(dtype, false) + " -D LABEL=" + dtype_name(label) + (is_float(label) ? " -D DENSE" : ""));
  if (gradient)
    launch.out(backward::out::dx).in(backward::dloss).in(x).in(backward::label).in(backward::lse);
  else
    launch.out(forward::out::loss).out(forward::out::lse).in(x).in(forward::label);
  finish_rows(launch, driver, s);
  real(real(launch, sums, node.f64("on", 1)), sums, node.f64("off")).value<cl_long>(node.i64("ignore", LLONG_MIN));
  Kernel kernel = kernel_of({launch});
  if (gradient) kernel.in_place = {{x, backward::out::dx}};
  return kernel;
}

Verdict accept_cross_entropy(const NodeView& node, int x) {
  const int32_t dtype = node.in(x).dtype(), label = node.in(x + 1).dtype();
  if (!is_float(dtype)) return refuse("softmax_cross_entropy: logits must be float");
  if (label != dtype && label != TENON_I32 && label != TENON_I64)
    return refuse("softmax_cross_entropy: labels must be i32, i64 or of the logits' dtype");
  return tenon::plugin::take();
}

}  // namespace

void add_softmax(KernelTable& table) {
  using namespace tenon::plugin;
  for (const char* op : {"softmax", "log_softmax", "softmax_grad", "log_softmax_grad"})
    table.add(op, takes<Floats>(),
              [](const NodeView& node, const Env& env) { return softmax_kernel(driver_of(*env.device), node); });
  const auto make = [](const NodeView& node, const Env& env) {
    return cross_entropy_kernel(driver_of(*env.device), node);
  };
  table.add(
      "softmax_cross_entropy",
      [](const NodeView& node) { return accept_cross_entropy(node, softmax_cross_entropy::x); }, make);
  table.add(
      "softmax_cross_entropy_grad",
      [](const NodeView& node) { return accept_cross_entropy(node, softmax_cross_entropy_grad::x); }, make);
}

}  // namespace opencl_gpu
