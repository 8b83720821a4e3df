// An Estimator's model as what serves it.
#include <algorithm>
#include <map>

#include "train/export/export_outputs.h"
#include "train/export/exports.h"

namespace tenon {
namespace {

constexpr std::string_view kPrefix = "export/";

// Results "export/KEY/OUTPUT" get the output's own name, where all signatures mean the same by it; else "KEY/OUTPUT".
class ResultNames {
 public:
  explicit ResultNames(PortableGraph& graph) {
    std::map<std::string, int> value_of;
    std::map<std::string, bool> shared;  // by OUTPUT, whether one value has the name
    for (const PortableResult& result : graph.results) {
      const std::string name = output_of(result.name);
      shared[name] = shared.contains(name) ? shared[name] && value_of[name] == result.value : true;
      value_of[name] = result.value;
    }
    std::vector<PortableResult> kept;
    for (PortableResult& result : graph.results) {
      const std::string output = output_of(result.name);
      const std::string name = shared[output] ? output : result.name.substr(kPrefix.size());
      names_[result.name] = name;
      if (std::none_of(kept.begin(), kept.end(), [&](const PortableResult& r) { return r.name == name; }))
        kept.push_back({name, result.value});
    }
    graph.results = std::move(kept);
  }
  const std::string& of(const std::string& key, const std::string& output) const {
    return names_.at(cat(kPrefix, key, "/", output));
  }

 private:
  static std::string output_of(const std::string& result) { return result.substr(result.rfind('/') + 1); }
  std::map<std::string, std::string> names_;
};

ServingSignature of_tensors(const ExportSignature& from, const ResultNames& names, bool labelled) {
  ServingSignature out{from.key, from.method_name, {}, {}};
  for (const auto& [name, type] : from.inputs) out.inputs.push_back({name, ServingValue::Kind::kTensor, name, type});
  for (const auto& [name, type] : from.outputs) {
    const std::string& tensor = names.of(from.key, name);
    out.outputs.push_back({name, ServingValue::Kind::kTensor, tensor, type});
    if (labelled && name == "classid" && is_integer(type.dtype))
      out.outputs.push_back({"class", ServingValue::Kind::kLabel, tensor, type});
  }
  return out;
}

// Files in the place of the feature; nothing where the signature does not have it.
std::optional<ServingSignature> of_images(ServingSignature signature, const ExportedImages& images) {
  for (ServingValue& input : signature.inputs)
    if (input.tensor == images.feature) {
      input.name = "image_bytes";
      input.kind = ServingValue::Kind::kImage;
      return signature;
    }
  return {};
}

Status check_images(const ExportedImages& images, const std::vector<FeatureSpec>& specs) {
  const Type expected{DType::kF32, {images.height, images.width, images.channels}};
  for (const FeatureSpec& spec : specs)
    if (spec.name == images.feature)
      return spec.type == expected ? Status()
                                   : invalid("ExportOptions.images are ", expected.str(), ", the feature '", spec.name,
                                             "' is ", spec.type.str());
  return invalid("ExportOptions.images: the model has no feature '", images.feature, "'");
}

Result<std::vector<ServingSignature>> serving_signatures(const std::vector<ExportSignature>& from,
                                                         const ResultNames& names, const ExportOptions& options) {
  std::vector<ServingSignature> out;
  for (const ExportSignature& signature : from) {
    ServingSignature tensors = of_tensors(signature, names, !options.labels.empty());
    std::optional<ServingSignature> images =
        options.images && signature.key == kDefaultSignature ? of_images(tensors, *options.images) : std::nullopt;
    if (options.images && signature.key == kDefaultSignature && !images)
      return invalid("ExportOptions.images: the signature '", kDefaultSignature, "' does not use the feature '",
                     options.images->feature, "'");
    if (images) {
      ServingSignature& other = options.tensor_default ? *images : tensors;
      other.key = options.tensor_default ? "image_bytes" : "tensor";
      if (!options.tensor_default) std::swap(*images, tensors);
      out.push_back(std::move(tensors));
      out.push_back(std::move(*images));
    } else {
      out.push_back(std::move(tensors));
    }
  }
  return out;
}

std::vector<FeatureSpec> batch_first(std::vector<FeatureSpec> specs) {
  for (FeatureSpec& spec : specs) spec.batch_minor = false;
  return specs;
}

}  // namespace

Result<VersionContents> export_contents(const ModelFn& model, const Params& params, std::vector<FeatureSpec> specs,
                                        const ExportOptions& options) {
  specs = batch_first(std::move(specs));
  if (options.images) TENON_TRY(check_images(*options.images, specs));
  VersionContents out{{}, options.labels, {}};
  std::vector<ExportSignature> signatures;
  TENON_ASSIGN(out.model.graph, portable([&](int64_t rows) -> Result<Trace> {
                 TENON_ASSIGN(ExportTrace traced, trace_exports(model, params, specs, rows));
                 signatures = std::move(traced.signatures);
                 return std::move(traced.trace);
               }));
  const ResultNames names(out.model.graph);
  TENON_ASSIGN(out.model.signatures, serving_signatures(signatures, names, options));
  out.model.images = options.images;
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
