// The signatures of a model function: what EstimatorSpec::export_outputs says, held to TensorFlow's rules.
#pragma once

#include <string>
#include <vector>

#include "export/signatures.h"
#include "step/trace.h"
#include "tenon/estimator.h"

namespace tenon {

// With "serving_default"; where the spec says nothing that is its predictions. Throws Error.
ExportOutputs export_outputs(const EstimatorSpec& spec);

// The graph of prediction with a result exported_result(KEY, OUTPUT) for each output of each signature, for batches of so many rows.
struct ExportTrace {
  Trace trace;
  std::vector<ExportSignature> signatures;
};
Result<ExportTrace> trace_exports(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                                  int64_t batch_size);

}  // namespace tenon
