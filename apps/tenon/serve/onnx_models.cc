#include "serve/onnx_models.h"

#include <filesystem>
#include <set>

#include "flags.h"
#include "onnx/version.h"
#include "output.h"
#include "server/models/base_path.h"
#include "temporary_directory.h"
#include "tenon/onnx.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;

using Dims = std::map<std::string, int64_t>;

// Without axis 0, which counts the rows.
std::set<std::string> open_dims(const OnnxModel& model) {
  std::set<std::string> out;
  for (const OnnxValue& input : model.inputs())
    for (size_t axis = 1; axis < input.dim_names.size(); ++axis)
      if (const std::string& name = input.dim_names[axis]; !name.empty()) out.insert(name);
  return out;
}

OnnxModel open_model(const std::string& file, const Dims& dims) {
  const OnnxModel model = import_onnx(file).take();
  OnnxOptions options;
  const std::set<std::string> open = open_dims(model);
  for (const auto& [name, size] : dims)
    if (open.contains(name)) options.dims.emplace(name, size);
  return options.dims.empty() ? model : model.with(options).take();
}

}  // namespace

std::string onnx_file_of(const std::string& version) {
  std::error_code error;
  if (fs::is_regular_file(version, error)) return version;
  const std::string inside = version + "/model.onnx";
  return fs::is_regular_file(inside, error) && !fs::exists(version + "/assets.extra", error) ? inside : "";
}

server::ModelLoader with_onnx(server::ModelLoader loader, const std::string& device, const Dims& dims) {
  return [loader = std::move(loader), device, dims](const std::string& path) {
    const std::string file = onnx_file_of(path);
    if (file.empty()) return loader(path);
    const TemporaryDirectory place;
    const std::string made =
        write_version(open_model(file, dims), Strategy(device), place.path(), {.format = ExportFormat::kTenon});
    return loader(made);
  };
}

void expect_dims(const Dims& dims, const std::vector<std::string>& base_paths) {
  std::set<std::string> open;
  for (const std::string& path : base_paths)
    for (const ExportedVersion& version :
         dims.empty() ? std::vector<ExportedVersion>() : server::versions_at(path).take())
      if (const std::string file = onnx_file_of(version.path); !file.empty())
        open.merge(open_dims(import_onnx(file).take()));
  for (const auto& [name, size] : dims)
    if (!open.contains(name))
      throw UsageError{format("--dim: no ONNX file that is served has a dimension '%s'; expected %s", name.c_str(),
                              open.empty() ? "none" : listed({open.begin(), open.end()}).c_str())};
}

}  // namespace tenon::runner
