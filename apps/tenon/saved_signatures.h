// The signatures of a SavedModel that has no part of Tenon's, as a frozen one.
#pragma once

#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon::runner {

struct SavedSignature {
  std::string key;
  std::vector<std::string> inputs, outputs;  // names
};

// By key. Of the file saved_model.pb, which may be large, no more than the signatures is kept. kInvalid: it is damaged.
Result<std::vector<SavedSignature>> saved_signatures(const std::string& directory);

}  // namespace tenon::runner
