#include "tenon/exported_model.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "checkpoint/tensor_file.h"
#include "data/image/image_pass.h"
#include "export/version_writer.h"
#include "export/versions.h"

namespace tenon {
namespace {

constexpr int64_t kMostModelBytes = int64_t{1} << 30, kMostSmallFile = int64_t{64} << 20;

// What the manifest says of each file.
class Manifest {
 public:
  static Result<Manifest> read(const std::string& directory) {
    Manifest out(directory);
    const std::string path = out.path_of(cat(kExportedPart, "/manifest.json"));
    const Result<std::string> read = read_file(path, kMostSmallFile);
    if (!read.ok() && file_bytes(out.path_of("saved_model.pb")).ok())
      return Status(read.status().code(),
                    cat(read.status().message(), "; a model of TensorFlow's own, or frozen, has none"));
    TENON_TRY(read.status());
    const std::string& text = *read;
    TENON_ASSIGN(const nlohmann::json json, parse_json_text(path, text));
    if (!json.is_object() || !json.contains("files") || !json["files"].is_object())
      return invalid(path, ": is no manifest of an exported model");
    for (const auto& [name, file] : json["files"].items()) {
      if (!file.is_object() || !file.contains("bytes") || !file["bytes"].is_number_integer() ||
          !file.contains("crc32c") || !file["crc32c"].is_number_unsigned())
        return invalid(path, ": says no bytes and crc32c of '", abbreviated(name), "'");
      out.files_[name] = {file["bytes"].get<int64_t>(), file["crc32c"].get<uint32_t>()};
    }
    return out;
  }

  bool has(const std::string& name) const { return files_.contains(name); }
  std::string path_of(std::string_view name) const { return cat(directory_, "/", name); }

  // A small file, all of it.
  Result<std::string> contents(const std::string& name, int64_t most) const {
    TENON_TRY(check_size(name));
    TENON_ASSIGN(std::string bytes, read_file(path_of(name), most));
    if (crc32c(bytes) != files_.at(name).crc)
      return invalid(path_of(name), ": is damaged: its crc32c is ", crc32c(bytes), ", the manifest says ",
                     files_.at(name).crc);
    return bytes;
  }
  Status check_size(const std::string& name) const {
    if (!has(name)) return invalid(path_of(cat(kExportedPart, "/manifest.json")), ": does not name '", name, "'");
    TENON_ASSIGN(const int64_t bytes, file_bytes(path_of(name)));
    if (bytes == files_.at(name).bytes) return {};
    return invalid(path_of(name), ": has ", bytes, " bytes, the manifest says ", files_.at(name).bytes);
  }

 private:
  struct Listed {
    int64_t bytes = 0;
    uint32_t crc = 0;
  };
  explicit Manifest(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
  std::map<std::string, Listed> files_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

struct ExportedModel::Impl {
  std::string directory;
  ModelFile file;
  std::vector<std::string> labels;

  // Every variable of the graph is in the weights, with its type.
  Status check_weights(const TensorFile& weights) const {
    for (const PortableInput& input : file.graph.inputs)
      if (input.variable)
        TENON_TRY(check_variable(weights, input.name, file.graph.values[static_cast<size_t>(input.value)].at(0)));
    return {};
  }
};

Result<ExportedModel> ExportedModel::open(const std::string& directory) {
  auto impl = std::make_shared<Impl>();
  impl->directory = directory;
  while (impl->directory.size() > 1 && impl->directory.back() == '/') impl->directory.pop_back();
  TENON_ASSIGN(const Manifest manifest, Manifest::read(impl->directory));
  const std::string name = cat(kExportedPart, "/model.pb"), labels = cat(kExportedPart, "/labels.txt");
  TENON_ASSIGN(const std::string bytes, manifest.contents(name, kMostModelBytes));
  Result<ModelFile> file = parse_model_file(bytes);
  if (!file.ok()) return Status(file.status().code(), cat(manifest.path_of(name), ": ", file.status().message()));
  impl->file = file.take();
  if (manifest.has(labels)) {
    TENON_ASSIGN(const std::string text, manifest.contents(labels, kMostSmallFile));
    impl->labels = lines_of(text);
  }
  TENON_TRY(manifest.check_size(bundle_index_path(kExportedWeights)));
  TENON_TRY(manifest.check_size(bundle_data_path(kExportedWeights)));
  TENON_ASSIGN(const TensorFile weights, TensorFile::open(manifest.path_of(kExportedWeights)));
  TENON_TRY(impl->check_weights(weights));
  return ExportedModel(std::move(impl));
}

const std::string& ExportedModel::directory() const { return impl_->directory; }
int64_t ExportedModel::version() const { return version_of(name_of(impl_->directory)); }
const std::vector<ServingSignature>& ExportedModel::signatures() const { return impl_->file.signatures; }
const std::vector<std::string>& ExportedModel::labels() const { return impl_->labels; }

const ServingSignature* ExportedModel::signature(std::string_view key) const {
  const auto found =
      std::find_if(signatures().begin(), signatures().end(), [&](const auto& s) { return s.key == key; });
  return found == signatures().end() ? nullptr : &*found;
}

std::string ExportedModel::label(int64_t class_id) const {
  const bool named = class_id >= 0 && static_cast<size_t>(class_id) < labels().size();
  return named ? labels()[static_cast<size_t>(class_id)] : std::to_string(class_id);
}

Status ExportedModel::load(Strategy& strategy) const {
  try {
    strategy.load(cat(impl_->directory, "/", kExportedWeights));
    return {};
  } catch (const Error& e) {
    return e.status();
  }
}

Function ExportedModel::function(const Strategy& strategy, std::string_view key) const {
  const ServingSignature* found = signature(key);
  if (!found) {
    std::vector<std::string> keys;
    for (const ServingSignature& s : signatures()) keys.push_back(s.key);
    fail(impl_->directory, ": there is no signature '", abbreviated(key), "', expected ", join(keys));
  }
  std::vector<std::string> results;
  for (const ServingValue& output : found->outputs) results.push_back(output.tensor);
  auto graph = std::make_shared<const PortableGraph>(part_of(impl_->file.graph, results));
  return strategy.function([graph](const Features& features) { return build(*graph, features); },
                           {.name = std::string(key), .remainder = Remainder::kPad});
}

Result<Array> ExportedModel::image_row(std::span<const std::byte> file) const {
  const ExportedImages& images = *impl_->file.images;
  Array out({DType::kF32, {1, images.height, images.width, images.channels}});
  ImagePass pass;
  TENON_TRY(pass.begin({reinterpret_cast<const char*>(file.data()), file.size()},
                       {.channels = images.channels, .alpha = images.alpha, .background = images.background}));
  TENON_TRY(pass.resize(images.height, images.width, images.resize));
  ColourChange change;
  if (images.range == PixelRange::kMinusOneToOne) change.scale = 2, change.offset = -1;
  pass.colour(change);
  TENON_TRY(pass.write(reinterpret_cast<float*>(out.bytes().data())));
  return out;
}

}  // namespace tenon
