// max_pool, avg_pool: x [N, S.., C] -> y [N, S'.., C]. max_pool_grad: x, y, dy -> dx. avg_pool_grad: dy -> dx.
#include "device/launch.h"
#include "device/table.h"
#include "tenon/op/names.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

using tenon::op::avg_pool_grad;
using tenon::op::max_pool;
using tenon::op::max_pool_grad;

// As kernels/pool/pool.cl has it; of fewer than three spatial axes, the first have size 1.
struct Pool {
  cl_long batch = 1, c = 1;
  cl_long x[3] = {1, 1, 1}, y[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, low[3] = {0, 0, 0};
  cl_long count_pad = 0;
};

Pool pool_of(const NodeView& node, const ValueView& x, const ValueView& y) {
  Pool s;
  s.batch = x.dim(0), s.c = x.dim(-1);
  for (int i = 0, d = 5 - x.rank(); d < 3; ++i, ++d) {
    s.x[d] = x.dim(1 + i), s.y[d] = y.dim(1 + i);
    s.window[d] = tenon::plugin::item(node, "window", i, 1);
    s.stride[d] = tenon::plugin::item(node, "strides", i, 1);
    s.low[d] = tenon::plugin::item(node, "low", i, 0);
  }
  s.count_pad = node.flag("count_pad");
  return s;
}

bool is_disjoint(const Pool& s) {
  for (int d = 0; d < 3; ++d)
    if (s.low[d] != 0 || s.stride[d] < s.window[d]) return false;
  return true;
}

uint64_t points(const cl_long* size) { return static_cast<uint64_t>(size[0] * size[1] * size[2]); }

Kernel make_pool(const NodeView& node, const Env& env) {
  const bool max = node.op().substr(0, 3) == "max", grad = node.op().size() > 8;
  const ValueView y = !grad ? node.out(max_pool::out::y) : max ? node.in(max_pool_grad::y) : node.in(avg_pool_grad::dy);
  const ValueView x = grad ? node.out(max_pool_grad::out::dx) : node.in(max_pool::x);
  const Pool s = pool_of(node, x, y);
  const bool disjoint = grad && max && is_disjoint(s);
  const std::string name = grad ? std::string(node.op()) : "pool";
  Launch launch(driver_of(*env.device), "pool", name,
                "-D KERNEL_" + name + " -D T=" + tenon::plugin::dtype_name(x.dtype()) + (max ? " -D IS_MAX" : "") +
                    (disjoint ? " -D DISJOINT" : ""));
  launch.value(s);
  for (int i = 0; i < node.operands(); ++i) launch.in(i);
  launch.out(0).items(static_cast<uint64_t>(s.batch * s.c) * points(grad && !disjoint ? s.x : s.y));
  return kernel_of({launch});
}

}  // namespace

void add_pools(KernelTable& table) {
  for (const char* op : {"max_pool", "avg_pool", "max_pool_grad", "avg_pool_grad"})
    table.add(op, tenon::plugin::takes<tenon::plugin::Floats>(), make_pool);
}

}  // namespace opencl_gpu
