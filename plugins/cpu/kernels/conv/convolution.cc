// conv, conv_bias_act: x [N, S.., C], w [K.., C / G, O], [bias O], [residual as y] -> y [N, S'.., O].
// cpu.conv_norm: the same, a batch norm of given moments before the residual: x, w, [bias], [residual], gamma, beta, mean,
// var -> y.
// conv_grad_input: dy, w -> dx. conv_grad_filter: x, dy -> dw.
// cpu.conv_pool: x, w, [bias] -> pooled [N, S' / 2.., O], winner (u8).
// cpu.pooled_grad_input: dp, w, winner -> dx. cpu.pooled_grad_filter: x, dp, winner -> dw.
#include "kernels/conv/conv_algorithm.h"
#include "kernels/conv/conv_batch_norm.h"
#include "kernels/conv/conv_norm.h"
#include "kernels/conv/direct/expand_depthwise.h"
#include "kernels/gemm/narrow.h"
#include "own_nodes.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

ConvData data_of(const Call& call, const ConvProblem& p) {
  const ConvShape& s = p.shape;
  ConvData data{call.in(0), call.in(1), nullptr, nullptr, call.out(0)};  // which of x, w, y and gradients: ConvData
  if (s.bias) data.bias = call.in(op::conv_bias_act::bias);
  if (s.residual) data.residual = call.in(op::conv_bias_act::residual);
  if (!p.pooled) return data;
  if (p.direction == kForward)
    data.to_winner = call.out<uint8_t>(own::conv_pool::out::winner);
  else
    data.winner = call.in<uint8_t>(own::pooled_grad_input::winner);
  return data;
}

Kernel kernel_for(const ConvProblem& p, const ConvWork& work) {
  Kernel kernel = kernel_of(&work);
  const uint64_t scale_at = aligned_room(kernel.thread_scratch_bytes);
  if (p.shape.norm) kernel.thread_scratch_bytes = scale_at + static_cast<uint64_t>(p.shape.o) * sizeof(float);
  kernel.run = [=](const Call& call) {
    ConvData data = data_of(call, p);
    float* const room = reinterpret_cast<float*>(static_cast<char*>(call.thread_scratch) + scale_at);
    if (p.shape.norm) data.norm = norm_of(call, own::conv_norm::gamma, p.shape.o, p.shape.eps, room);
    work.run(call, data);
  };
  return kernel;
}

// An algorithm of f32 works on copies of a few images of bf16, or else, as filters' gradients, of all.
bool by_images(const ConvProblem& p, const ConvAlgorithm& algorithm) {
  return algorithm.dtype == TENON_F32 && p.dtype == TENON_BF16 && p.direction != kFilterGradient && !p.shape.residual;
}

Kernel make_convolution(const NodeView& node, const Env&) {
  const ConvProblem problem = conv_problem(node);
  if (problem.shape.norm && problem.dtype == TENON_BF16) return make_conv_norm_of_bf16(node);
  const ConvAlgorithm& algorithm = choose_algorithm(problem);
  const bool copies = by_images(problem, algorithm);
  Kernel kernel = kernel_for(problem, copies ? with_wide_copies(algorithm.make, problem) : algorithm.make(problem));
  kernel.algorithm = algorithm.name;
  return algorithm.dtype == TENON_F32 && !copies ? narrowed(node, std::move(kernel)) : kernel;
}

plugin::Verdict accept_convolution(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && !plugin::is_float(node.in(i).dtype()))
      return plugin::refuse(std::string("operands of dtype ") + plugin::dtype_name(node.in(i).dtype()));
  if (node.in(0).rank() < 3 || node.in(0).rank() > 5) return plugin::refuse("1 to 3 spatial dimensions only");
  if (node.enumerator("act") > TENON_ACT_HARD_SWISH) return plugin::decompose();
  return plugin::take();
}

}  // namespace

void add_convolution(KernelTable& table) {
  for (const char* op : {"conv", "conv_bias_act", "conv_grad_input", "conv_grad_filter"})
    table.add(op, accept_convolution, make_convolution);
  for (const char* op : {"cpu.conv_norm", "cpu.conv_pool", "cpu.pooled_grad_input", "cpu.pooled_grad_filter"})
    table.add_own(op, make_convolution);
  add_normed_convolution(table);
  add_expand_depthwise(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
