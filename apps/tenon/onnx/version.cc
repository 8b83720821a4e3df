#include "onnx/version.h"

namespace tenon::runner {

std::string write_version(const OnnxModel& model, const Strategy& strategy, const std::string& output,
                          const ExportOptions& options) {
  const std::vector<FeatureSpec> features = model.features();
  {  // makes the variables, with the file's values
    Arrays example;
    for (const FeatureSpec& feature : features)
      example.emplace(feature.name, Array(feature.batch_type(strategy.num_replicas_in_sync())));
    Function first = strategy.function(model, {.name = "model"});
    (void)first(example);
  }
  return export_function(strategy, model, features, output, options).take();
}

}  // namespace tenon::runner
