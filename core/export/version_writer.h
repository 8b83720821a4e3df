// Version directories of exported models: written whole or not at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "export/model_file.h"
#include "tenon/array.h"

namespace tenon {

constexpr const char* kExportedPart = "assets.extra/tenon";  // below a version directory
constexpr const char* kExportedWeights = "variables/variables";

struct VersionContents {
  ModelFile model;
  std::vector<std::string> labels;
  std::function<Result<Array>(const std::string& name)> variable;  // one that the graph has as an input
};

// Whether the format can say the model, without its weights.
Status check_format(const VersionContents& contents, ExportFormat format);
// BASE/VERSION, which appears when all its files are durable; its path. An error where the version is not newer than those there.
Result<std::string> write_version(const std::string& base, const VersionContents& contents,
                                  const ExportOptions& options);

}  // namespace tenon
