// Keras's progress bar: twenty cells, the time left, the time of a step and the logs, redrawn in place, or one line at the end.
// A narrow terminal has it on several lines, as Keras's, but redrawn in place too.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tenon/callbacks.h"

namespace tenon {

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();
  // `to` is not closed. kAuto is decided here: a bar on a terminal, else a line. NO_COLOR leaves colours out.
  ProgressBar(std::FILE* to, Verbose verbose, Now now = &Clock::now);

  bool silent() const { return verbose_ == Verbose::kSilent; }
  void line(const std::string& text);  // above what follows
  // Begins to count to `target` steps; 0: unknown.
  void begin(int64_t target);
  // Whether update() would draw: not so often that nobody can read it.
  bool due() const;
  void update(int64_t done, const Logs& logs);
  void finish(int64_t done, const Logs& logs);

 private:
  double seconds_a_step(int64_t done, Clock::time_point now);
  void draw(int64_t done, const Logs& logs, bool last);
  std::string cells(int64_t done, size_t* invisible) const;
  std::string painted(const char* paint, const std::string& text, size_t* invisible) const;

  std::FILE* to_;
  Verbose verbose_;
  Now now_;
  bool colours_ = true;
  int64_t target_ = 0;
  size_t width_before_ = 0, lines_before_ = 1;
  Clock::time_point start_, after_first_, drawn_;
  bool has_first_ = false, has_drawn_ = false;
};

// " - accuracy: 0.1250 - loss: 3.8495", those of validation last.
std::string logs_text(const Logs& logs);

}  // namespace tenon
