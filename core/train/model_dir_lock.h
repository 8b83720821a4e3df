// One trainer at a time on one model directory.
#pragma once

#include <string>

#include "tenon/status.h"

namespace tenon {

// Holds MODEL_DIR/.lock from acquire() to destruction or the end of the process, however it ends.
// Movable.
class ModelDirLock {
 public:
  // Makes the directory where it is missing. "unavailable" at once when another trainer holds it; the
  // message names the other's process.
  static Result<ModelDirLock> acquire(const std::string& model_dir);
  ModelDirLock(ModelDirLock&& other) noexcept;
  ModelDirLock& operator=(ModelDirLock&& other) noexcept;
  ~ModelDirLock();

 private:
  explicit ModelDirLock(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace tenon
