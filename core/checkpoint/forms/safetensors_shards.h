// Weights in several safetensors files, as Hugging Face saves large models: "model.safetensors.index.json" says which tensor is in which
// of the files beside it. Movable; reading is thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"

namespace tenon {

bool is_safetensors_index(std::string_view path);  // by its name: ".safetensors.index.json"

class SafetensorsShards {
 public:
  // Files elsewhere than beside it, ones that lack a tensor, and tensors that it does not name are errors.
  static Result<SafetensorsShards> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry, std::less<>>& entries() const { return entries_; }
  Status read(std::string_view name, std::span<std::byte> out) const;

 private:
  explicit SafetensorsShards(std::string path) : path_(std::move(path)) {}
  using WeightMap = std::map<std::string, std::string>;
  Status take(const WeightMap& map);
  Status take_shard(const std::string& name, const WeightMap& map);

  std::string path_;
  std::vector<SafetensorsReader> shards_;
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
  std::map<std::string, size_t, std::less<>> shard_of_;
};

}  // namespace tenon
