#include "serve/serve_models.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "output.h"

namespace tenon::runner {
namespace {

using server::ModelConfig;

// "KEY=VALUE", at its first =.
struct Setting {
  std::string key, value;
};

Setting setting_of(const std::string& flag, const std::string& text, const char* expected) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size())
    throw UsageError{format("--%s: expected %s, found '%s'", flag.c_str(), expected, text.c_str())};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<Setting> settings_of(const Flags& flags, const std::string& flag, const char* expected) {
  std::vector<Setting> out;
  const std::string& text = flags.text(flag);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(setting_of(flag, text.substr(begin, end - begin), expected));
    begin = end + 1;
  }
  return out;
}

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void refuse_setting(const char* flag, const Setting& setting, const char* expected) {
  throw UsageError{
      format("--%s: expected %s, found '%s=%s'", flag, expected, setting.key.c_str(), setting.value.c_str())};
}

ModelConfig& model_named(std::vector<ModelConfig>* models, const char* flag, const std::string& name) {
  std::vector<std::string> names;
  for (ModelConfig& model : *models) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  throw UsageError{format("--%s: there is no model '%s'; expected %s", flag, name.c_str(), listed(names).c_str())};
}

// NAME=PATH; or a file of ONNX, which gives the name.
void add_model(std::vector<ModelConfig>* models, const std::string& text) {
  const bool names_file = text.ends_with(".onnx") && text.find('=') == text.npos;
  const auto [name, base_path] =
      named_directory("model", names_file ? std::filesystem::path(text).stem().string() + "=" + text : text);
  for (const ModelConfig& model : *models)
    if (model.name == name) throw UsageError{format("--model: two models are called '%s'", name.c_str())};
  models->push_back({name, base_path});
}

void add_versions(std::vector<ModelConfig>* models, const Setting& s) {
  ModelConfig& model = model_named(models, "versions", s.key);
  const std::optional<int> count = s.value == "all" ? std::optional<int>(0) : number_of<int>(s.value);
  if (!count || *count < (s.value == "all" ? 0 : 1))
    refuse_setting("versions", s, "NAME=N with N of 1 and more, or NAME=all");
  model.newest = *count;
}

void add_label(std::vector<ModelConfig>* models, const Setting& s) {
  constexpr const char* kExpected = "NAME:LABEL=VERSION";
  const size_t colon = s.key.find(':');
  const std::optional<int64_t> number = number_of<int64_t>(s.value);
  if (colon == s.key.npos || colon + 1 == s.key.size() || !number || *number < 0)
    refuse_setting("version_labels", s, kExpected);
  model_named(models, "version_labels", s.key.substr(0, colon)).labels[s.key.substr(colon + 1)] = *number;
}

void add_canary(std::vector<ModelConfig>* models, const Setting& s, bool versions_given) {
  ModelConfig& model = model_named(models, "canary", s.key);
  const std::optional<double> share = number_of<double>(s.value);
  if (!share || !(*share > 0 && *share < 1)) refuse_setting("canary", s, "NAME=SHARE with a share between 0 and 1");
  model.canary = *share;
  if (!versions_given) model.newest = 2;
  if (model.newest == 1)
    throw UsageError{
        format("--canary: %s serves one version; --versions %s=2 or more serves others", s.key.c_str(), s.key.c_str())};
}

}  // namespace

std::pair<std::string, std::string> named_directory(const std::string& flag, const std::string& text) {
  const Setting setting = setting_of(flag, text, "NAME=DIR");
  if (!server::is_model_name(setting.key))
    throw UsageError{
        format("--%s: '%s' is no name of a model: it becomes a part of addresses", flag.c_str(), setting.key.c_str())};
  return {setting.key, setting.value};
}

std::vector<ModelConfig> served_models_of(const Flags& flags, const std::vector<std::string>& words) {
  std::vector<ModelConfig> models;
  for (const std::string& text : flags.list("model")) add_model(&models, text);
  for (const std::string& text : words) add_model(&models, text);
  const bool texts =
      !flags.list("translate").empty() || !flags.list("summarize").empty() || !flags.list("generate").empty();
  if (models.empty() && !texts) throw UsageError{"expected --model NAME=DIR or FILE.onnx"};
  const std::vector<Setting> versions = settings_of(flags, "versions", "NAME=N or NAME=all");
  for (const Setting& s : versions) add_versions(&models, s);
  for (const Setting& s : settings_of(flags, "version_labels", "NAME:LABEL=VERSION")) add_label(&models, s);
  for (const Setting& s : settings_of(flags, "canary", "NAME=SHARE"))
    add_canary(&models, s,
               std::any_of(versions.begin(), versions.end(), [&](const Setting& v) { return v.key == s.key; }));
  return models;
}

}  // namespace tenon::runner
