// Answers of the REST interface in TF Serving's JSON. Floats are the shortest text that reads back as the same number, with ".0" where
// it is whole; one that is no number, or infinite, is null, as JSON has no other word for it.
#pragma once

#include <string>

#include "server/json/requests.h"

namespace tenon::server {

// {"predictions": [..]} for rows, {"outputs": ..} for columns: values where there is one output, else objects with their names.
std::string predict_answer(const ServedModel& model, const ServingSignature& signature, RequestFormat format,
                           const Arrays& outputs, int64_t rows);

// {"results": [[["label", score], ..], ..]}, {"results": [value, ..]}. REQUIRED: check_method.
std::string classify_answer(const ServedModel& model, const ServingSignature& signature, const Arrays& outputs);
std::string regress_answer(const ServingSignature& signature, const Arrays& outputs);

// {"error": "message"}
std::string error_answer(std::string_view message);

}  // namespace tenon::server
