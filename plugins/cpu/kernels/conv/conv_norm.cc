#include "kernels/conv/conv_norm.h"

#include "kernels/conv/conv_algorithm.h"
#include "kernels/conv/visited_conv.h"
#include "kernels/norm/normalization.h"
#include "kernels/pairs.h"
#include "own_nodes.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using conv_normed = own::conv_norm;

// Normalizes points of y where they lie.
struct NormInPlace {
  Bfloat* y;
  const Bfloat* residual;  // or nullptr
  int64_t c;
  ColumnNorm norm;
  Clip clip;

  static void visit(const void* context, int64_t, const PointRun* runs, int64_t count, Slice channels) {
    const auto& n = *static_cast<const NormInPlace*>(context);
    const SeeSubnormals here;
    const ColumnNorm norm = n.norm.at(channels.begin);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = runs[i].first * n.c + channels.begin;
      apply_columns(n.y + at, n.residual ? n.residual + at : nullptr, runs[i].length, channels.end - channels.begin,
                    n.c, norm.mean, norm.scale, norm.shift, n.clip, n.y + at);
    }
  }
};

// The convolution alone.
ConvProblem bare_problem(ConvProblem p) {
  p.shape.norm = p.shape.residual = false;
  p.shape.act = TENON_ACT_NONE;
  return p;
}

}  // namespace

Kernel make_conv_norm_of_bf16(const NodeView& node) {
  const ConvProblem problem = conv_problem(node), bare = bare_problem(problem);
  const ConvAlgorithm& algorithm = choose_algorithm(bare);
  const auto conv = std::make_shared<VisitedConv>(visited_conv(bare));
  const bool itself = normalizes(algorithm) && algorithm.dtype == problem.dtype && conv->work.parts > 0;
  if (itself) conv->work = algorithm.make(problem);
  const bool bias = problem.shape.bias, residual = problem.shape.residual;
  Kernel kernel = kernel_of(&conv->work);
  kernel.algorithm = algorithm.name;
  const uint64_t scale_at = aligned_room(kernel.thread_scratch_bytes);
  kernel.thread_scratch_bytes = scale_at + static_cast<uint64_t>(conv->c) * sizeof(float);
  kernel.run = [=, eps = problem.shape.eps, clip = Clip::of(problem.shape.act)](const Call& call) {
    float* const room = reinterpret_cast<float*>(static_cast<char*>(call.thread_scratch) + scale_at);
    const ColumnNorm norm = norm_of(call, conv_normed::gamma, conv->c, eps, room);
    ConvData data{call.in(conv_normed::x), call.in(conv_normed::w), bias ? call.in(conv_normed::bias) : nullptr,
                  residual ? call.in(conv_normed::residual) : nullptr, call.out(0)};
    if (itself) {
      data.norm = norm;
      return conv->work.run(call, data);
    }
    const NormInPlace in_place{call.out<Bfloat>(0), reinterpret_cast<const Bfloat*>(data.residual), conv->c, norm,
                               clip};
    data.residual = nullptr;
    conv->run(call, data, {&in_place, NormInPlace::visit});
  };
  return kernel;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
