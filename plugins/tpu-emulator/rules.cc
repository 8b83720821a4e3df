#include "rules.h"

#include <algorithm>
#include <initializer_list>

#include "tensorflow_names.h"

namespace tpu {
namespace {

using tenon::plugin::NodeView;
using tenon::plugin::ValueView;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string placeholder(const NodeView& node) { return "{{node " + std::string(node.name()) + "}}"; }

// Ops of Tenon whose TensorFlow counterpart has no kernel.
bool has_no_kernel(const NodeView& node) { return is_one_of(node.op(), {"affine_image", "crop_flip", "foreign"}); }

// Ops of which an operand decides about a shape, and which operand.
int shape_operand(std::string_view tensorflow) {
  if (is_one_of(tensorflow, {"SplitV", "Reshape", "Tile", "Pad", "PadV2", "BroadcastTo", "Fill", "TopKV2"})) return 1;
  if (is_one_of(tensorflow, {"ConcatV2", "Slice", "StridedSlice"})) return 2;
  return -1;
}

std::string no_kernel(const NodeView& node) {
  const std::string op = tensorflow_op(node);
  return "Compilation failure: Detected unsupported operations when trying to compile graph tenon_step[] on "
         "XLA_TPU_JIT: " +
         op + " (No registered '" + op + "' OpKernel for XLA_TPU_JIT devices compatible with node " +
         placeholder(node) +
         ")\n    One approach is to outside compile the unsupported ops to run on CPUs by enabling soft placement "
         "(--soft_placement). This has a potential performance penalty.\n    TPU compilation failed";
}

bool is_constant(const NodeView& node, int operand) {
  const auto& graph = node.graph();
  for (uint32_t i = 0; i < graph.n_constants(); ++i)
    if (graph.constant(i).value == node.operand_id(operand)) return true;
  return false;
}

std::string foreign(const NodeView& node) {
  const std::string op = tensorflow_op(node);
  const int which = shape_operand(op);
  if (which < 0 || !node.has(which) || is_constant(node, which)) return no_kernel(node);
  return "Compilation failure: Input " + std::to_string(which) + " to node `" + std::string(node.name()) +
         "` with op " + op + " must be a compile-time constant.\n    TPU compilation failed";
}

// "%y = u8[8,28,28,1] convert(...)".
std::string hlo_line(const NodeView& node, const ValueView& value) {
  return "%" + std::string(node.name()) + " = " + hlo_shape(value) + " " + std::string(node.op()) + "(...)";
}

std::string bad_dtype(const NodeView& node, const ValueView& value) {
  if (value.dtype() == TENON_U8)
    return "Compilation failure: Invalid HLO for TPU: U8 and S8 types are not supported: " + hlo_line(node, value) +
           "\n    TPU compilation failed";
  return "Value for attr 'T' of " + std::string(tensorflow_dtype(value.dtype())) +
         " is not in the list of allowed values: bfloat16, float32, int32, uint32\n    ; NodeDef: " +
         placeholder(node) + "; Op<name=" + tensorflow_op(node) + ">";
}

// Sums over replicas take bf16 and f32 alone.
std::string bad_reduction(const NodeView& node, const ValueView& value) {
  return "Value for attr 'T' of " + std::string(tensorflow_dtype(value.dtype())) +
         " is not in the list of allowed values: bfloat16, float32\n    ; NodeDef: " + placeholder(node) +
         "; Op<name=CrossReplicaSum>";
}

bool is_bad(int32_t dtype) { return dtype == TENON_F64 || dtype == TENON_F16 || dtype == TENON_U8; }

}  // namespace

std::string refusal_of(const NodeView& node, const std::vector<std::string>& kernels) {
  if (node.op() == "foreign") return foreign(node);
  if (has_no_kernel(node) && std::find(kernels.begin(), kernels.end(), tensorflow_op(node)) == kernels.end())
    return no_kernel(node);
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && is_bad(node.in(i).dtype())) return bad_dtype(node, node.in(i));
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i) && is_bad(node.out(i).dtype())) return bad_dtype(node, node.out(i));
  if (is_one_of(node.op(), {"all_reduce", "reduce_scatter"}))
    for (int i = 0; i < node.operands(); ++i)
      if (node.has(i) && node.in(i).dtype() != TENON_F32 && node.in(i).dtype() != TENON_BF16)
        return bad_reduction(node, node.in(i));
  return {};
}

}  // namespace tpu
