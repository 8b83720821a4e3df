// The exporters of one train_and_evaluate().
#pragma once

#include <string>
#include <vector>

#include "export/version_writer.h"
#include "train/estimator_impl.h"

namespace tenon {

// All of a version but the values of its variables.
Result<VersionContents> export_contents(const ModelFn& model, const Params& params, std::vector<FeatureSpec> specs,
                                        const ExportOptions& options);

class Estimator::Exports {
 public:
  Exports(Impl& m, const EvalSpec& eval) : m_(m), exporters_(eval.exporters), input_(eval.input) {}

  // BASE/VERSION, of a checkpoint or of the states that there are.
  static Result<std::string> write(Impl& m, const std::vector<FeatureSpec>& specs, const std::string& base,
                                   const ExportOptions& options);
  // Before the first step: that the model can be exported, and the exporters are as they should be.
  Status prepare();
  // `last`: training ends here.
  Status after_evaluation(const EvalResult& result, bool last) const;

 private:
  std::string directory(const Exporter& exporter) const;
  Result<bool> is_due(const Exporter& exporter, const EvalResult& result, bool last) const;
  Status check_names() const;
  Impl& m_;
  const std::vector<Exporter>& exporters_;
  const TrainInput& input_;
  std::vector<FeatureSpec> specs_ = {};
};

}  // namespace tenon
