#include "export/signatures.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/strings.h"

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
    return names_.at(exported_result(key, output));
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

}  // namespace

std::string exported_result(const std::string& key, const std::string& output) {
  return cat(kPrefix, key, "/", output);
}

Status set_signatures(const std::vector<ExportSignature>& signatures, const std::vector<FeatureSpec>& specs,
                      const ExportOptions& options, ModelFile& model) {
  if (options.images) TENON_TRY(check_images(*options.images, specs));
  const ResultNames names(model.graph);
  TENON_ASSIGN(model.signatures, serving_signatures(signatures, names, options));
  model.images = options.images;
  return {};
}

}  // namespace tenon
