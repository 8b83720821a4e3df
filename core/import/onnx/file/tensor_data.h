// Tensors of a file: their sizes held against the bytes that there are, and where those lie.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "import/onnx/file/onnx_model_file.h"
#include "onnx.pb.h"

namespace tenon::onnx {

// Files beside the model's, each opened once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string directory) : directory_(std::move(directory)) {}  // "": there are none
  // Opens the file of that name in the directory, reached through no link and no "..".
  Result<std::shared_ptr<const File>> open(const std::string& name);

 private:
  std::string directory_;
  std::map<std::string, std::shared_ptr<const File>> files_;
};

// Names have no NUL in them: what takes them as C strings would see another.
Status check_name(std::string_view name, const char* what);

// Takes the bytes out of `from`.
Result<TensorData> tensor_of(TensorProto& from, ExternalFiles& files);

}  // namespace tenon::onnx
