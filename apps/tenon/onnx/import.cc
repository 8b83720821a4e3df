// tenon import: a model of an ONNX file as what TensorFlow, TF Serving and `tenon serve` open.
#include "command.h"
#include "export_flags.h"
#include "model/model_flags.h"
#include "onnx/dims.h"
#include "onnx/version.h"
#include "process.h"

namespace tenon::runner {
namespace {

void declare_import(Flags& flags, const std::vector<std::string>&) {
  flags.leave_out({"seed"});
  add_export_flags(flags);
  add_dim_flag(flags);
}

int run_import(const Flags& flags, const std::vector<std::string>& words) {
  expect_words(words, 1, 1, "one FILE.onnx");
  expect_no_weights(words[0]);
  const std::string output = flags.required("output");
  const ExportOptions options = export_options(flags);
  const OnnxModel model = import_onnx(words[0], {.dims = dims_of(flags)}).take();
  const Strategy strategy(device_of(flags));
  const std::string path = write_version(model, strategy, output, options);
  int64_t parameters = 0;
  for (const OnnxVariable& v : model.variables()) parameters += v.type.shape.elements();
  if (flags.boolean("json"))
    print_line(Json("result").add("model", words[0]).add("output", path).add("parameters", parameters).str());
  else
    print_line(format("%s, %s parameters, in %s", words[0].c_str(), with_commas(parameters).c_str(), path.c_str()));
  return 0;
}

}  // namespace

const Command kImport{
    .name = "import",
    .arguments = "FILE.onnx --output DIR [FLAGS]",
    .summary = "Writes an ONNX model for what serves it: TensorFlow, TF Serving, tenon serve",
    .declare = declare_import,
    .run = run_import,
};

}  // namespace tenon::runner
