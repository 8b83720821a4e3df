// tenon inspect onnx: what an ONNX file takes, gives and is made of.
#include "inspect/inspect.h"
#include "tenon/onnx.h"

namespace tenon::runner {
namespace {

// "f32[batch,3,224,224]"; "?" for what the file does not say.
std::string type_text(const OnnxValue& value) {
  std::string dims;
  for (size_t a = 0; a < value.dims.size(); ++a) {
    if (a > 0) dims += ",";
    dims += value.dims[a] >= 0           ? format("%ld", static_cast<long>(value.dims[a]))
            : value.dim_names[a].empty() ? "?"
                                         : value.dim_names[a];
  }
  const std::string dtype(value.dtype == DType::kNone ? "?" : dtype_name(value.dtype));
  return dtype + (value.has_shape ? "[" + dims + "]" : "");
}

std::string json_values(const std::vector<OnnxValue>& values) {
  return json_list_of(values, [](const OnnxValue& value) {
    return Json().add("name", value.name).add("type", type_text(value)).str();
  });
}

void print_values(const char* what, const std::vector<OnnxValue>& values) {
  for (const OnnxValue& value : values) print("%-8s %-32s %s\n", what, value.name.c_str(), type_text(value).c_str());
}

}  // namespace

int inspect_onnx(const Flags& flags, const std::string& path) {
  const OnnxModel model = import_onnx(path, {.take_unknown = true}).take();
  int64_t parameters = 0, nodes = 0;
  for (const OnnxVariable& v : model.variables()) parameters += v.type.shape.elements();
  Json ops, opsets, unknown;
  std::string ops_text, opsets_text, unknown_text;
  for (const auto& [op, count] : model.unknown_ops()) {
    unknown.add(op, count);
    add_item(unknown_text, format("%s %ld", op.c_str(), static_cast<long>(count)));
  }
  for (const auto& [op, count] : model.ops()) {
    nodes += count;
    ops.add(op, count);
    add_item(ops_text, format("%s %ld", op.c_str(), static_cast<long>(count)));
  }
  for (const auto& [domain, version] : model.opsets()) {
    opsets.add(domain.empty() ? "ai.onnx" : domain, version);
    add_item(opsets_text, format("%s %ld", domain.empty() ? "ai.onnx" : domain.c_str(), static_cast<long>(version)));
  }
  if (flags.boolean("json")) {
    print_line(Json("result")
                   .add("file", path)
                   .add("producer", model.producer())
                   .add("ir_version", model.ir_version())
                   .add("parameters", parameters)
                   .raw("opsets", opsets.str())
                   .raw("inputs", json_values(model.inputs()))
                   .raw("outputs", json_values(model.outputs()))
                   .raw("ops", ops.str())
                   .raw("unknown_ops", unknown.str())
                   .str());
    return 0;
  }
  print_values("input", model.inputs());
  print_values("output", model.outputs());
  print("opset    %s\n", opsets_text.c_str());
  print("ops      %s\n", ops_text.c_str());
  if (!unknown_text.empty()) print("unknown  %s\n", unknown_text.c_str());
  print("%s: %s, %s parameters, by %s\n", path.c_str(), counted(nodes, "node").c_str(), with_commas(parameters).c_str(),
        model.producer().empty() ? "an unknown program" : model.producer().c_str());
  return 0;
}

}  // namespace tenon::runner
