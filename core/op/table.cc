// The one list of all ops, in the order of the documentation.
#include "op/op.h"

namespace tenon {

// clang-format off
#define TENON_OPS(X) \
  /* primitives */ \
  X(kConstant) X(kIota) X(kRandom) X(kNeg) X(kAbs) X(kFloor) X(kRound) X(kExp) X(kExpm1) X(kLog) X(kLog1p) \
  X(kSqrt) X(kSin) X(kCos) X(kTanh) X(kErf) X(kAdd) X(kSub) X(kMul) X(kDiv) X(kMax) X(kMin) X(kPow) X(kAtan2) \
  X(kCompare) X(kSelect) X(kCast) X(kReshape) X(kTranspose) X(kBroadcast) X(kSlice) X(kPad) X(kConcat) \
  X(kReverse) X(kGather) X(kScatter) X(kSort) X(kReduce) X(kDot) X(kConv) X(kConvGradInput) X(kConvGradFilter) \
  X(kAllGather) X(kReplicaId) \
  /* composites */ \
  X(kActivation) X(kActivationGrad) X(kDotBiasAct) X(kConvBiasAct) X(kBiasActGrad) X(kMaxPool) X(kMaxPoolGrad) \
  X(kAvgPool) X(kAvgPoolGrad) X(kBatchNorm) X(kBatchNormGrad) X(kBatchNormApply) \
  X(kSoftmax) X(kSoftmaxGrad) X(kLogSoftmax) X(kLogSoftmaxGrad) X(kSoftmaxCrossEntropy) X(kSoftmaxCrossEntropyGrad) \
  X(kDropout) X(kArgmax) X(kCumsum) X(kLayerNorm) X(kLayerNormGrad) \
  X(kAttention) X(kAttentionGrad) X(kLstm) X(kLstmGrad) X(kGru) X(kGruGrad) \
  X(kGlobalNorm) X(kAllReduce) X(kReduceScatter) X(kResize) X(kAffineImage) X(kCropFlip) \
  /* updates */ \
  X(kSgdUpdate) X(kMomentumUpdate) X(kAdamUpdate) X(kAdamwUpdate) X(kAdamaxUpdate) X(kNadamUpdate) X(kAdagradUpdate) \
  X(kRmspropUpdate) X(kAdadeltaUpdate) X(kFtrlUpdate) X(kLambUpdate) X(kLionUpdate) X(kAdafactorUpdate)
// clang-format on

#define TENON_DECLARE(op) extern const OpDef op;
TENON_OPS(TENON_DECLARE)

#define TENON_ADDRESS(op) &op,
static const OpDef* const kOps[] = {TENON_OPS(TENON_ADDRESS)};

std::span<const OpDef* const> all_ops() { return kOps; }

}  // namespace tenon
