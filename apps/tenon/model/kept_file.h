// A model that is a file, in the directory that it is trained in: later runs need nothing else.
#pragma once

#include <string>

namespace tenon::runner {

// Copies the file, with the data that it has in other files, to MODEL_DIR/model.onnx, whole or not at all; how the directory names it:
// "model.onnx". Throws Error.
std::string keep_model_file(const std::string& model_dir, const std::string& path);
// The path of what a record in `directory` names so; records of before have absolute ones, too.
std::string kept_model_file(const std::string& directory, const std::string& name);
// Whether two models are the same: by name, or files of the same bytes, or of the same data where those lie in other files.
bool is_same_model(const std::string& a, const std::string& b);

}  // namespace tenon::runner
