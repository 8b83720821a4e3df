// Requests that TF Serving plays to a version before it serves it: assets.extra/tf_serving_warmup_requests, a file of records, each a
// PredictionLog (tensorflow_serving/apis/prediction_log.proto).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/exported_model.h"

namespace tenon {

constexpr const char* kWarmUpRequests = "assets.extra/tf_serving_warmup_requests";

// One of a row of zeros for each signature, or of a black image.
Result<std::vector<std::string>> warm_up_requests(const std::vector<ServingSignature>& signatures,
                                                  const std::optional<ExportedImages>& images);

}  // namespace tenon
