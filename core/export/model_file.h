// assets.extra/tenon/model.pb: a graph for any number of rows, its signatures, how files of images become examples
// (share/proto/exported_model.proto).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/portable_graph.h"
#include "tenon/exported_model.h"

namespace tenon {

constexpr int kModelFormat = 1;

struct ModelFile {
  PortableGraph graph;
  std::vector<ServingSignature> signatures;
  std::optional<ExportedImages> images;
};

std::string to_bytes(const ModelFile& model);
// Checked: indices, names, sizes that no memory has. What ops say of their attributes is checked when the graph is built. kInvalid
// says what is wrong, without the file's name.
Result<ModelFile> parse_model_file(std::string_view bytes);

}  // namespace tenon
