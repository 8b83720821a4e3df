// ONNX files as models of a server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/served_model.h"

namespace tenon::runner {

// The file that such a version is: the path itself, or the model.onnx in it where it has nothing of Tenon's; "" where it is another.
std::string onnx_file_of(const std::string& version);

// Loads ONNX files as what `tenon import` makes of them, which is there only while they are loaded; other versions by `loader`. `dims`:
// sizes of dimensions that a file leaves open, where it has such.
server::ModelLoader with_onnx(server::ModelLoader loader, const std::string& device,
                              const std::map<std::string, int64_t>& dims);

// Throws UsageError where no file of the paths has a dimension of such a name open.
void expect_dims(const std::map<std::string, int64_t>& dims, const std::vector<std::string>& base_paths);

}  // namespace tenon::runner
