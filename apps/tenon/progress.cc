#include "progress.h"

#include <unistd.h>

#include <algorithm>

#include "output.h"
#include "process.h"

namespace tenon::runner {
namespace {

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::max(std::chrono::duration<double>(b - a).count(), 1e-9);
}

long as_long(int64_t n) { return static_cast<long>(n); }

}  // namespace

Progress::Progress(bool json, int64_t every, int64_t target, bool quiet)
    : json_(json),
      terminal_(!json && !quiet && isatty(::fileno(standard_output()))),
      every_(quiet && !json ? 0 : every),
      target_(target) {}
Progress::~Progress() { clear(); }

void Progress::begin(int64_t step) {
  first_ = last_ = written_ = step;
  begun_ = written_at_ = Clock::now();
}

bool Progress::after_run(int64_t step, std::span<const float> losses) {
  const auto now = Clock::now();
  if (terminal_) {
    if (seconds_between(drawn_, now) >= 0.05 || step >= target_) draw(step, losses.back());
  } else if (every_ > 0 && step / every_ > written_ / every_) {
    write(step, losses.back());
  }
  last_ = step;
  return true;
}

void Progress::draw(int64_t step, float loss) {
  drawn_ = Clock::now();
  const double rate = static_cast<double>(step - first_) / seconds_between(begun_, drawn_);
  const std::string line = format("step %ld/%ld  loss %s  %.4g steps/s  ETA %s", as_long(step), as_long(target_),
                                  number_text(static_cast<double>(loss)).c_str(), rate,
                                  duration_text(static_cast<double>(target_ - step) / std::max(rate, 1e-9)).c_str());
  draw_line(line);
  line_open_ = true;
}

void Progress::write(int64_t step, float loss) {
  const auto now = Clock::now();
  const double rate = static_cast<double>(step - written_) / seconds_between(written_at_, now);
  if (json_)
    print_line(
        Json("step").add("step", step).add("loss", static_cast<double>(loss)).add("steps_per_second", rate).str());
  else
    print_line(
        format("step %ld  loss %s  %.4g steps/s", as_long(step), number_text(static_cast<double>(loss)).c_str(), rate));
  written_ = step;
  written_at_ = now;
}

void Progress::end(int64_t) {
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
