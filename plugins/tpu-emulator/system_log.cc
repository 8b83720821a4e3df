#include "system_log.h"

#include <cmath>
#include <cstdio>

namespace tpu {
namespace {

constexpr auto kBetweenStepTimes = std::chrono::seconds(10);

// A number for a device that stays the same from run to run, as its place does.
uint64_t incarnation(const std::string& device) {
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (char c : device) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash >> 1;
}

std::string available(int task, const std::string& name, const std::string& kind, int64_t bytes) {
  const std::string full = "/job:worker/replica:0/task:" + std::to_string(task) + "/device:" + name;
  return "*** Available Device: _DeviceAttributes(" + full + ", " + kind + ", " + std::to_string(bytes) + ", " +
         std::to_string(incarnation(full)) + ")";
}

// What only somebody who looks into the system wants to see.
template <class Lines>
void detail(Lines& lines, std::string text) {
  lines.push_back({TENON_LOG_DEBUG, std::move(text)});
}

}  // namespace

void SystemLog::log(const Lines& lines) const {
  if (!host_.log) return;
  for (const Line& line : lines) host_.log(host_.ctx, line.level, line.text.c_str());
}

void SystemLog::found(const Machine& machine, double seconds) {
  machine_ = machine.name;
  opening_s_ = seconds;
  const int per_host = machine.cores / machine.hosts;
  const auto bytes = static_cast<int64_t>(machine.reported_memory_bytes);
  Lines lines;
  detail(lines, "Querying Tensorflow master (tpu-emulator:" + machine.name + ") for TPU system metadata.");
  detail(lines, "Found TPU system:");
  detail(lines, "*** Num TPU Cores: " + std::to_string(machine.cores));
  detail(lines, "*** Num TPU Workers: " + std::to_string(machine.hosts));
  detail(lines, "*** Num TPU Cores Per Worker: " + std::to_string(per_host));
  for (int host = 0; host < machine.hosts; ++host) {
    detail(lines, available(host, "CPU:0", "CPU", -1));
    for (int core = 0; core < per_host; ++core)
      detail(lines, available(host, "TPU:" + std::to_string(core), "TPU", bytes));
    detail(lines, available(host, "TPU_SYSTEM:0", "TPU_SYSTEM", bytes));
  }
  log(lines);
}

void SystemLog::begin_call(uint32_t iterations) {
  Lines lines;
  {
    const std::lock_guard lock(mutex_);
    if (!initialised_) {
      detail(lines, "Init TPU system");
      detail(lines, "Initialized TPU in " + std::to_string(std::lround(opening_s_)) + " seconds");
      detail(lines, "Starting infeed thread controller.");
      detail(lines, "Starting outfeed thread controller.");
    }
    initialised_ = true;
  }
  const std::string batches = "next (" + std::to_string(iterations) + ") batch(es) of data ";
  detail(lines, "Enqueue " + batches + "to infeed.");
  detail(lines, "Dequeue " + batches + "from outfeed.");
  log(lines);
}

void SystemLog::end_call(uint64_t program, uint32_t iterations, double predicted_step_s, double seconds) {
  Lines lines;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t last = iterations ? iterations - 1 : 0;
    detail(lines, "Outfeed finished for iteration (" + std::to_string(calls_++) + ", " + std::to_string(last) + ")");
    if (program != program_) {  // training and evaluation are told apart
      say_step_time(lines);
      program_ = program;
      first_call_ = true;
      said_ = std::chrono::steady_clock::now();
    } else if (first_call_) {
      first_call_ = false;  // it also paid for fresh memory
      measured_steps_ = 0;
      measured_s_ = 0;
    }
    measured_steps_ += iterations;
    measured_s_ += seconds;
    predicted_step_s_ = predicted_step_s;
    if (const auto now = std::chrono::steady_clock::now(); now - said_ >= kBetweenStepTimes) {
      said_ = now;
      say_step_time(lines);
    }
  }
  log(lines);
}

void SystemLog::say_step_time(Lines& lines) {
  if (measured_steps_ == 0) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "step time: %.3f ms predicted for a TPU %s; %.3f ms measured on this machine, which emulates it "
                "(mean of %llu steps)",
                predicted_step_s_ * 1e3, machine_.c_str(), measured_s_ / static_cast<double>(measured_steps_) * 1e3,
                static_cast<unsigned long long>(measured_steps_));
  lines.push_back({TENON_LOG_INFO, text});
  measured_steps_ = 0;
  measured_s_ = 0;
}

void SystemLog::shut_down() {
  Lines lines;
  {
    const std::lock_guard lock(mutex_);
    if (!initialised_) return;
    initialised_ = false;
    say_step_time(lines);
    program_ = 0;
  }
  for (const char* line :
       {"Stop infeed thread controller", "Shutting down InfeedController thread.",
        "InfeedController received shutdown signal, stopping.", "Infeed thread finished, shutting down.",
        "infeed marked as finished", "Stop output thread controller", "Shutting down OutfeedController thread.",
        "OutfeedController received shutdown signal, stopping.", "Outfeed thread finished, shutting down.",
        "outfeed marked as finished", "Shutdown TPU system."})
    detail(lines, line);
  log(lines);
}

}  // namespace tpu
