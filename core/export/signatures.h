// From what a model says that it exports to what a server answers with.
#pragma once

#include <string>
#include <vector>

#include "export/model_file.h"
#include "tenon/export_output.h"

namespace tenon {

constexpr const char* kDefaultSignature = "serving_default";

// The name of a result of the graph that is traced to be exported: "export/KEY/OUTPUT".
std::string exported_result(const std::string& key, const std::string& output);

// Sets signatures and images of `model`, whose graph has such results; they get short names, and each is there once. `specs`: of the
// features. An error where options.images do not fit.
Status set_signatures(const std::vector<ExportSignature>& signatures, const std::vector<FeatureSpec>& specs,
                      const ExportOptions& options, ModelFile& model);

}  // namespace tenon
