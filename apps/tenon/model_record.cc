#include "model_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

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

Params::Value value_of(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

// A number that a float flag has is one in the file, whole or not.
Params::Value of_kind(const Params::Value& value, const Params::Value& kind) {
  if (std::holds_alternative<double>(kind) && std::holds_alternative<int64_t>(value))
    return static_cast<double>(std::get<int64_t>(value));
  return value;
}

// 0: it was not said.
int size_of(const std::string& path, const nlohmann::json& json, const char* key) {
  constexpr int64_t kMost = 1 << 24;
  const nlohmann::json& value = json.at(key);
  if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > static_cast<double>(kMost))
    throw Error(Status(Code::kInvalid, format("%s: %s is %s, expected a whole number from 0 to %d", path.c_str(), key,
                                              value.dump().c_str(), static_cast<int>(kMost))));
  return value.get<int>();
}

ModelRecord parsed(const std::string& path, const nlohmann::json& json) {
  ModelRecord record{
      path, json.at("model").get<std::string>(), {}, {}, json.at("labels").get<std::vector<std::string>>()};
  const models::ModelInfo* info = models::find_model(record.model);
  if (!info) throw Error(Status(Code::kInvalid, path + ": no model '" + record.model + "'"));
  for (const auto& [name, value] : json.at("flags").items()) record.flags[name] = value_of(value);
  for (const models::ModelFlag& f : info->flags)
    if (const auto found = record.flags.find(f.name); found != record.flags.end())
      found->second = of_kind(found->second, f.value);
  models::ImageShape& s = record.shape;
  s.height = size_of(path, json, "height");
  s.width = size_of(path, json, "width");
  s.channels = size_of(path, json, "channels");
  s.classes = size_of(path, json, "num_classes");
  return record;
}

std::string text_of(const ModelRecord& record) {
  nlohmann::ordered_json json{{"model", record.model}, {"flags", nlohmann::ordered_json::object()}};
  for (const auto& [name, value] : record.flags)
    std::visit([&, key = name](const auto& v) { json["flags"][key] = v; }, value);
  json["height"] = record.shape.height;
  json["width"] = record.shape.width;
  json["channels"] = record.shape.channels;
  json["num_classes"] = record.shape.classes;
  json["labels"] = record.labels;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<ModelRecord> read_model_record(const std::string& place) {
  const std::string parent = std::filesystem::path(place).parent_path().string();
  const std::string directory = has_record(place) ? place : parent;
  if (directory.empty() || !has_record(directory)) return std::nullopt;
  const std::string path = directory + "/" + kFile, text = read_text_file(path).take();
  try {
    return parsed(path, nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Status(Code::kInvalid, path + ": is no record of a model: " + e.what()));
  }
}

void write_model_record(const std::string& model_dir, const ModelRecord& record) {
  const std::string path = model_dir + "/" + kFile, text = text_of(record);
  if (has_record(model_dir) && read_text_file(path).take() == text) return;
  AtomicFile file = AtomicFile::create(path).take();
  check(file.write(text));
  check(file.commit());
}

}  // namespace tenon::runner
