// The format of a file of weights: by its name, or, where that tells none, by its first bytes.
#pragma once

#include <string>

#include "tenon/status.h"

namespace tenon {

enum class FileForm : uint8_t { kCheckpoint, kSafetensors, kShards, kKeras, kTorch };

// A checkpoint where there is no file of that name, or PREFIX.index beside it.
Result<FileForm> form_of(const std::string& path);

}  // namespace tenon
