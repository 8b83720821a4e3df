#include "kernels/conv/visited_conv.h"

#include <algorithm>

#include "kernels/conv/conv_algorithm.h"
#include "kernels/norm/normalization.h"

namespace tenon::cpu::TENON_CPU_ISA {

VisitedConv visited_conv(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const ConvAlgorithm& algorithm = choose_algorithm(p);
  VisitedConv v;
  v.algorithm = algorithm.name;
  v.work = algorithm.dtype == p.dtype ? algorithm.make(p) : with_wide_copies(algorithm.make, p);
  v.rows = s.batch * (p.gradient() ? s.x_points() : s.y_points());
  v.c = p.gradient() ? s.c : s.o;
  v.piece = piece_rows(v.rows, v.c);
  v.pieces = pieces_of(v.rows, v.piece);
  v.parts = v.work.parts > 0 ? v.work.parts : v.pieces;
  return v;
}

void VisitedConv::run(const Call& call, ConvData data, const ResultVisitor& visitor) const {
  if (work.parts > 0) data.visitor = &visitor;
  work.run(call, data);
  call.barrier();
  if (work.parts > 0) return;
  const Slice mine = call.share(pieces);
  for (int64_t p = mine.begin; p < mine.end; ++p) {
    const PointRun run{p * piece, std::min(piece, rows - p * piece)};
    visitor.visit(visitor.context, p, &run, 1, {0, c});
  }
  call.barrier();
}

}  // namespace tenon::cpu::TENON_CPU_ISA
