#include "system_log.h"

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

}  // namespace

void SystemLog::line(const std::string& text) const {
  if (host_.log) host_.log(host_.ctx, TENON_LOG_INFO, text.c_str());
}

void SystemLog::found(const Machine& machine) {
  machine_ = machine.name;
  const int per_host = machine.cores / machine.hosts;
  const auto bytes = static_cast<int64_t>(machine.reported_memory_bytes);
  line("Querying Tensorflow master (tpu-emulator:" + machine.name + ") for TPU system metadata.");
  line("Found TPU system:");
  line("*** Num TPU Cores: " + std::to_string(machine.cores));
  line("*** Num TPU Workers: " + std::to_string(machine.hosts));
  line("*** Num TPU Cores Per Worker: " + std::to_string(per_host));
  for (int host = 0; host < machine.hosts; ++host) {
    line(available(host, "CPU:0", "CPU", -1));
    for (int core = 0; core < per_host; ++core) line(available(host, "TPU:" + std::to_string(core), "TPU", bytes));
    line(available(host, "TPU_SYSTEM:0", "TPU_SYSTEM", bytes));
  }
}

void SystemLog::begin_call(uint32_t iterations) {
  const std::lock_guard lock(mutex_);
  if (!initialised_) {
    initialised_ = true;
    line("Init TPU system");
    line("Initialized TPU in 0 seconds");
    line("Starting infeed thread controller.");
    line("Starting outfeed thread controller.");
  }
  const std::string batches = "next (" + std::to_string(iterations) + ") batch(es) of data ";
  line("Enqueue " + batches + "to infeed.");
  line("Dequeue " + batches + "from outfeed.");
}

void SystemLog::end_call(const void* program, uint32_t iterations, double predicted_step_s, double seconds) {
  const std::lock_guard lock(mutex_);
  const uint64_t last = iterations ? iterations - 1 : 0;
  line("Outfeed finished for iteration (" + std::to_string(calls_++) + ", " + std::to_string(last) + ")");
  if (program != program_) {  // training and evaluation are told apart
    say_step_time();
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
    say_step_time();
  }
}

void SystemLog::say_step_time() {
  if (measured_steps_ == 0) return;
  char text[256];
  std::snprintf(text, sizeof text,
                "step time: %.3f ms predicted for a TPU %s; %.3f ms measured on this machine, which emulates it "
                "(mean of %llu steps)",
                predicted_step_s_ * 1e3, machine_.c_str(), measured_s_ / static_cast<double>(measured_steps_) * 1e3,
                static_cast<unsigned long long>(measured_steps_));
  line(text);
  measured_steps_ = 0;
  measured_s_ = 0;
}

void SystemLog::shut_down() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return;
  initialised_ = false;
  say_step_time();
  program_ = nullptr;
  line("Stop infeed thread controller");
  line("Shutting down InfeedController thread.");
  line("InfeedController received shutdown signal, stopping.");
  line("Infeed thread finished, shutting down.");
  line("infeed marked as finished");
  line("Stop output thread controller");
  line("Shutting down OutfeedController thread.");
  line("OutfeedController received shutdown signal, stopping.");
  line("Outfeed thread finished, shutting down.");
  line("outfeed marked as finished");
  line("Shutdown TPU system.");
}

}  // namespace tpu
