// Looking into a checkpoint: names, types, values.
//
//   TENON_ASSIGN(CheckpointFile checkpoint, CheckpointFile::open("model"));
//   for (const CheckpointTensor& t : checkpoint.tensors()) ...
//
// A checkpoint is two files in TensorFlow's format, PREFIX.index and PREFIX.data-00000-of-00001. Nothing that they
// say is believed: sizes are held against the files before anything is allocated. Errors name file and tensor.
// Movable; reading is thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/types.h"

namespace tenon {

struct CheckpointTensor {
  std::string name;  // "conv2d/kernel", "conv2d/kernel/Adam", "global_step"
  Type type;         // kNone: strings, or a type that Tenon does not have
  std::string text;  // "f32[3,3,1,32]", "string[2]"
  int64_t bytes = 0;
};

class CheckpointFile {
 public:
  // A prefix, PREFIX.index, or a model directory: then its newest checkpoint that is whole.
  static Result<CheckpointFile> open(const std::string& path);
  CheckpointFile(CheckpointFile&&) noexcept;
  CheckpointFile& operator=(CheckpointFile&&) noexcept;
  ~CheckpointFile();

  const std::string& prefix() const;
  const std::vector<CheckpointTensor>& tensors() const;  // by name
  // A line for each newer checkpoint of the directory that is damaged.
  const std::vector<std::string>& skipped() const;
  Result<int64_t> global_step() const;  // 0 in a file of weights alone
  // The values of a numeric tensor, row-major, as f64. Checks the tensor's checksum.
  Result<std::vector<double>> read(std::string_view name) const;
  // The same, in order, some at a time, for tensors that need not be held as a whole. What `take` was given is right
  // only if this is ok in the end.
  Status read(std::string_view name, const std::function<void(std::span<const double>)>& take) const;
  // Reads everything and checks every checksum.
  Status verify() const;

 private:
  struct Impl;
  explicit CheckpointFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
