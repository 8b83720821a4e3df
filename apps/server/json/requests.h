// Bodies of predictions in TF Serving's JSON: rows ("instances"), columns ("inputs"), examples (of :classify and :regress).
//
// https://www.tensorflow.org/tfx/serving/api_rest has the format. Beyond it: NaN and infinity, numbers that the dtype does not hold,
// lists of other sizes than the signature's, a name that comes twice and more nesting than tensors have are errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/models/methods.h"
#include "server/served_model.h"

namespace tenon::server {

enum class RequestFormat : uint8_t { kRows, kColumns };

struct RequestLimits {
  int64_t max_rows = 512;
  int64_t max_bytes = int64_t{256} << 20;  // of the tensors that it becomes
};

struct ParsedRequest {
  const ServingSignature* signature = nullptr;  // of the model
  RequestFormat format = RequestFormat::kRows;
  int64_t rows = 0;
  Arrays inputs;  // the tensors of the signature's inputs
};

// The body may be changed, and needs no padding. kInvalid says what is wrong, in TF Serving's words, with the input's name. Thread
// safe; images are decoded here.
Result<ParsedRequest> parse_request(std::string* body, RequestMethod method, const ServedModel& model,
                                    const RequestLimits& limits);

}  // namespace tenon::server
