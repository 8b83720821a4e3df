#include "model/model_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "json_file.h"
#include "model/kept_file.h"
#include "output.h"
#include "tenon/atomic_file.h"
#include "tenon/text_file.h"

namespace tenon::runner {
namespace {

constexpr const char* kFile = "model.json";

bool has_record(const std::string& directory) {
  std::error_code error;
  return std::filesystem::is_regular_file(directory + "/" + kFile, error);
}

// The value in the kind that the model's flag has; a float flag's number may be whole in the file.
Params::Value flag_of(const std::string& path, const std::string& name, const nlohmann::json& json,
                      const Params::Value& kind) {
  const std::string key = "flags." + name;
  if (std::holds_alternative<bool>(kind))
    return json.is_boolean() ? json.get<bool>() : (refuse(path, key, json, "true or false"), false);
  if (std::holds_alternative<int64_t>(kind))
    return is_integer(json) ? json.get<int64_t>() : (refuse(path, key, json, "a whole number"), 0);
  if (std::holds_alternative<double>(kind))
    return json.is_number() ? json.get<double>() : (refuse(path, key, json, "a number"), 0.0);
  if (!json.is_string()) refuse(path, key, json, "a text");
  return json.get<std::string>();
}

std::map<std::string, Params::Value> flags_of(const std::string& path, const nlohmann::json& json,
                                              const models::ModelInfo& model) {
  if (!json.is_object()) refuse(path, "flags", json, "an object");
  std::map<std::string, Params::Value> kinds{{"dtype_policy", std::string()}}, out;
  for (const models::ModelFlag& f : model.flags) kinds[f.name] = f.value;
  for (const auto& [name, value] : json.items()) {
    const auto kind = kinds.find(name);
    if (kind == kinds.end())
      refuse(path, "flags has " + shown(name) + ", which the model '" + model.name + "' does not have");
    out[name] = flag_of(path, name, value, kind->second);
  }
  return out;
}

// 0: it was not said.
int64_t size_of(const std::string& path, const nlohmann::json& json, const char* key) {
  constexpr int64_t kMost = 1 << 24;
  const nlohmann::json& value = member(path, json, key);
  if (!is_integer(value) || value.get<int64_t>() < 0 || value.get<int64_t>() > kMost)
    refuse(path, key, value, "a whole number from 0 to " + std::to_string(kMost));
  return value.get<int64_t>();
}

// Parameters as the record says them, else the model's defaults.
Params params_of(const ModelRecord& record, const models::ModelInfo& model) {
  Params params;
  for (const models::ModelFlag& f : model.flags) params.set(f.name, f.value);
  for (const auto& [name, value] : record.flags) params.set(name, value);
  return params;
}

// As many as classes, or none.
std::vector<std::string> labels_of(const std::string& path, const nlohmann::json& json, int64_t classes) {
  if (!json.is_array()) refuse(path, "labels", json, "a list of texts");
  std::vector<std::string> out;
  for (const nlohmann::json& label : json) {
    if (!label.is_string()) refuse(path, "labels[" + std::to_string(out.size()) + "]", label, "a text");
    out.push_back(label.get<std::string>());
  }
  if (!out.empty() && static_cast<int64_t>(out.size()) != classes)
    refuse(path, "labels has " + counted(static_cast<int64_t>(out.size()), "name") + ", expected num_classes, " +
                     std::to_string(classes));
  return out;
}

ModelRecord parsed(const std::string& path, const nlohmann::json& json) {
  if (!json.is_object()) refuse(path, "the file", json, "an object");
  const nlohmann::json& model = member(path, json, "model");
  if (!model.is_string()) refuse(path, "model", model, "a text");
  std::string name = model.get<std::string>();
  if (models::is_onnx_file(name)) name = kept_model_file(std::filesystem::path(path).parent_path().string(), name);
  const models::ModelInfo* info = models::find_model(name);
  if (!info) refuse(path, "no model " + shown(model));
  ModelRecord record{path, info->name, flags_of(path, member(path, json, "flags"), *info), {}, {}, {}};
  for (const auto& [name, value] : info->example(params_of(record, *info)).numbers)
    if (value != 0 || json.contains(name))  // 0 is what it is where nothing is said
      record.numbers[name] = size_of(path, json, name.c_str());
  if (const auto classes = record.numbers.find("num_classes"); classes != record.numbers.end())
    record.labels = labels_of(path, member(path, json, "labels"), classes->second);
  if (const auto vocabulary = json.find("vocabulary"); vocabulary != json.end()) {
    if (!vocabulary->is_string()) refuse(path, "vocabulary", *vocabulary, "a text");
    record.vocabulary = vocabulary->get<std::string>();
  }
  if (const auto reading = json.find("reading"); reading != json.end()) {
    if (!reading->is_object()) refuse(path, "reading", *reading, "an object");
    for (const auto& [name, value] : reading->items())
      record.reading[name] = value.is_string() ? value.get<std::string>()
                                               : (refuse(path, "reading." + name, value, "a text"), std::string());
  }
  return record;
}

std::string text_of(const ModelRecord& record) {
  nlohmann::ordered_json json{{"model", record.model}, {"flags", nlohmann::ordered_json::object()}};
  for (const auto& [name, value] : record.flags)
    std::visit([&, key = name](const auto& v) { json["flags"][key] = v; }, value);
  for (const auto& [name, value] : record.numbers) json[name] = value;
  if (record.numbers.contains("num_classes")) json["labels"] = record.labels;
  if (!record.vocabulary.empty()) json["vocabulary"] = record.vocabulary;
  if (!record.reading.empty()) json["reading"] = record.reading;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<ModelRecord> read_model_record(const std::string& place) {
  const std::string parent = std::filesystem::path(place).parent_path().string();
  const std::string directory = has_record(place) ? place : parent;
  if (directory.empty() || !has_record(directory)) return std::nullopt;
  const std::string path = directory + "/" + kFile, text = read_text_file(path).take();
  return parsed(path, parse_json(path, text));
}

void write_model_record(const std::string& model_dir, const ModelRecord& record) {
  const std::string path = model_dir + "/" + kFile, text = text_of(record);
  if (has_record(model_dir) && read_text_file(path).take() == text) return;
  AtomicFile file = AtomicFile::create(path).take();
  check(file.write(text));
  check(file.commit());
}

}  // namespace tenon::runner
