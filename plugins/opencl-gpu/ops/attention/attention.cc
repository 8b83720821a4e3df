// attention(q, k, v, [bias], [seed], [step]) -> y, lse and attention_grad(dy, q, k, v, y, lse, [bias], [seed], [step])
// -> dq, dk, dv, [dbias]: no scores are stored.
#include <cmath>

#include "ops/attention/attention_parts.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

using tenon::op::attention;
using tenon::op::attention_grad;

Attention attention_of(const NodeView& node, Operands at) {
  const ValueView q = node.in(at.q), k = node.in(at.q + 1);
  Attention a{q.dim(0), q.dim(1), q.dim(2), q.dim(3), k.dim(1), k.dim(2)};
  a.causal = node.flag("causal");
  a.stream = static_cast<cl_uint>(node.i64("stream"));
  const uint64_t scores = static_cast<uint64_t>(a.B * a.N * a.T * a.S);
  a.before = static_cast<cl_long>(static_cast<uint64_t>(node.i64("first")) * scores & ((uint64_t{1} << 34) - 1));
  // k 2^-24 < rate as f32 exactly where k < ceil(2^24 rate).
  a.limit = static_cast<cl_uint>(std::ceil(static_cast<float>(node.f64("rate")) * 0x1p24f));
  a.wants_bias = node.has_result(attention_grad::out::dbias);
  a.biased = node.has(at.bias);
  if (!a.biased) return a;
  const ValueView bias = node.in(at.bias);
  if (bias.dim(2) > 1) a.bias_t = a.S;
  if (bias.dim(1) > 1) a.bias_n = bias.dim(2) * a.S;
  if (bias.dim(0) > 1) a.bias_b = bias.dim(1) * bias.dim(2) * a.S;
  return a;
}

Launch attention_launch(Driver& driver, const NodeView& node, const std::string& parts, const char* file,
                        const char* name, const std::string& options) {
  const std::string dtypes =
      std::string("-D X=") + dtype_name(node.in(0).dtype()) + " -D ACC=" + dtype_name(wide_dtype(node));
  const std::string text = kernel_source("philox") + row_source("attention") + parts + kernel_source(file);
  return Launch::of_text(driver, text, name, dtypes + options);
}

Launch& finish(Launch& launch, const NodeView& node, Operands at, const Attention& a, uint64_t room_at) {
  for (int i = 0; i < at.bias + 3; ++i) launch.in(node.has(i) ? i : at.q);
  launch.scratch(room_at).value(a);
  const int32_t wide = wide_dtype(node);
  return real(real(launch, wide, node.f64("scale", 1)), wide, 1 / (1 - node.f64("rate")));
}

namespace {

Verdict accept(const NodeView& node, Operands at) {
  for (int i = at.q; i < at.q + 3; ++i)
    if (!tenon::plugin::is_float(node.in(i).dtype()) || node.in(i).rank() != 4)
      return refuse("attention: q, k and v must be floats [batch, length, heads, size]");
  const ValueView q = node.in(at.q), k = node.in(at.q + 1);
  if (q.dim(2) % k.dim(2)) return refuse("attention: q's heads must be a multiple of k's");
  const double rate = node.f64("rate");
  if (!(rate >= 0 && rate < 1)) return refuse("attention: rate must lie in [0, 1)");
  if (rate > 0 && !(node.has(at.bias + 1) && node.has(at.bias + 2)))
    return refuse("attention: dropout needs seed and step");
  if (node.in(at.q + 2).dim(3) != q.dim(3)) return decompose();  // values of another size
  if (q.elements() / q.dim(3) * k.dim(1) > int64_t{1} << 34) return decompose();
  if (!node.has(at.bias)) return tenon::plugin::take();
  const ValueView bias = node.in(at.bias);
  const int64_t whole[4] = {q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
  if (bias.rank() != 4 || bias.dtype() != q.dtype() || bias.dim(3) != whole[3]) return decompose();
  for (int i = 0; i < 3; ++i)
    if (bias.dim(i) != whole[i] && (bias.dim(i) != 1 || node.has_result(attention_grad::out::dbias)))
      return decompose();
  return tenon::plugin::take();
}

using Make = Kernel (*)(Driver& driver, const NodeView& node, Attention a);

void add(KernelTable& table, const char* op, Operands at, Make cpu, Make gpu) {
  table.add(
      op, [at](const NodeView& node) { return accept(node, at); },
      [at, cpu, gpu](const NodeView& node, const Env& env) {
        Driver& driver = driver_of(*env.device);
        return (driver.style() == KernelStyle::kCpu ? cpu : gpu)(driver, node, attention_of(node, at));
      });
}

}  // namespace

void add_attention(KernelTable& table) {
  add(table, "attention", kForward, cpu_attention, gpu_attention);
  add(table, "attention_grad", kGradient, cpu_attention_grad, gpu_attention_grad);
}

}  // namespace opencl_gpu
