// What the REST interface says of models: TF Serving's status and metadata, and the list of all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/models/served_models.h"

namespace tenon::server {

// {"model_version_status": [{"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}]}; of one
// version where it is given. kUnavailable: there is none.
Result<std::string> status_answer(const ModelVersions& model, std::optional<int64_t> version);

// {"model_spec": {..}, "metadata": {"signature_def": {"signature_def": {"serving_default": {"inputs": ..
std::string metadata_answer(const std::string& model, const LoadedVersion& version);

// {"classes": ["daisy", ..]}: what the numbers of "probabilities" or "scores" stand for. Tenon's own. kUnavailable: there are none.
Result<std::string> classes_answer(const LoadedVersion& version);

// {"models": [{"name": "flowers", "ready": true, "model_version_status": [..]}]}: Tenon's own. `texts`: names of models of text.
std::string models_answer(const ServedModels& models, const std::vector<std::string>& texts = {});

// The same of a model of text, which has one version and takes and gives texts.
std::string text_status_answer();
std::string text_metadata_answer(const std::string& model);

}  // namespace tenon::server
