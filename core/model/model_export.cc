// A model as what serves it.
#include "base/strings.h"
#include "model/model_training.h"
#include "tenon/export.h"

namespace tenon {

std::string Model::export_saved_model(const std::string& export_dir_base, const ExportOptions& options) {
  const std::vector<Type> types = example_types();
  if (types.empty())
    fail("export_saved_model: nothing says what the model takes: it has no Input(), and was not called yet");
  std::vector<std::string> names = input_names();
  if (names.size() != types.size()) {
    names.clear();
    for (size_t i = 0; i < types.size(); ++i) names.push_back(types.size() == 1 ? "x" : cat("x_", i));
  }
  std::vector<FeatureSpec> features;
  for (size_t i = 0; i < types.size(); ++i) features.push_back({names[i], types[i]});
  build();
  const TensorFunction function = [&](const Features& in) {
    Tensors xs;
    for (const std::string& name : names) xs.push_back(in[name]);
    Outputs out;
    for (const Tensor& y : all(xs)) out.add(cat("output_", out.all().size()), y);
    return out;
  };
  return export_function(training().strategy, function, features, export_dir_base, options).take();
}

}  // namespace tenon
