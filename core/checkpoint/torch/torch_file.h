// PyTorch's files of torch.save, ".pt" and ".pth", that hold a dictionary of tensors: an archive with a pickle, of which nothing is run
// (torch_pickle.h), and the tensors' bytes. Those of before PyTorch 1.6, which are no archives, are refused. Movable; reading is
// thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/archive/zip_file.h"
#include "checkpoint/torch/torch_pickle.h"

namespace tenon {

bool is_torch_file(std::string_view path);  // by its name

class TorchFile {
 public:
  static Result<TorchFile> open(const std::string& path);

  const std::string& path() const { return zip_.path(); }
  const std::map<std::string, TorchTensor, std::less<>>& tensors() const { return tensors_; }
  Status read(std::string_view name, std::span<std::byte> out) const;

 private:
  explicit TorchFile(ZipFile zip) : zip_(std::move(zip)) {}
  Status take_pickle();
  Status check(const std::string& name, const TorchTensor& tensor) const;
  ZipFile zip_;
  std::string folder_;  // of the archive: "resnet18/"
  std::map<std::string, TorchTensor, std::less<>> tensors_;
};

}  // namespace tenon
