#include "time/kernel_time.h"

#include <algorithm>

#include "tenon/op/names.h"
#include "time/matrix_time.h"

namespace tpu {
namespace {

using tenon::plugin::NodeView;

constexpr double kFillCycles = 256;  // of a matrix unit's pipeline, for each kernel
// LAMB's step length needs the norms of all of a parameter and of its direction before the first is changed, so that
// both are read once more.
constexpr double kLambExtraBytes = 8;

const char* category_of(const StepGraph& program, const FusedKernel& fused, PieceKind kind) {
  const std::string_view root = program.graph.node(program.pieces[static_cast<size_t>(fused.root)].node).op();
  if (kind == PieceKind::kMatrix) {
    for (int i : fused.pieces)
      if (program.graph.node(program.pieces[static_cast<size_t>(i)].node).op().substr(0, 4) == "conv")
        return "convolution";
    return "dot";
  }
  if (kind == PieceKind::kUpdate) return "update";
  if (kind == PieceKind::kCollective) return root == "all_gather" ? "all-gather" : "all-reduce";
  if (kind == PieceKind::kReduce) return "reduce";
  if (kind == PieceKind::kMove || root == "transpose" || root == "reshape") return "copy";
  return "fusion";
}

// What the kernel is mostly: its product's kind if it has one, else its root's.
PieceKind kind_of(const StepGraph& program, const FusedKernel& fused) {
  for (int i : fused.pieces)
    if (program.pieces[static_cast<size_t>(i)].kind == PieceKind::kMatrix) return PieceKind::kMatrix;
  return program.pieces[static_cast<size_t>(fused.root)].kind;
}

uint64_t largest(const StepGraph& program, const Piece& piece) {
  uint64_t elements = 0;
  for (const auto* values : {&piece.in, &piece.out})
    for (uint32_t value : *values) {
      uint64_t n = 1;
      for (int64_t d : program.layouts[value].padded) n *= static_cast<uint64_t>(d);
      elements = std::max(elements, n);
    }
  return elements;
}

// What is in the way of reading and writing whole values: gathers read rows, scatters change them in place.
void moved_bytes(const StepGraph& program, const FusedKernel& fused, Kernel& kernel) {
  const Piece& root = program.pieces[static_cast<size_t>(fused.root)];
  const NodeView node = program.graph.node(root.node);
  const bool rows = root.kind == PieceKind::kMove && node.op() != "sort";
  const uint32_t skip = rows ? program.base[node.operand_id(0)] : TENON_NONE;
  for (uint32_t value : kernel.reads) {
    if (value == skip) continue;
    kernel.padded_bytes += program.layouts[value].bytes;
    kernel.bytes += program.layouts[value].dense_bytes;
  }
  for (uint32_t value : kernel.writes) {
    const uint32_t moved =
        rows && node.op() == "scatter" ? program.base[node.operand_id(tenon::op::scatter::u)] : value;
    kernel.padded_bytes += program.layouts[moved].bytes * (rows ? 2 : 1);
    kernel.bytes += program.layouts[moved].dense_bytes * (rows ? 2 : 1);
  }
  kernel.padded_bytes = static_cast<uint64_t>(static_cast<double>(kernel.padded_bytes) * root.passes);
}

double collective_seconds(const StepGraph& program, const Piece& piece, const Machine& machine) {
  double bytes = 0;
  for (uint32_t value : piece.in) bytes += static_cast<double>(program.layouts[value].dense_bytes);
  const double rate =
      machine.collective_bytes_per_s * (machine.hosts > 1 ? machine.collective_slowdown_beyond_host : 1);
  const double fill = std::min(1.0, bytes / machine.collective_piece_bytes) * machine.collective_fill_s;
  return machine.collective_launch_s + fill + bytes / rate;
}

double update_extra(const StepGraph& program, const Piece& piece, const Machine& machine) {
  const NodeView node = program.graph.node(piece.node);
  double extra = machine.update_extra_bytes;
  if (node.op() == "rmsprop_update") extra += machine.rmsprop_extra_bytes;
  if (node.op() == "lamb_update") extra += kLambExtraBytes;
  return extra * static_cast<double>(node.in(0).elements());
}

}  // namespace

Kernel time_kernel(const StepGraph& program, const FusedKernel& fused, const Machine& machine) {
  Kernel kernel;
  const Piece& root = program.pieces[static_cast<size_t>(fused.root)];
  const PieceKind kind = kind_of(program, fused);
  kernel.root = root.node;
  kernel.category = category_of(program, fused, kind);
  kernel.reads = fused.reads;
  kernel.writes = fused.writes;
  moved_bytes(program, fused, kernel);
  double cycles = 0, vector_ops = 0;
  for (int i : fused.pieces) {
    const Piece& piece = program.pieces[static_cast<size_t>(i)];
    if (kernel.nodes.empty() || kernel.nodes.back() != piece.node) kernel.nodes.push_back(piece.node);
    if (piece.kind == PieceKind::kMatrix) {
      const MatrixWork work = matrix_work(program.graph.node(piece.node));
      kernel.flops += work.flops;
      kernel.padded_flops += work.padded_flops;
      if (work.vector_ops > 0 && work.vector_ops / machine.vector_ops_per_cycle < work.cycles / machine.matrix_units)
        vector_ops += work.vector_ops;
      else
        cycles += work.cycles / machine.matrix_units + kFillCycles;
    } else {
      vector_ops += piece.vector_ops * static_cast<double>(largest(program, piece));
    }
  }
  kernel.matrix_s = cycles / (machine.clock_hz * machine.matrix_efficiency);
  kernel.vector_s = vector_ops / (machine.vector_ops_per_cycle * machine.clock_hz);
  kernel.memory_s = static_cast<double>(kernel.padded_bytes) / machine.hbm_bytes_per_s;
  if (kind == PieceKind::kUpdate) kernel.memory_s += update_extra(program, root, machine) / machine.hbm_bytes_per_s;
  if (kind == PieceKind::kUpdate && machine.sharded_update) {
    kernel.memory_s /= machine.cores;
    kernel.vector_s /= machine.cores;
  }
  kernel.seconds = std::max({kernel.matrix_s, kernel.vector_s, kernel.memory_s});
  kernel.bound = kernel.seconds == kernel.matrix_s   ? Bound::kMatrixUnit
                 : kernel.seconds == kernel.memory_s ? Bound::kMemory
                                                     : Bound::kVectorUnit;
  kernel.seconds += machine.overlap_loss * std::min(kernel.matrix_s, kernel.memory_s);
  if (kind == PieceKind::kCollective) {
    kernel.seconds = machine.cores > 1 ? collective_seconds(program, root, machine) : 0;
    kernel.bound = Bound::kInterconnect;
    return kernel;
  }
  if (kernel.seconds < machine.launch_s) kernel.bound = Bound::kLaunch;
  kernel.seconds += machine.launch_s;
  return kernel;
}

}  // namespace tpu
