#include "train/profile/profile_planes.h"

#include <algorithm>

#include "base/strings.h"
#include "tenon/op/table.h"

namespace tenon {
namespace {

constexpr uint64_t kProgramId = 1;
constexpr const char* kModule = "train_step(1)";

// Row-major, as XLA writes it.
std::string shape_with_layout(const Type& type) {
  std::vector<int> order;
  for (int i = type.shape.rank() - 1; i >= 0; --i) order.push_back(i);
  return cat(dtype_name(type.dtype), "[", join(type.shape.vec(), ","), "]{", join(order, ","), "}");
}

// As XLA's profiles name kinds of work.
std::string category_of(std::string_view op) {
  using op::Category;
  const op::Row* row = op::find(op);
  if (!row) return "fusion";
  switch (row->category) {
    case Category::kCollective:
      return op == "all_gather" ? "all-gather" : "all-reduce";
    case Category::kUpdate:
      return "update";
    case Category::kConvolution:
      return "convolution";
    case Category::kProduct:
    case Category::kAttention:
    case Category::kRecurrent:
      return "dot";
    case Category::kReduction:
    case Category::kPooling:
    case Category::kNormalization:
    case Category::kSoftmax:
      return "reduce";
    case Category::kMovement:
      return "data formatting";
    default:
      return "fusion";
  }
}

// As viewers know it: a device that does not say what it is, or says it in other letters than theirs, is CUSTOM.
std::string device_kind(const DeviceFacts& facts) {
  const auto known = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return !facts.kind.empty() && std::all_of(facts.kind.begin(), facts.kind.end(), known) ? facts.kind : "CUSTOM";
}

// The steps of one unit, found among its kernels.
struct UnitStep {
  int64_t number = 0;
  std::vector<const KernelRecord*> kernels;
  uint64_t start_ps = ~uint64_t{0}, end_ps = 0;  // after the profile's beginning
  uint64_t work_end_ps = 0;                      // the last kernel's end; a step may be longer
  uint64_t stall_ps = 0;                         // waiting for the infeed
};

class Maker {
 public:
  Maker(const ProfileRecorder& recorder, const ProfileSource& source)
      : recorder_(recorder), source_(source), predicted_(is_predicted(source)) {}

  ProfileSpace make() {
    space_.begin_unix_ns = source_.begin_unix_ns;
    space_.host = source_.host;
    if (predicted_)
      space_.warnings.push_back(cat("all times are predicted for ", source_.device, ", none is measured"));
    if (recorder_.left_out() > 0)
      space_.warnings.push_back(
          cat(recorder_.left_out(), " events were left out, those behind the first ", recorder_.kernels().size()));
    align();
    find_waits();
    space_.planes.push_back(plane("/host:CPU"));
    space_.planes.push_back(plane("/host:metadata"));
    for (size_t unit = 0; unit < source_.units.size(); ++unit) add_unit(static_cast<uint32_t>(unit));
    add_host();
    add_metadata();
    for (ProfilePlane& p : space_.planes)
      for (ProfileLine& line : p.lines)
        std::stable_sort(line.events.begin(), line.events.end(),
                         [](const ProfileEvent& a, const ProfileEvent& b) { return a.start_ps < b.start_ps; });
    return std::move(space_);
  }

 private:
  ProfilePlane plane(const std::string& name) const {
    ProfilePlane out{.name = name, .title = predicted_ ? name + " (predicted)" : name};
    if (!source_.process.empty()) out.title = cat(source_.process, ": ", out.title);
    out.stats.emplace_back("times", std::string(predicted_ ? "predicted" : "measured"));
    out.stats.emplace_back("tenon_device", source_.device);
    return out;
  }

  // A device whose clock is the host's stands where it was; another begins with its first kernel.
  void align() {
    if (recorder_.kernels().empty()) return;
    uint64_t first = ~uint64_t{0};
    for (const KernelRecord& k : recorder_.kernels()) first = std::min(first, k.start_ps);
    zero_ = source_.facts.trace_clock == DeviceFacts::Clock::kMonotonic ? source_.begin_ps : first;
  }
  uint64_t device_time(uint64_t ps) const { return ps > zero_ ? ps - zero_ : 0; }
  uint64_t host_time(uint64_t ps) const { return ps > source_.begin_ps ? ps - source_.begin_ps : 0; }

  void find_waits() {
    if (predicted_) return;
    for (const HostRecord& h : recorder_.host())
      if (h.steps == 0) waits_[h.step] = {host_time(h.start_ps), host_time(h.end_ps)};
  }

  // The kernels of a step come one after the other, in the same order each time: a new step begins where the first one
  // comes again. A node may be several kernels, so often in each step.
  std::vector<UnitStep> steps_of(uint32_t unit) const {
    std::vector<const KernelRecord*> kernels;
    for (const KernelRecord& k : recorder_.kernels())
      if (k.unit == unit) kernels.push_back(&k);
    if (kernels.empty()) return {};
    const auto marks = [&](const KernelRecord* k) {
      return k->name == kernels[0]->name && k->lane == kernels[0]->lane;
    };
    const int64_t count = std::count_if(kernels.begin(), kernels.end(), marks);
    const int64_t steps = std::max<int64_t>(source_.steps, 1), each = count % steps == 0 ? count / steps : 1;
    std::vector<UnitStep> out;
    int64_t seen = 0;
    for (const KernelRecord* k : kernels) {
      if (marks(k) && seen++ % each == 0)
        out.push_back({.number = source_.first_step + std::ssize(out), .kernels = {}});
      UnitStep& step = out.back();
      step.kernels.push_back(k);
      step.start_ps = std::min(step.start_ps, device_time(k->start_ps));
      step.work_end_ps = std::max(step.work_end_ps, device_time(k->start_ps + k->duration_ps));
    }
    bound(out);
    return out;
  }

  // A step that is measured begins with the wait for its batch; one that is predicted lasts until the next.
  void bound(std::vector<UnitStep>& steps) const {
    for (size_t i = 0; i < steps.size(); ++i) {
      UnitStep& step = steps[i];
      step.end_ps = step.work_end_ps;
      if (predicted_ && i + 1 < steps.size()) step.end_ps = std::max(step.end_ps, steps[i + 1].start_ps);
      if (predicted_ && i + 1 == steps.size())
        step.end_ps = std::max(step.end_ps, step.start_ps + (source_.forecast ? picoseconds(source_.forecast->step_ms)
                                                             : i > 0          ? steps[0].end_ps - steps[0].start_ps
                                                                              : 0));
      const auto wait = waits_.find(step.number);
      if (wait != waits_.end()) {
        step.stall_ps = wait->second.second - wait->second.first;
        step.start_ps = std::min(step.start_ps, wait->second.first);
      } else if (predicted_ && source_.forecast && source_.forecast->infeed_ms > source_.forecast->device_ms) {
        step.stall_ps = std::min(step.end_ps - step.work_end_ps,
                                 picoseconds(source_.forecast->infeed_ms - source_.forecast->device_ms));
      }
    }
  }
  static uint64_t picoseconds(double ms) { return static_cast<uint64_t>(std::max(ms, 0.0) * 1e9); }

  void add_unit(uint32_t unit) {
    const UnitInfo& info = source_.units[unit];
    const std::vector<UnitStep> steps = steps_of(unit);
    const bool cpu = info.kind == "cpu";
    if (!cpu || unit > 0)
      space_.planes.push_back(
          plane(cpu ? cat("/host:CPU:", unit) : cat("/device:", device_kind(source_.facts), ":", unit)));
    ProfilePlane& to = cpu && unit == 0 ? space_.planes[0] : space_.planes.back();
    to.stats.emplace_back("device_type_string", info.name);
    add_lines(to, steps);
    add_averages(to, steps);
    if (source_.forecast && source_.forecast->peak_flops > 0) {
      to.stats.emplace_back("peak_teraflops_per_second", source_.forecast->peak_flops * 1e-12);
      to.stats.emplace_back("matrix_unit_utilization_percent", 100 * source_.forecast->matrix_utilisation());
      if (source_.forecast->peak_bytes > 0)
        to.stats.emplace_back("peak_hbm_bw_gigabytes_per_second", source_.forecast->peak_bytes * 1e-9);
      to.stats.emplace_back("bottleneck", source_.forecast->bottleneck);
    }
  }

  void add_lines(ProfilePlane& to, const std::vector<UnitStep>& steps) const {
    ProfileLine step_line{"Steps", {}}, modules{"XLA Modules", {}}, frameworks{"Framework Ops", {}};
    std::map<uint32_t, ProfileLine> ops{{0, {"XLA Ops", {}}}};
    for (const UnitStep& step : steps) {
      const uint64_t length = step.end_ps - step.start_ps;
      const double stall_ms = static_cast<double>(step.stall_ps) * 1e-9;
      step_line.events.push_back({to.kind(std::to_string(step.number)),
                                  step.start_ps,
                                  length,
                                  {{"step_num", step.number}, {"tc_infeed_time_ms", stall_ms}},
                                  step.number});
      const uint64_t work = device_time(step.kernels[0]->start_ps);
      modules.events.push_back(
          {to.kind(kModule), work, step.work_end_ps - work, {{"program_id", kProgramId}}, step.number});
      for (const KernelRecord* k : step.kernels) add_op(to, *k, step.number, ops);
      if (predicted_ && step.stall_ps > 0) add_infeed(to, step, ops[0]);
      add_framework_ops(to, step, frameworks);
    }
    to.lines.push_back(std::move(step_line));
    to.lines.push_back(std::move(modules));
    for (auto& [lane, line] : ops) {
      if (lane > 0) line.name = cat("XLA Ops, thread ", lane);
      to.lines.push_back(std::move(line));
    }
    to.lines.push_back(std::move(frameworks));
  }

  const ProfileOp* op_of(const KernelRecord& k) const {
    const auto at = source_.ops.find(recorder_.names()[k.name]);
    return at == source_.ops.end() ? nullptr : &at->second;
  }

  void add_op(ProfilePlane& to, const KernelRecord& k, int64_t step, std::map<uint32_t, ProfileLine>& ops) const {
    const std::string& name = recorder_.names()[k.name];
    const size_t kind = to.kind(name);
    ProfileStats& stats = to.kinds[kind].stats;
    if (stats.empty()) {
      const ProfileOp* op = op_of(k);
      stats = {{"hlo_category", op ? op->category : std::string("copy")},
               {"hlo_op", name},
               {"program_id", kProgramId},
               {"symbol_id", uint64_t{kind} + 1},  // by which XProf tells ops apart
               {"flops", k.flops},
               {"bytes_accessed", k.bytes}};
      if (op) stats.insert(stats.end(), {{"shape_with_layout", op->shape}, {"tf_op", cat(op->origin, ":", op->op)}});
    }
    ProfileEvent event{kind, device_time(k.start_ps), k.duration_ps, {}, step};
    if (k.lane > 0) event.stats = {{"flops", k.flops}, {"bytes_accessed", k.bytes}};
    ops[k.lane].events.push_back(std::move(event));
  }

  void add_infeed(ProfilePlane& to, const UnitStep& step, ProfileLine& line) const {
    const size_t kind = to.kind("infeed");
    to.kinds[kind].stats = {{"hlo_category", std::string("infeed")},
                            {"hlo_op", std::string("infeed")},
                            {"program_id", kProgramId},
                            {"symbol_id", uint64_t{kind} + 1}};
    line.events.push_back({kind, step.work_end_ps, step.stall_ps, {}, step.number});
  }

  // Kernels of the first thread, those of one of the user's ops joined where they follow one another.
  void add_framework_ops(ProfilePlane& to, const UnitStep& step, ProfileLine& line) const {
    size_t last = ~size_t{0};
    for (const KernelRecord* k : step.kernels) {
      const ProfileOp* op = op_of(*k);
      if (k->lane > 0 || !op) continue;
      const size_t kind = to.kind(cat(op->origin, ":"));
      to.kinds[kind].display_name = op->origin;
      const uint64_t start = device_time(k->start_ps);
      if (kind != last) line.events.push_back({kind, start, 0, {}});
      line.events.back().duration_ps = start + k->duration_ps - line.events.back().start_ps;
      last = kind;
    }
  }

  static void add_averages(ProfilePlane& to, const std::vector<UnitStep>& steps) {
    if (steps.empty()) return;
    double stalled = 0, all = 0;
    for (const UnitStep& step : steps) {
      stalled += static_cast<double>(step.stall_ps);
      all += static_cast<double>(step.end_ps - step.start_ps);
    }
    const double n = static_cast<double>(steps.size()), percent = all > 0 ? 100 * stalled / all : 0;
    to.stats.emplace_back("step_time_ms", all / n * 1e-9);
    to.stats.emplace_back("tc_infeed_time_ms", stalled / n * 1e-9);
    to.stats.emplace_back("infeed_percent_average", percent);
    to.stats.emplace_back("input_percent", percent);
  }

  void add_host() {
    ProfilePlane& to = space_.planes[0];
    ProfileLine infeed{"Infeed", {}}, calls{"Calls of the device", {}};
    if (predicted_) {
      add_predicted_infeed(to, infeed);
    } else {
      for (const HostRecord& h : recorder_.host()) {
        ProfileLine& line = h.steps == 0 ? infeed : calls;
        ProfileEvent event{to.kind(h.steps == 0 ? "wait for a batch" : "run"),
                           host_time(h.start_ps),
                           h.end_ps - h.start_ps,
                           {{"step_num", h.step}}};
        if (h.steps != 0) event.stats.emplace_back("steps", h.steps);
        line.events.push_back(std::move(event));
      }
    }
    to.lines.push_back(std::move(infeed));
    if (predicted_) return;
    to.lines.push_back(std::move(calls));
    if (!source_.process.empty()) to.lines.push_back(exchanges(to));
  }

  // Beside the ops that go on meanwhile.
  ProfileLine exchanges(ProfilePlane& to) const {
    ProfileLine line{"Exchanges between processes", {}};
    for (const ExchangeRecord& e : recorder_.exchanges())
      line.events.push_back(
          {to.kind(cat(e.name, " (exchange)")), host_time(e.start_ps), e.end_ps - e.start_ps, {{"bytes", e.bytes}}});
    return line;
  }

  void add_predicted_infeed(ProfilePlane& to, ProfileLine& line) const {
    if (!source_.forecast) return;
    for (const UnitStep& step : steps_of(0))
      line.events.push_back({to.kind("infeed"),
                             step.start_ps,
                             std::min(picoseconds(source_.forecast->infeed_ms), step.end_ps - step.start_ps),
                             {{"step_num", step.number}}});
  }

  void add_metadata() {
    ProfileStats& stats = space_.planes[1].stats;
    stats.emplace_back("hostname", source_.host);
    stats.emplace_back("first_step", source_.first_step);
    stats.emplace_back("steps", source_.steps);
    if (!source_.forecast) return;
    stats.emplace_back("machine", source_.forecast->machine);
    stats.emplace_back("software", source_.forecast->software);
    stats.emplace_back("advice", source_.forecast->advice);
    std::string padded;
    for (const PaddedLayer& layer : source_.forecast->padded_layers)
      append(padded, cat(layer.name, ": ", layer.sizes_text(), "\n"));
    stats.emplace_back("padded_layers", padded);
  }

  const ProfileRecorder& recorder_;
  const ProfileSource& source_;
  bool predicted_;
  uint64_t zero_ = 0;                                       // of the device's clock
  std::map<int64_t, std::pair<uint64_t, uint64_t>> waits_;  // by step
  ProfileSpace space_;
};

}  // namespace

std::map<std::string, ProfileOp, std::less<>> profile_ops(const Graph& graph) {
  std::map<std::string, ProfileOp, std::less<>> out;
  for (const Node& node : graph.nodes)
    out[node.name] = {node.op, node.origin.empty() ? node.name : node.origin, category_of(node.op),
                      node.results.empty() ? std::string() : shape_with_layout(graph.type(node.results[0]))};
  return out;
}

bool is_predicted(const ProfileSource& source) {
  return std::any_of(source.units.begin(), source.units.end(), [](const UnitInfo& u) { return u.emulated; });
}

ProfileSpace make_profile(const ProfileRecorder& recorder, const ProfileSource& source) {
  return Maker(recorder, source).make();
}

}  // namespace tenon
