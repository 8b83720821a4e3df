#include "machine/spec.h"

#include "tenon/plugin/entry.h"

namespace tpu {
namespace {

using tenon::plugin::Error;

void set(Spec& spec, const std::string& key, const std::string& value) {
  const std::string what = "spec '" + key + "=" + value + "': ";
  if (key == "backend") {
    if (value.empty() || value == "tpu-emulator")
      throw Error(TENON_INVALID, what + "expected another backend's name, such as cpu");
    spec.backend = value;
  } else if (key == "dots") {
    if (value != "bf16" && value != "f32") throw Error(TENON_INVALID, what + "expected bf16 or f32");
    spec.rounds = value == "bf16";
  } else {
    throw Error(TENON_INVALID, what + "unknown key, expected backend or dots");
  }
}

}  // namespace

Spec parse_spec(const char* text) {
  Spec spec;
  std::string rest = text ? text : "";
  for (bool first = true; !rest.empty(); first = false) {
    const size_t comma = rest.find(',');
    const std::string part = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const size_t equals = part.find('=');
    if (equals != std::string::npos)
      set(spec, part.substr(0, equals), part.substr(equals + 1));
    else if (first)
      spec.machine = part;
    else
      throw Error(TENON_INVALID, "spec '" + part + "': expected KEY=VALUE after the machine");
  }
  return spec;
}

}  // namespace tpu
