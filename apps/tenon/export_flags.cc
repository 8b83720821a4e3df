#include "export_flags.h"

#include "output.h"

namespace tenon::runner {

void add_export_flags(Flags& flags) {
  flags.text("output", "", "directory of versions: the model becomes OUTPUT/VERSION");
  flags.text(
      "format", "saved_model",
      "saved_model: for TensorFlow and Tenon; tenon: without TensorFlow's graph, which has not all ops; onnx: for ONNX "
      "Runtime, OUTPUT/VERSION/model.onnx, or OUTPUT itself where it ends with .onnx",
      {"saved_model", "tenon", "onnx"});
  flags.boolean("frozen", false, "weights are constants of TensorFlow's graph; for TensorFlow alone, up to 2 GB");
  flags.integer("version", 0, "number of the version, larger than those there; 0: the seconds since 1970", 0,
                int64_t{1} << 53);
  flags.integer("keep", 0, "newest versions that stay in OUTPUT; 0: all", 0, 1 << 30);
}

ExportOptions export_options(const Flags& flags, ExportOptions of) {
  const std::string& name = flags.text("format");
  of.format = name == "onnx" ? ExportFormat::kOnnx : name == "tenon" ? ExportFormat::kTenon : ExportFormat::kSavedModel;
  of.version = flags.integer("version");
  of.frozen = flags.boolean("frozen");
  of.keep = static_cast<int>(flags.integer("keep"));
  if (of.frozen && of.format != ExportFormat::kSavedModel)
    throw UsageError{"--frozen and --format " + name + " exclude each other"};
  return of;
}

}  // namespace tenon::runner
