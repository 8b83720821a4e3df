#include "train/progress.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "output.h"
#include "process.h"

namespace tenon::runner {
namespace {

constexpr double kBetweenDraws = 0.05;  // seconds

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::max(std::chrono::duration<double>(b - a).count(), 1e-9);
}

// As many of the parts as there is room for, the first of them in any case.
std::string fitting(const std::vector<std::string>& parts, size_t columns) {
  std::string line = parts[0];
  for (size_t i = 1; i < parts.size() && line.size() + 2 + parts[i].size() < columns; ++i) line += "  " + parts[i];
  if (line.size() >= columns) line.resize(columns - 1);
  return line;
}

// "input 1,240, device 310 examples/s (device is the limit)"
std::string limit_text(const Throughput& t) {
  return "input " + rate_text(t.input_rate()) + ", device " + rate_text(t.device_rate()) + " examples/s (" +
         (t.input_is_limit() ? "input" : "device") + " is the limit)";
}

}  // namespace

Progress::Progress(bool json, const LogPace& pace, int64_t target, bool quiet)
    : json_(json),
      terminal_(!json && !quiet && output_is_terminal()),
      pace_(quiet && !json ? LogPace(0) : pace),
      target_(target) {}
Progress::~Progress() { clear(); }

void Progress::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  now_ = run.throughput();
  for (const std::string& name : run.tensors()) {
    const std::span<const float> values = run.values(name);
    sums_[name] = std::accumulate(values.begin(), values.end(), sums_[name]);
  }
  TrainingHook::on_train_batch_end(run, batch, logs);
}

void Progress::begin(int64_t step) {
  first_ = last_ = step;
  begun_ = Clock::now();
  pace_.begin(step);
  losses_ = 0;
  loss_sum_ = 0;
  sums_.clear();
}

bool Progress::after_run(int64_t step, std::span<const float> losses) {
  losses_ += std::ssize(losses);
  loss_sum_ = std::accumulate(losses.begin(), losses.end(), loss_sum_);
  if (terminal_) {
    if (seconds_between(drawn_, Clock::now()) >= kBetweenDraws || step >= target_) draw(step);
  } else if (pace_.due(step)) {
    write(step);
  }
  last_ = step;
  return true;
}

Progress::Means Progress::take_means() {
  const auto steps = static_cast<double>(std::exchange(losses_, 0));
  Means means{{"loss", std::exchange(loss_sum_, 0) / steps}};
  for (auto& [name, sum] : sums_) means.emplace_back(name, std::exchange(sum, 0) / steps);
  return means;
}

void Progress::draw(int64_t step) {
  drawn_ = Clock::now();
  const double rate = static_cast<double>(step - first_) / seconds_between(begun_, drawn_);
  std::vector<std::string> parts{"step " + with_commas(step) + "/" + with_commas(target_)};
  for (const auto& [name, mean] : take_means()) parts.push_back(name + " " + number_text(mean));
  parts.push_back("ETA " + duration_text(static_cast<double>(target_ - step) / std::max(rate, 1e-9)));
  parts.push_back(rate_text(rate) + " steps/s");
  parts.push_back(limit_text(now_));
  draw_line(fitting(parts, terminal_columns()));
  line_open_ = true;
}

void Progress::write(int64_t step) {
  const double rate = pace_.wrote(step);
  const Means means = take_means();
  const Throughput done = now_ - std::exchange(written_then_, now_);
  if (json_) {
    Json json("step");
    json.add("step", step);
    for (const auto& [name, mean] : means) json.add(name, mean);
    json.add("steps_per_second", rate)
        .add("input_examples_per_second", done.input_rate())
        .add("device_examples_per_second", done.device_rate());
    return print_line(json.str());
  }
  std::string line = "step " + with_commas(step);
  for (const auto& [name, mean] : means) line += "  " + name + " " + number_text(mean);
  print_line(line + "  " + rate_text(rate) + " steps/s  " + limit_text(done));
}

void Progress::end(int64_t) {
  if (!terminal_ && pace_.left(last_)) write(last_);
  steps_ += last_ - first_;
  seconds_ += seconds_between(begun_, Clock::now());
  first_ = last_;
  clear();
}

void Progress::clear() {
  if (!line_open_) return;
  print_line("");
  line_open_ = false;
}

}  // namespace tenon::runner
