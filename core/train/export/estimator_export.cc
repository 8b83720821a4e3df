// An Estimator's model as what serves it.
#include "export/signatures.h"
#include "train/export/export_outputs.h"
#include "train/export/exports.h"

namespace tenon {
namespace {

std::vector<FeatureSpec> batch_first(std::vector<FeatureSpec> specs) {
  for (FeatureSpec& spec : specs) spec.batch_minor = false;
  return specs;
}

}  // namespace

Result<VersionContents> export_contents(const ModelFn& model, const Params& params, std::vector<FeatureSpec> specs,
                                        const ExportOptions& options) {
  specs = batch_first(std::move(specs));
  VersionContents out{{}, options.labels, {}};
  std::vector<ExportSignature> signatures;
  TENON_ASSIGN(out.model.graph, portable([&](int64_t rows) -> Result<Trace> {
                 TENON_ASSIGN(ExportTrace traced, trace_exports(model, params, specs, rows));
                 signatures = std::move(traced.signatures);
                 return std::move(traced.trace);
               }));
  TENON_TRY(set_signatures(signatures, specs, options, out.model));
  return out;
}

Result<std::string> Estimator::Exports::write(Impl& m, const std::vector<FeatureSpec>& specs, const std::string& base,
                                              const ExportOptions& options) {
  TENON_ASSIGN(VersionContents contents, export_contents(m.model, m.params, specs, options));
  TENON_ASSIGN(const ExportTrace traced, trace_exports(m.model, m.params, batch_first(specs), 1));
  TENON_ASSIGN(const InferenceStates at, m.provide(*traced.trace.graph, options.checkpoint));
  contents.variable = [&](const std::string& name) { return at.states->read(name); };
  return write_version(base, contents, options);
}

Result<std::string> Estimator::export_saved_model(const std::string& export_dir_base, const Dataset& input,
                                                  const ExportOptions& options) {
  const Impl::Listening listening(*impl_);
  TENON_TRY(impl_->open());
  return Exports::write(*impl_, input.specs(), export_dir_base, options);
}

}  // namespace tenon
