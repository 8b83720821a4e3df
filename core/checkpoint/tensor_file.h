// A file of named tensors in either format that Tenon writes: safetensors, where its name ends with ".safetensors", or else a
// TensorBundle, which is named by its prefix.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_bundle.h"

namespace tenon {

bool is_safetensors(std::string_view path);

// Movable; reading is thread safe.
class TensorFile {
 public:
  // A bundle is named by its prefix, its PREFIX.index, or the directory of which it is the newest.
  static Result<TensorFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  // Those of numeric types that Tenon has; strings and partitioned variables are passed over.
  const std::map<std::string, Type, std::less<>>& tensors() const { return tensors_; }
  // REQUIRED: out has the size of the tensor's type. On an error `out` is unspecified.
  Status read(std::string_view name, std::span<std::byte> out) const;

 private:
  TensorFile(std::string path, SafetensorsReader reader);
  TensorFile(std::string path, BundleReader reader);

  std::string path_;
  std::map<std::string, Type, std::less<>> tensors_;
  std::variant<SafetensorsReader, BundleReader> reader_;
};

// The file, or both of a bundle, are there whole or not at all.
Status write_tensor_file(const std::string& path, std::vector<TensorSource> tensors);

}  // namespace tenon
