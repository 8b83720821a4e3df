#include "checkpoint/keras/keras_file.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/strings.h"
#include "checkpoint/archive/zip_file.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

constexpr int64_t kMostConfig = int64_t{64} << 20;
constexpr const char* kWeightsMember = "model.weights.h5";

// The weights of a .keras file as a file of their own, and its config.json.
Result<Descriptor> unpacked(const std::string& path, std::string* config) {
  TENON_ASSIGN(const ZipFile zip, ZipFile::open(path));
  if (!zip.members().contains(kWeightsMember))
    return invalid("'", path, "': has no ", kWeightsMember, "; is it a .keras file?");
  if (zip.members().contains("config.json")) {
    TENON_ASSIGN(*config, zip.read("config.json", kMostConfig));
  }
  const std::string directory = temporary_directory();
  Descriptor out = nameless_file(directory);
  if (!out) return file_error("cannot make a temporary file in", directory, errno);
  TENON_TRY(zip.read(kWeightsMember, [&](std::span<const std::byte> piece) {
    return write_fully(out.get(), piece.data(), piece.size())
               ? Status()
               : file_error(cat("cannot unpack '", path, "' in"), directory, errno);
  }));
  return out;
}

// A .keras file, whatever it is called.
Result<bool> is_archive(const std::string& path) {
  if (path.ends_with(".keras")) return true;
  TENON_ASSIGN(const File file, File::open(path));
  char start[kZipSignature.size()];
  TENON_ASSIGN(const size_t count, file.read_at(0, start, sizeof start));
  return std::string_view(start, count) == kZipSignature;
}

// What compiling or drawing adds to a model or layer, and is no weight of it. A layer of such a class stands in a container.
bool is_beside(const std::vector<std::string>& parts) {
  static const std::set<std::string> kOfCompiled = {"optimizer", "loss_tracker",     "_loss_tracker", "metrics",
                                                    "_metrics",  "_compile_metrics", "_compile_loss"};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].starts_with("seed_generator") || parts[i].starts_with("_seed_generator")) return true;
    if (kOfCompiled.contains(parts[i]) && (i == 0 || !is_container(parts[i - 1]))) return true;
  }
  return false;
}

bool is_recurrent(const std::string& layer_class) {
  return layer_class == "lstm" || layer_class == "gru" || layer_class == "simple_rnn";
}

int64_t position_of(std::string_view text) {
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1)) return -1;
  int64_t out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    out = out * 10 + (c - '0');
  }
  return out;
}

}  // namespace

bool is_keras_weights(std::string_view path) { return path.ends_with(".weights.h5"); }
bool is_keras_file(std::string_view path) {
  return path.ends_with(".keras") || path.ends_with(".h5") || path.ends_with(".hdf5");
}

Result<KerasFile> KerasFile::open(const std::string& path) {
  return within_memory("read", path, [&]() -> Result<KerasFile> {
    std::string config;
    const auto opened = [&]() -> Result<Hdf5File> {
      TENON_ASSIGN(const bool zip, is_archive(path));
      if (!zip) return Hdf5File::open(path);
      TENON_ASSIGN(Descriptor weights, unpacked(path, &config));
      return Hdf5File::of(std::move(weights), path);
    };
    TENON_ASSIGN(Hdf5File file, opened());
    KerasFile out(std::move(file));
    TENON_TRY(out.name_all(config));
    return out;
  });
}

Status KerasFile::name_all(const std::string& config) {
  for (const char* root : {"model_weights", ""})
    if (!names(root, "layer_names").empty()) return name_legacy(root);
  TENON_TRY(name_objects(config));
  if (!tensors_.empty()) return {};
  return invalid("'", path(), "': holds no weights of Keras: no layer_names, and no .../vars/0");
}

// Long lists of names are split: "weight_names0", "weight_names1".
std::vector<std::string> KerasFile::names(const std::string& object, const std::string& attribute) const {
  if (const auto* whole = file_.names(object, attribute)) return *whole;
  std::vector<std::string> out;
  for (int i = 0; const auto* part = file_.names(object, cat(attribute, i)); ++i)
    out.insert(out.end(), part->begin(), part->end());
  return out;
}

Status KerasFile::add(const std::string& name, const Hdf5Dataset* dataset) {
  if (tensors_.emplace(name, dataset).second) return {};
  return invalid("'", path(), "': has two weights '", abbreviated(name), "'");
}

Status KerasFile::name_legacy(const std::string& root) {
  std::map<std::string, const Hdf5Dataset*> datasets;
  for (const Hdf5Dataset& d : file_.datasets()) datasets.emplace(d.path, &d);
  const std::string below = root.empty() ? std::string() : root + "/";
  std::vector<std::string> layers = names(root, "layer_names");
  layers.push_back("top_level_model_weights");
  for (const std::string& layer : layers) {
    const std::vector<std::string> weights = names(below + layer, "weight_names");
    const bool separable = std::any_of(weights.begin(), weights.end(),
                                       [](const std::string& w) { return w.find("pointwise_kernel") != w.npos; });
    for (const std::string& weight : weights) {
      const auto found = datasets.find(cat(below, layer, "/", weight));
      if (found == datasets.end())
        return invalid("'", path(), "': layer '", abbreviated(layer), "' has no dataset '", abbreviated(weight), "'");
      std::string name = name_of_legacy(layer, weight);
      constexpr std::string_view kDepthwise = "/depthwise_kernel";
      if (!separable && name.ends_with(kDepthwise)) name = name.substr(0, name.size() - kDepthwise.size()) + "/kernel";
      TENON_TRY(add(name, found->second));
    }
  }
  return {};
}

Status KerasFile::name_objects(const std::string& config) {
  layers_ = layers_of_config(config);
  std::map<std::string, std::map<int64_t, const Hdf5Dataset*>> objects;
  for (const Hdf5Dataset& d : file_.datasets()) {
    const size_t last = d.path.rfind('/');
    if (last == std::string::npos) continue;
    const std::string_view group = std::string_view(d.path).substr(0, last);
    const int64_t position = position_of(std::string_view(d.path).substr(last + 1));
    if (position < 0 || !(group == "vars" || group.ends_with("/vars"))) continue;
    const std::string object(group == "vars" ? "" : group.substr(0, group.size() - 5));
    if (!is_beside(parts_of(object))) objects[object].emplace(position, &d);
  }
  for (auto& [object, weights] : objects) TENON_TRY(take_object(object, weights));
  return {};
}

Status KerasFile::take_object(const std::string& object, std::map<int64_t, const Hdf5Dataset*>& weights) {
  const std::vector<std::string> parts = parts_of(object);
  std::string scope = scope_of(parts);
  const auto* said = file_.names(cat(object, object.empty() ? "" : "/", "vars"), "name");
  const auto known = layers_.find(object);
  if ((!said || said->empty()) && (known == layers_.end() || known->second.name.empty()))
    unnamed_.emplace(object, scope);
  const std::string_view last = leaf_of_weight(scope);
  const bool nameless = last == "layer" || last == "cell";  // of layers in others, which an older file does not name
  std::vector<std::string> own =
      names(cat(object, object.empty() ? "" : "/", "vars"), "weight_names");  // of Tenon's files
  if (own.size() != weights.size())
    own = nameless ? std::vector<std::string>()
                   : names_of_weights(class_at(parts, said && !said->empty() ? said->front() : ""), weights.size(),
                                      known == layers_.end() ? KerasLayer() : known->second);
  if (tensors_.contains(cat(scope, scope.empty() ? "" : "/", own.empty() ? "0" : own[0])))
    scope = object;  // by the way to it
  places_.emplace(scope, KerasPlace{object, std::string(leaf_of_weight(scope))});
  size_t i = 0;
  for (const auto& [position, dataset] : weights) {
    if (position != static_cast<int64_t>(i))
      return invalid("'", path(), "': '", abbreviated(object), "' lacks weight ", i, " of ", weights.size());
    const std::string leaf = own.empty() ? cat(i) : own[i];
    TENON_TRY(add(scope.empty() ? leaf : cat(scope, "/", leaf), dataset));
    ++i;
  }
  if (own.empty()) by_position_.emplace(scope, weights.size());
  return {};
}

// By what the objects on the way are called; files of before Keras 3.9 say it in config.json alone, or not at all.
std::string KerasFile::scope_of(const std::vector<std::string>& parts) {
  std::string scope, way, outer;  // the class of the object around
  for (const std::string& part : parts) {
    append(way, way.empty() ? part : cat("/", part));
    std::string name = name_of_part(part);
    const auto* said = file_.names(way + "/vars", "name");
    const auto known = layers_.find(way);
    if (!name.empty() && said && !said->empty() && !said->front().empty())
      name = said->front();
    else if (!name.empty() && known != layers_.end() && !known->second.name.empty())
      name = known->second.name;
    else if (part == "cell" && is_recurrent(outer))
      name = outer + "_cell";
    outer = class_at(parts_of(way), "");
    if (!name.empty()) append(scope, scope.empty() ? name : cat("/", name));
  }
  return scope;
}

Status KerasFile::read(std::string_view name, std::span<std::byte> out) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return invalid("'", path(), "' has no tensor '", abbreviated(name), "'");
  const Hdf5Dataset& d = *found->second;
  if (static_cast<int64_t>(out.size()) != d.bytes)
    return invalid("'", path(), "': tensor '", abbreviated(name), "' has ", d.bytes, " bytes, expected ", out.size());
  return file_.read(d, out);
}

}  // namespace tenon
