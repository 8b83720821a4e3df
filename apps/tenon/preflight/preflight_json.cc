// What `tenon preflight` says of one model on one machine, as one JSON object.
#include "preflight/preflight_parts.h"

namespace tenon::runner {
namespace {

std::string json_of(const Preflight::Input& input) {
  return Json().add("name", input.name).add("type", input.type).str();
}

std::string json_of(const PlannedAllocation& a) {
  return Json()
      .add("node", a.name)
      .add("op", a.op)
      .add("type", a.type)
      .add("bytes", a.bytes)
      .add("unpadded_bytes", a.dense_bytes)
      .add("offset", a.offset)
      .str();
}

std::string json_of(const PredictedKernel& k) {
  return Json()
      .add("node", k.name)
      .add("op", k.op)
      .add("nodes", k.nodes)
      .add("category", k.category)
      .add("bound", k.bound)
      .add("start_ms", k.start_ms)
      .add("ms", k.ms)
      .add("flops", k.flops)
      .add("padded_flops", k.padded_flops)
      .add("bytes", k.bytes)
      .add("padded_bytes", k.padded_bytes)
      .str();
}

std::string json_of(const PaddedSize& z) {
  return Json().add("what", z.what).add("size", z.size).add("padded", z.padded).str();
}

std::string json_of(const PaddedLayer& l) {
  return Json()
      .add("layer", l.name)
      .add("type", l.type)
      .raw("sizes", json_list_of(l.sizes, [](const PaddedSize& z) { return json_of(z); }))
      .add("memory_padding", l.memory_padding())
      .add("matrix_padding", l.matrix_padding())
      .str();
}

// "[..]" of what has a json_of().
template <class Item>
std::string list_of(const std::vector<Item>& items) {
  return json_list_of(items, [](const Item& item) { return json_of(item); });
}

std::string memory_json(const PlannedMemory& m) {
  return Json()
      .add("capacity_bytes", m.capacity)
      .add("peak_bytes", m.peak)
      .add("argument_bytes", m.arguments)
      .add("result_bytes", m.results)
      .add("workspace_bytes", m.workspace)
      .add("code_bytes", m.code)
      .add("reserved_bytes", m.reserved)
      .raw("allocations", list_of(m.allocations))
      .str();
}

std::string step_json(const Preflight& p) {
  const PredictedStep& s = p.step;
  return Json()
      .add("predicted_ms", s.step_ms)
      .add("device_ms", s.device_ms)
      .add("infeed_ms", s.infeed_ms)
      .add("outfeed_ms", s.outfeed_ms)
      .add("host_ms", s.host_ms)
      .add("collective_ms", s.collective_ms)
      .add("update_ms", s.update_ms)
      .add("bottleneck", s.bottleneck)
      .add("examples_per_second", p.examples_per_second())
      .add("matrix_utilisation", s.matrix_utilisation())
      .add("flops", s.flops)
      .add("peak_flops", s.peak_flops)
      .raw("kernels", list_of(s.kernels))
      .str();
}

std::string bounded_json(const Preflight& p) {
  Json json;
  json.add("verdict", verdict_name(p.verdict)).add("message", p.status.message()).raw("inputs", list_of(p.inputs));
  json.raw("memory", memory_json(p.memory));
  if (p.verdict == Verdict::kAccepted) json.raw("step", step_json(p));
  return json.str();
}

std::string run_json(const PredictedStep& s, const PlannedRun& run) {
  Json json;
  json.add("steps", run.steps).add("predicted_seconds", run.seconds(s.step_ms));
  if (run.price_per_hour > 0) json.add("price_per_hour", run.price_per_hour).add("cost", run.cost(s.step_ms));
  return json.str();
}

}  // namespace

void print_preflight_json(const std::string& model, const std::string& device, const BothForms& found,
                          const PlannedRun& run) {
  const Preflight& p = found.fixed;
  Json json("result");
  json.add("model", model)
      .add("device", device)
      .add("verdict", verdict_name(p.verdict))
      .add("message", p.status.message())
      .add("batch_size", p.batch_size)
      .add("core_batch_size", p.unit_batch_size)
      .add("parameters", p.parameters)
      .raw("inputs", list_of(p.inputs))
      .raw("warnings", json_strings(lines_of(p.warnings)))
      .raw("memory", memory_json(p.memory));
  if (p.verdict == Verdict::kAccepted)
    json.add("machine", p.step.machine)
        .add("software", p.step.software)
        .add("validated", p.step.validated)
        .add("cores", p.step.units)
        .add("hosts", p.step.hosts)
        .raw("step", step_json(p))
        .raw("padded_layers", list_of(p.step.padded_layers))
        .raw("advice", json_strings(lines_of(p.step.advice)))
        .raw("run", run_json(p.step, run));
  if (found.bounded) json.raw("bounded_batch", bounded_json(*found.bounded));
  print_line(json.str());
}

}  // namespace tenon::runner
