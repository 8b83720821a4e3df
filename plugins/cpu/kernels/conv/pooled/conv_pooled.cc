// cpu.conv_pool: x [N, S.., C], w [K.., C, O], [bias O] -> pooled [N, S' / 2.., O], winner (u8).
// cpu.pooled_grad_input: dp, w, winner -> dx. cpu.pooled_grad_filter: x, dp, winner -> dw.
#include "kernels/conv/conv_filter.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/conv_planar.h"
#include "kernels/conv/conv_thin.h"
#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/conv/pooled/conv_winners.h"
#include "kernels/conv/winograd/conv_winograd.h"
#include "kernels/conv/winograd/conv_winograd5.h"
#include "kernels/gemm/narrow.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Winograd's sums are not those of the definition to the last bit.
bool exact(const NodeView& node, const Env& env) {
  return std::max(node.enumerator("precision"), env.precision) >= TENON_PRECISION_HIGHEST;
}

template <class Work>
Kernel forward_kernel(std::shared_ptr<Work> work, bool bias) {
  Kernel kernel = kernel_of(work);
  kernel.run = [=](const Call& call) {
    GatherData data{call.in(0), call.in(1), bias ? call.in(2) : nullptr, nullptr, call.out(0)};
    data.to_winner = call.out<uint8_t>(1);
    work->run(call, data);
  };
  return kernel;
}

Kernel float_forward(const NodeView& node, const Env& env) {
  const ConvShape s = conv_shape(node);
  if (!exact(node, env) && winograd_gains(s, false))
    return forward_kernel(std::make_shared<Winograd>(s, false, Winograd::Form::kPooled), s.bias);
  if (ThinPooled::suits(s)) return forward_kernel(std::make_shared<ThinPooled>(s), s.bias);
  GatherPlan plan = forward_plan(s);
  plan.pooled_to = true;
  if (!exact(node, env) && Winograd5::suits(plan)) return forward_kernel(std::make_shared<Winograd5>(plan), s.bias);
  if (Planar::suits(plan)) return forward_kernel(std::make_shared<Planar>(plan), s.bias);
  return forward_kernel(std::make_shared<Gather>(plan), s.bias);
}

template <class Work>
Kernel grad_input_kernel(std::shared_ptr<Work> work) {
  Kernel kernel = kernel_of(work);
  kernel.run = [=](const Call& call) {
    GatherData data{call.in(0), call.in(1), nullptr, nullptr, call.out(0)};
    data.from_winner = call.in<uint8_t>(2);
    work->run(call, data);
  };
  return kernel;
}

Kernel float_grad_input(const NodeView& node, const Env& env) {
  const ConvShape s = conv_shape(node);
  if (!exact(node, env) && winograd_gains(s, true))
    return grad_input_kernel(std::make_shared<Winograd>(s, true, Winograd::Form::kPooled));
  GatherPlan plan = input_gradient_plan(s);
  plan.pooled_from = true;
  if (!exact(node, env) && Winograd5::suits(plan)) return grad_input_kernel(std::make_shared<Winograd5>(plan));
  if (Planar::suits(plan)) return grad_input_kernel(std::make_shared<Planar>(plan));
  return grad_input_kernel(std::make_shared<Gather>(plan));
}

Kernel float_grad_filter(const NodeView& node, const Env&) {
  const ConvShape s = conv_shape(node);
  if (WinnerFilterGrad::suits(s)) {
    auto grad = std::make_shared<WinnerFilterGrad>(s);
    Kernel kernel = kernel_of(grad);
    kernel.run = [grad](const Call& call) {
      grad->run(call, call.in(0), call.in(1), call.in<uint8_t>(2), call.out(0));
    };
    return kernel;
  }
  auto grad = std::make_shared<FilterGrad>(s, FilterGrad::Form::kPooled);
  Kernel kernel = kernel_of(grad);
  kernel.run = [grad](const Call& call) { grad->run(call, call.in(0), call.in(1), call.out(0), call.in<uint8_t>(2)); };
  return kernel;
}

}  // namespace

void add_pooled_convolution(KernelTable& table) {
  // Of bf16 copies are made: beside the map, which is never in memory, they are small.
  const auto add = [&table](const char* op, Kernel (*make)(const NodeView&, const Env&)) {
    table.add_own(op, [make](const NodeView& node, const Env& env) { return narrowed(node, make(node, env)); });
  };
  add("cpu.conv_pool", float_forward);
  add("cpu.pooled_grad_input", float_grad_input);
  add("cpu.pooled_grad_filter", float_grad_filter);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
