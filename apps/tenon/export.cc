// tenon export: a trained model as what TensorFlow, TF Serving and `tenon serve` open.
#include "export_flags.h"
#include "model/model_run.h"
#include "process.h"
#include "saved_signatures.h"
#include "tenon/checkpoint.h"
#include "tenon/exported_model.h"

namespace tenon::runner {
namespace {

void declare_export(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  add_trained_flags(flags);
  add_export_flags(flags);
  flags.text("signature", "image_bytes",
             "what \"serving_default\" takes, of a model of images: files, or the numbers that it was trained on; the "
             "other is a signature by its own name",
             {"image_bytes", "tensor"});
  add_device_flags(flags);
}

ExportOptions options_of(const Flags& flags, const ModelRun& model) {
  ExportOptions out = export_options(flags, model.export_options());
  out.checkpoint = flags.text("checkpoint");
  out.tensor_default = flags.text("signature") == "tensor";
  if (flags.given("signature") && !out.images)
    throw UsageError{format("--signature: the model %s takes no images", model.info().name)};
  if (out.format == ExportFormat::kOnnx && flags.given("signature"))
    throw UsageError{"--signature and --format onnx exclude each other: it takes tensors"};
  return out;
}

// The signatures that Tenon's part of it tells, in the order in which values were declared; else those of TensorFlow's.
std::vector<SavedSignature> signatures_of(const std::string& path, bool frozen) {
  if (frozen) return saved_signatures(path).take();
  std::vector<SavedSignature> out;
  const ExportedModel exported = ExportedModel::open(path).take();
  for (const ServingSignature& signature : exported.signatures()) {
    out.push_back({signature.key, {}, {}});
    for (const ServingValue& value : signature.inputs) out.back().inputs.push_back(value.name);
    for (const ServingValue& value : signature.outputs) out.back().outputs.push_back(value.name);
  }
  return out;
}

// "serving_default: image_bytes -> probabilities, classid, class"
std::string signature_text(const SavedSignature& signature) {
  std::string inputs, outputs;
  for (const std::string& name : signature.inputs) add_item(inputs, name);
  for (const std::string& name : signature.outputs) add_item(outputs, name);
  return signature.key + ": " + inputs + " -> " + outputs;
}

void print_result(const ModelRun& model, const std::string& path, int64_t step, const ExportOptions& how, bool json) {
  if (json) {
    print_line(Json("result").add("model", model.info().name).add("output", path).add("global_step", step).str());
    return;
  }
  print_line(format("step %ld of %s in %s", static_cast<long>(step), model.info().name, path.c_str()));
  if (how.format == ExportFormat::kOnnx) return;
  for (const SavedSignature& signature : signatures_of(path, how.frozen)) print_line("  " + signature_text(signature));
}

int run_export(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  if (flags.text("checkpoint").empty()) flags.required("model_dir");
  const std::string output = flags.required("output");
  const ExportOptions options = options_of(flags, model);
  Estimator estimator = model.estimator({.model_dir = flags.text("model_dir"), .device = device_of(flags)});
  estimator.set_events(model.events());
  const std::string path = estimator.export_saved_model(output, model.synthetic(1, false), options).take();
  const int64_t step = options.checkpoint.empty()
                           ? estimator.global_step().take()
                           : CheckpointFile::open(options.checkpoint).take().global_step().take();
  check(estimator.close());
  print_result(model, path, step, options, flags.boolean("json"));
  return 0;
}

}  // namespace

const Command kExport{
    .name = "export",
    .arguments = "[MODEL] --model_dir DIR --output DIR [FLAGS]",
    .summary = "Writes a trained model for what serves it: TensorFlow, TF Serving, tenon serve",
    .declare = declare_export,
    .run = run_export,
    .details = list_of_models,
};

}  // namespace tenon::runner
