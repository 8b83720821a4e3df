// TensorBoard's plugin `hparams` (tensorboard/plugins/hparams/{plugin_data,api}.proto).
#include <chrono>

#include "base/strings.h"
#include "summary/event_proto.h"
#include "summary/summary_values.h"

namespace tenon {
namespace {

using event_proto::put_double;
using event_proto::put_number;
using event_proto::put_text;

// Fields of HParamsPluginData, SessionStartInfo, SessionEndInfo, Experiment, HParamInfo and MetricInfo.
constexpr uint32_t kExperiment = 2, kStartInfo = 3, kEndInfo = 4;
constexpr uint32_t kHParams = 1, kGroupName = 4, kStartTime = 5, kEndStatus = 1, kEndTime = 2;
constexpr uint32_t kTimeCreated = 3, kHParamInfos = 4, kMetricInfos = 5;
constexpr uint32_t kInfoName = 1, kInfoDisplayName = 2, kInfoDescription = 3, kInfoType = 4, kDiscrete = 5,
                   kInterval = 6;
constexpr uint32_t kMetricName = 1, kMetricDisplayName = 3, kMetricDescription = 4, kGroup = 1, kMetricTag = 2;
constexpr int64_t kSuccess = 1, kFailure = 2;
constexpr int64_t kTypeString = 1, kTypeBool = 2, kTypeNumber = 3;

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double number_in(const Params::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

// google.protobuf.Value
std::string proto_value(const Params::Value& value) {
  std::string out;
  if (const auto* text = std::get_if<std::string>(&value))
    wire::put_bytes(out, 3, *text);
  else if (const auto* yes = std::get_if<bool>(&value))
    put_number(out, 4, *yes ? 1 : 0);
  else
    put_double(out, 2, number_in(value));
  return out;
}

std::string text_of(const Params::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* yes = std::get_if<bool>(&value)) return *yes ? "true" : "false";
  return cat(number_in(value));
}

std::string hparams_value(std::string_view tag, uint32_t field, std::string_view message) {
  std::string content;
  wire::put_bytes(content, field, message);
  return event_proto::value(tag, {"hparams", content}, event_proto::tensor(std::span<const float>(), {0}));
}

int64_t type_of(const std::vector<Params::Value>& values) {
  if (values.empty()) return kTypeNumber;
  if (std::holds_alternative<std::string>(values[0])) return kTypeString;
  return std::holds_alternative<bool>(values[0]) ? kTypeBool : kTypeNumber;
}

std::string hparam_info(const HParamInfo& info) {
  std::string out, domain;
  wire::put_bytes(out, kInfoName, info.name);
  put_text(out, kInfoDisplayName, info.display_name);
  put_text(out, kInfoDescription, info.description);
  if (info.values.empty() && !info.interval) return out;
  put_number(out, kInfoType, type_of(info.values));
  for (const Params::Value& value : info.values) wire::put_bytes(domain, 1, proto_value(value));
  if (info.values.empty()) {
    put_double(domain, 1, info.interval->first);
    put_double(domain, 2, info.interval->second);
  }
  wire::put_bytes(out, info.values.empty() ? kInterval : kDiscrete, domain);
  return out;
}

std::string metric_info(const MetricInfo& info) {
  std::string out, name;
  put_text(name, kGroup, info.group);
  wire::put_bytes(name, kMetricTag, info.tag);
  wire::put_bytes(out, kMetricName, name);
  put_text(out, kMetricDisplayName, info.display_name);
  put_text(out, kMetricDescription, info.description);
  return out;
}

}  // namespace

std::string hparams_start_value(const Params& values, const std::string& trial_id) {
  std::string info, all;
  for (const auto& [name, value] : values.all()) {
    std::string entry;
    wire::put_bytes(entry, 1, name);
    wire::put_bytes(entry, 2, proto_value(value));
    wire::put_bytes(info, kHParams, entry);
    append_item(all, cat(name, "=", text_of(value)));
  }
  wire::put_bytes(info, kGroupName, trial_id.empty() ? all : trial_id);
  put_double(info, kStartTime, now_in_seconds());
  return hparams_value("_hparams_/session_start_info", kStartInfo, info);
}

std::string hparams_end_value(bool success) {
  std::string info;
  put_number(info, kEndStatus, success ? kSuccess : kFailure);
  put_double(info, kEndTime, now_in_seconds());
  return hparams_value("_hparams_/session_end_info", kEndInfo, info);
}

std::string hparams_experiment_value(const std::vector<HParamInfo>& hparams, const std::vector<MetricInfo>& metrics) {
  std::string experiment;
  put_double(experiment, kTimeCreated, now_in_seconds());
  for (const HParamInfo& info : hparams) wire::put_bytes(experiment, kHParamInfos, hparam_info(info));
  for (const MetricInfo& info : metrics) wire::put_bytes(experiment, kMetricInfos, metric_info(info));
  return hparams_value("_hparams_/experiment", kExperiment, experiment);
}

}  // namespace tenon
