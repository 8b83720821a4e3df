// Any function of tensors as what serves it.
#include "base/strings.h"
#include "export/signatures.h"
#include "export/version_writer.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

Result<Trace> traced_for(Strategy::Impl& strategy, const TensorFunction& function,
                         const std::vector<FeatureSpec>& features, int64_t rows, ExportSignature* signature) {
  *signature = {kDefaultSignature, "tensorflow/serving/predict", {}, {}};
  const TensorFunction named = [&](const Features& in) {
    const Outputs given = function(in);
    Outputs out;
    for (const auto& [name, output] : given.all()) {
      const Tensor& tensor = output.tensor;
      if (!tensor || tensor.rank() == 0)
        fail("export_function: '", name, "' ", tensor ? "is a scalar, expected a row an example" : "was never set");
      const std::vector<int64_t> dims = tensor.shape().vec();
      signature->outputs.push_back({name, {tensor.dtype(), Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()))}});
      out.add(exported_result(kDefaultSignature, name), {tensor, ResultMode::kLast, Joining::kRows});
    }
    return out;
  };
  TraceOptions options = strategy.tracing(Mode::kPredict, "export_function", true);
  options.replicas = 1;
  options.casts_inputs = true;
  TENON_ASSIGN(Trace trace, tenon::trace(named, batch_inputs(features, rows, 1), options));
  for (const FeatureSpec& feature : features)
    for (const GraphInput& input : trace.graph->inputs)
      if (input.role == Role::kFeed && input.name == feature.name)
        signature->inputs.push_back({feature.name, feature.type});
  return trace;
}

}  // namespace

Result<std::string> export_function(const Strategy& strategy, const TensorFunction& function,
                                    const std::vector<FeatureSpec>& features, const std::string& export_dir_base,
                                    const ExportOptions& options) {
  VersionContents contents{{}, options.labels, {}};
  ExportSignature signature;
  TENON_ASSIGN(contents.model.graph, portable([&](int64_t rows) {
                 return traced_for(strategy.impl(), function, features, rows, &signature);
               }));
  TENON_TRY(set_signatures({signature}, features, options, contents.model));
  contents.variable = [&](const std::string& name) { return strategy.impl().variables->read(name); };
  return write_version(export_dir_base, contents, options);
}

}  // namespace tenon
