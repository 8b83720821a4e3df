#include "server/rest/metadata.h"

#include "server/text/text_batcher.h"
#include "tenon/tensorflow_types.h"
#include "tenon/text.h"

namespace tenon::server {
namespace {

// TensorFlow's names of what a status is.
const char* error_code(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return "OK";
    case Code::kInvalid:
      return "INVALID_ARGUMENT";
    case Code::kUnsupported:
      return "UNIMPLEMENTED";
    case Code::kUnavailable:
      return "NOT_FOUND";
    case Code::kOutOfMemory:
      return "RESOURCE_EXHAUSTED";
    case Code::kTimeout:
      return "DEADLINE_EXCEEDED";
    default:
      return "INTERNAL";
  }
}

std::string dims_json(const ServingValue& value) {
  std::string out = "{\"size\":\"-1\",\"name\":\"\"}";
  if (value.kind != ServingValue::Kind::kImage)
    for (const int64_t d : value.type.shape) out += ",{\"size\":\"" + std::to_string(d) + "\",\"name\":\"\"}";
  return out;
}

std::string values_json(const std::vector<ServingValue>& values) {
  std::string out;
  for (const ServingValue& v : values) {
    const bool text = v.kind != ServingValue::Kind::kTensor;
    out += (out.empty() ? "" : ",") + json_string(v.name) + ":{\"dtype\":\"" +
           tensorflow_type_name(text ? kTensorFlowString : tensorflow_number(v.type.dtype)) +
           "\",\"tensor_shape\":{\"dim\":[" + dims_json(v) +
           "],\"unknown_rank\":false},\"name\":" + json_string(v.name + ":0") + "}";
  }
  return "{" + out + "}";
}

std::string states_json(const std::vector<VersionStatus>& states, std::optional<int64_t> only) {
  std::string out;
  for (const VersionStatus& s : states) {
    if (only && s.number != *only) continue;
    out += (out.empty() ? "" : ",") + std::string("{\"version\":\"") + std::to_string(s.number) + "\",\"state\":\"" +
           state_name(s.state) + "\",\"status\":{\"error_code\":\"" + error_code(s.error) +
           "\",\"error_message\":" + json_string(s.error.message()) + "}}";
  }
  return out;
}

const std::vector<VersionStatus> kTextVersions = {{kTextVersion, VersionState::kAvailable, {}}};

// {NAME: a text a row}
std::string text_value_json(const char* name) {
  return "{" + json_string(name) +
         ":{\"dtype\":\"DT_STRING\",\"tensor_shape\":{\"dim\":[{\"size\":\"-1\",\"name\":\"\"}],\"unknown_rank\":false}"
         ","
         "\"name\":" +
         json_string(name + std::string(":0")) + "}}";
}

}  // namespace

Result<std::string> status_answer(const ModelVersions& model, std::optional<int64_t> version) {
  const std::string states = states_json(model.states(), version);
  const std::string& name = model.config().name;
  if (states.empty())
    return Status(Code::kUnavailable, version
                                          ? "Could not find version " + std::to_string(*version) + " of model " + name
                                          : "Could not find any versions of model " + name);
  return "{\"model_version_status\":[" + states + "]}\n";
}

std::string metadata_answer(const std::string& model, const LoadedVersion& version) {
  std::string signatures;
  for (const ServingSignature& s : version.batcher.model().signatures())
    signatures += (signatures.empty() ? "" : ",") + json_string(s.key) + ":{\"inputs\":" + values_json(s.inputs) +
                  ",\"outputs\":" + values_json(s.outputs) + ",\"method_name\":" + json_string(s.method_name) + "}";
  return "{\"model_spec\":{\"name\":" + json_string(model) + ",\"signature_name\":\"\",\"version\":\"" +
         std::to_string(version.number) + "\"},\"metadata\":{\"signature_def\":{\"signature_def\":{" + signatures +
         "}}}}\n";
}

Result<std::string> classes_answer(const LoadedVersion& version) {
  const ServedModel& model = version.batcher.model();
  for (const ServingSignature& s : model.signatures())
    for (const ServingValue& output : s.outputs) {
      if ((output.name != "probabilities" && output.name != "scores") || output.type.shape.rank() != 1) continue;
      std::string out;
      for (int64_t c = 0; c < output.type.shape[0]; ++c) out += (c ? "," : "") + json_string(model.label(c));
      return "{\"classes\":[" + out + "]}\n";
    }
  return Status(Code::kUnavailable, "the model has no output 'probabilities' or 'scores'");
}

std::string models_answer(const ServedModels& models, const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& model : models.all())
    out += (out.empty() ? "" : ",") + std::string("{\"name\":") + json_string(model->config().name) +
           ",\"ready\":" + (model->find({}).ok() ? "true" : "false") + ",\"model_version_status\":[" +
           states_json(model->states(), std::nullopt) + "]}";
  for (const std::string& name : texts)
    out += (out.empty() ? "" : ",") + std::string("{\"name\":") + json_string(name) +
           ",\"ready\":true,\"model_version_status\":[" + states_json(kTextVersions, std::nullopt) + "]}";
  return "{\"models\":[" + out + "]}\n";
}

std::string text_status_answer() {
  return "{\"model_version_status\":[" + states_json(kTextVersions, std::nullopt) + "]}\n";
}

std::string text_metadata_answer(const std::string& model) {
  return "{\"model_spec\":{\"name\":" + json_string(model) +
         ",\"signature_name\":\"\",\"version\":\"1\"},\"metadata\":{\"signature_def\":{\"signature_def\":{\"serving_"
         "default\":{\"inputs\":" +
         text_value_json(kTextInput) + ",\"outputs\":" + text_value_json(kTextOutput) +
         ",\"method_name\":\"tensorflow/serving/predict\"}}}}}\n";
}

}  // namespace tenon::server
