// Files of weights in any format that Tenon reads, looked into and turned into another one (share/doc/weights.md):
// safetensors, Keras's .weights.h5, .keras and .h5, PyTorch's .pt and .pth, TensorFlow's checkpoints.
//
//   TENON_ASSIGN(WeightsFile weights, WeightsFile::open("resnet18.safetensors", "torchvision_resnet18.rules"));
//   for (const auto& [name, type] : weights.tensors()) ...
//
// Nothing that a file says is believed: sizes are held against it before anything is allocated. Errors name file and
// tensor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/array.h"
#include "tenon/types.h"

namespace tenon {

// Movable; reading is thread safe.
class WeightsFile {
 public:
  // The format is told by the name, or by the first bytes where that says none; what is no file of another format is a
  // checkpoint's prefix, or a directory (its newest). `rules`: a file of rules by which tensors get other names and
  // axes; "": none.
  static Result<WeightsFile> open(const std::string& path, const std::string& rules = {});
  WeightsFile(WeightsFile&&) noexcept;
  WeightsFile& operator=(WeightsFile&&) noexcept;
  ~WeightsFile();

  // The path, of a checkpoint its prefix.
  const std::string& path() const;
  // Tensors of numbers by name, as variables that begin with them are called.
  const std::map<std::string, Type, std::less<>>& tensors() const;
  Result<Array> read(std::string_view name) const;
  // Tensors that are not read, of types that Tenon does not have, or in parts: "I16[2]", "partitioned f32[4]".
  const std::map<std::string, std::string, std::less<>>& unread() const;
  // Whether it is a weight, and nothing that an optimizer, or the course of training, has beside them in a checkpoint.
  bool is_weight(std::string_view name) const;
  // Weights, or with `all` all of tensors(), in the format that `path` is of: .safetensors, .weights.h5, or else a
  // checkpoint's prefix. The file is there whole or not at all. Tensors that are not read are an error, unless a rule
  // drops them. In .weights.h5 layers lie where the file has them that is one of Keras 3, or else by their names, which
  // have to be those that Keras gives itself, "dense", "dense_1": Keras finds no others there. Model::save_weights puts
  // all where Keras looks for them.
  Status write_to(const std::string& path, bool all = false) const;

 private:
  struct Impl;
  explicit WeightsFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether a path is a checkpoint's, its PREFIX or a directory, and no file of weights of another format.
bool names_checkpoint(const std::string& path);

}  // namespace tenon
