#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>

#include "backend/forecast.h"
#include "base/file/file.h"
#include "base/strings.h"
#include "compile/parted_program.h"
#include "step/program_plan.h"
#include "tenon/profiler.h"
#include "train/profile/profile_planes.h"

namespace tenon {
namespace {

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  std::string out = name;
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

// "2026_11_21_19_05_00", as TensorBoard names runs.
std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[40];
  std::strftime(text, sizeof text, "%Y_%m_%d_%H_%M_%S", &local);
  return text;
}

// A directory that no file of that name is in yet.
std::string fresh_run(const std::string& runs, const std::string& name) {
  const std::string run = cat(runs, "/", time_of_day());
  std::string out = run;
  std::error_code ignored;
  for (int n = 2; std::filesystem::exists(cat(out, "/", name, ".xplane.pb"), ignored); ++n) out = cat(run, "_", n);
  return out;
}

uint64_t unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

struct ProfilerHook::Impl {
  ProfileOptions options;
  ProfileRecorder recorder;
  ProfileSource source;
  WrittenProfile written;
  Status status = invalid("profile: no step has been trained");
  TrainingSite* site = nullptr;  // while train() runs
  std::shared_ptr<Device> device;
  bool tracing = false, over = false;
  int64_t seen = 0;  // steps of training
  int64_t last = 0;  // the global step that they led to

  std::string runs() const { return options.directory + "/plugins/profile"; }

  Status check() const {
    if (options.first_step < 1 || options.last_step < options.first_step)
      return invalid("profile: the steps are ", options.first_step, " to ", options.last_step,
                     ", expected a first of 1 or more and a last that is not before it");
    if (options.directory.empty()) return invalid("profile: no directory is given for its files");
    return make_directories(runs());
  }

  // Whether the device can be traced at all.
  Status try_device() {
    TENON_TRY(device->begin_trace(recorder));
    return device->end_trace();
  }

  Status describe() {
    source.device = device->name();
    source.units = device->units();
    source.facts = device->facts();
    source.ops = profile_ops(site->program.graph);
    source.host = host_name();
    if (const World* const world = World::joined())
      source.process = cat("rank ", world->rank(), " (", source.host, ")");
    if (!is_predicted(source) || !offers_forecast(*device)) return {};
    TENON_ASSIGN(source.forecast, predicted_step(site->program));
    return {};
  }

  // Whether it is ok in all processes; the status is of one that is not.
  Status in_all(const Status& own) const {
    World* const world = World::joined();
    if (!world) return own;
    TENON_ASSIGN(const int64_t failed, world->largest(own.ok() ? 0 : 1));
    return own.ok() && failed ? Status(Code::kUnavailable, "profile: another process cannot be traced") : own;
  }

  void start() {
    if (tracing || over || seen + 1 < options.first_step) return;
    const Status own = device->begin_trace(recorder);
    status = in_all(own);
    if (own.ok() && !status.ok()) (void)device->end_trace().ok();
    tracing = status.ok();
    over = !tracing;
    if (!tracing) return;
    recorder.done(seen);
    source.first_step = last + 1;
    source.begin_unix_ns = unix_ns();
    source.begin_ps = steady_ps();
    site->watch = &recorder;
    if (World* const world = World::joined()) world->set_watch(&recorder);
  }

  void stop() {
    if (!tracing) return;
    tracing = false;
    over = true;
    if (site) site->watch = nullptr;
    if (World* const world = World::joined()) world->set_watch(nullptr);
    status = device->end_trace();
  }

  // Training is over: its program and perhaps the device go.
  void leave() {
    stop();
    site = nullptr;
    device.reset();
  }

  void finish(int64_t traced) {
    stop();
    source.steps = traced;
    source.end_ps = steady_ps();
    const Result<std::string> run = common_run();
    if (status.ok()) status = run.ok() ? write(*run) : run.status();
  }

  // Each process writes files of its own.
  std::string file_name() const {
    return World::joined() ? cat("rank_", World::joined()->rank(), "_", source.host) : source.host;
  }
  // The directory that all processes write to; the first one has chosen it.
  Result<std::string> common_run() const {
    const std::string own = fresh_run(runs(), file_name());
    return World::joined() ? World::joined()->first_tells(own) : Result<std::string>(own);
  }

  Status write(const std::string& run) {
    if (recorder.kernels().empty())
      return invalid("profile: ", source.device, " reported no kernel while it was traced");
    const std::string file = cat(run, "/", file_name());
    TENON_TRY(make_directories(run));
    const ProfileSpace space = make_profile(recorder, source);
    TENON_TRY(write_chrome_trace(space, file + ".trace.json.gz"));
    TENON_TRY(write_xplane(space, file + ".xplane.pb"));
    written = {file + ".xplane.pb", file + ".trace.json.gz", source.device, is_predicted(source), source.steps};
    recorder = {};
    return {};
  }
};

ProfilerHook::ProfilerHook(ProfileOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
}
ProfilerHook::~ProfilerHook() {
  impl_->site = nullptr;
  impl_->leave();
}

Status ProfilerHook::status() const { return impl_->status; }
const WrittenProfile& ProfilerHook::written() const { return impl_->written; }

Status ProfilerHook::attach(TrainingSite& site) {
  Impl& m = *impl_;
  m.site = nullptr;  // a call of train() that failed left its own
  m.leave();
  if (m.over) return {};
  m.site = &site;
  m.device = site.program.device;
  TENON_TRY(m.check());
  if (!site.traced)
    return invalid("profile: RunConfig.trace is false, expected true: the device's program has to be compiled for it");
  const auto on_host = [](const PlacedPart& part) { return part.kind == PartKind::kHost; };
  if (const PartedProgram* const parted = site.program.parted.get();
      parted && std::any_of(parted->parts.begin(), parted->parts.end(), on_host))
    return invalid("profile: the step runs in parts on two devices (soft placement), which are not traced");
  const Status status = m.try_device();
  if (!status.ok()) return Status(status.code(), cat("profile: ", status.message()));
  return m.describe();
}

int64_t ProfilerHook::most_steps(int64_t) const {
  const Impl& m = *impl_;
  if (m.over) return std::numeric_limits<int64_t>::max();
  return m.tracing ? m.options.last_step - m.seen : m.options.first_step - 1 - m.seen;
}

void ProfilerHook::begin(int64_t step) {
  impl_->last = step;
  impl_->start();
}

bool ProfilerHook::after_run(int64_t step, std::span<const float> losses) {
  Impl& m = *impl_;
  m.last = step;
  m.seen += std::ssize(losses);
  if (m.tracing) m.recorder.done(m.seen);
  if (m.tracing && m.seen >= m.options.last_step)
    m.finish(m.seen - m.options.first_step + 1);
  else
    m.start();
  return true;
}

void ProfilerHook::end(int64_t) {
  Impl& m = *impl_;
  const bool any = m.seen >= m.options.first_step;
  if (m.tracing && any) {
    m.finish(m.seen - m.options.first_step + 1);
  } else if (m.tracing || !m.over) {
    m.stop();
    m.over = false;  // another call of train() may get there
    m.status = invalid("profile: training ended after ", m.seen, m.seen == 1 ? " step" : " steps", ", before step ",
                       m.options.first_step, " where the profile begins");
  }
  m.leave();
}

}  // namespace tenon
