#include "callback/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kCells = 20;
constexpr double kBetweenDraws = 0.05;  // seconds

template <class... Args>
std::string printed(const char* format, Args... args) {
  char text[128];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

std::string step_time(double seconds) {
  if (seconds >= 1 || seconds == 0) return printed(" %.0fs/step", seconds);
  if (seconds >= 1e-3) return printed(" %.0fms/step", seconds * 1e3);
  return printed(" %.0fus/step", seconds * 1e6);
}

std::string time_left(double seconds) {
  const auto s = static_cast<int64_t>(std::min(seconds, 1e15));
  if (seconds > 3600)
    return printed("%lld:%02d:%02d", static_cast<long long>(s / 3600), static_cast<int>(s % 3600 / 60),
                   static_cast<int>(s % 60));
  if (seconds > 60) return printed("%d:%02d", static_cast<int>(s / 60), static_cast<int>(s % 60));
  return printed("%ds", static_cast<int>(s));
}

std::string count_of(int64_t done, int64_t target) {
  const int digits = static_cast<int>(std::to_string(target).size());
  return printed("%*lld/%lld", digits, static_cast<long long>(done), static_cast<long long>(target));
}

bool of_validation(const std::string& name) { return name.starts_with("val_"); }

// How wide the terminal is now; wider than any line where there is no terminal, or it does not say.
size_t columns_of(std::FILE* to) {
  winsize size{};
  return ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : SIZE_MAX;
}

// Characters on the screen: a UTF-8 sequence is one.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }
size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";  // without its sign
  return printed(std::fabs(value) > 1e-3 ? "%.4f" : "%.4e", value);
}

}  // namespace

std::string logs_text(const Logs& logs) {
  std::string out;
  for (const bool validation : {false, true})
    for (const auto& [name, value] : logs)
      if (of_validation(name) == validation) out += cat(" - ", name, ": ", number_text(value));
  return out;
}

ProgressBar::ProgressBar(std::FILE* to, Verbose verbose, Now now) : to_(to), verbose_(verbose), now_(now) {
  const bool terminal = ::isatty(fileno(to)) == 1;
  if (verbose_ == Verbose::kAuto) verbose_ = terminal ? Verbose::kBar : Verbose::kLine;
  const char* no_color = std::getenv("NO_COLOR");
  colours_ = !(no_color && *no_color);
}

void ProgressBar::line(const std::string& text) {
  if (silent()) return;
  std::fprintf(to_, "%s\n", text.c_str());
  std::fflush(to_);
}

void ProgressBar::begin(int64_t target) {
  target_ = target;
  start_ = now_();
  width_before_ = 0;
  lines_before_ = 1;
  has_first_ = has_drawn_ = false;
}

bool ProgressBar::due() const {
  return verbose_ == Verbose::kBar && (!has_drawn_ || seconds_between(drawn_, now_()) >= kBetweenDraws);
}

void ProgressBar::update(int64_t done, const Logs& logs) {
  if (due()) draw(done, logs, false);
}

void ProgressBar::finish(int64_t done, const Logs& logs) {
  if (target_ == 0) target_ = done;
  if (verbose_ == Verbose::kBar) draw(done, logs, true);
  if (verbose_ != Verbose::kLine) return;
  const auto now = now_();
  line(cat(count_of(done, target_), " - ", printed("%.0fs", seconds_between(start_, now)), " -",
           step_time(seconds_a_step(done, now)), logs_text(logs)));
}

// The first step, which compiles, is not one to judge the others by.
double ProgressBar::seconds_a_step(int64_t done, Clock::time_point now) {
  if (done == 0) return 0;
  const double mean = has_first_ && done > 1 ? seconds_between(after_first_, now) / static_cast<double>(done - 1)
                                             : seconds_between(start_, now) / static_cast<double>(done);
  if (done == 1) {
    after_first_ = now;
    has_first_ = true;
  }
  return mean;
}

std::string ProgressBar::painted(const char* paint, const std::string& text, size_t* invisible) const {
  if (!colours_) return text;
  *invisible += std::char_traits<char>::length(paint) + 4;
  return cat(paint, text, "\x1b[0m");
}

std::string ProgressBar::cells(int64_t done, size_t* invisible) const {
  const double part = std::min(static_cast<double>(done) / static_cast<double>(target_), 1.0);
  const auto full = static_cast<size_t>(static_cast<double>(kCells) * part);
  std::string green, grey;
  for (size_t i = 0; i < kCells; ++i) (i < full ? green : grey) += "━";
  std::string out = full > 0 ? painted("\x1b[32m", green, invisible) : "";
  return out + painted("\x1b[37m", colours_ ? grey : std::string(kCells - full, ' '), invisible);
}

void ProgressBar::draw(int64_t done, const Logs& logs, bool last) {
  const auto now = now_();
  const double each = seconds_a_step(done, now);
  const std::string clock = target_ > 0 && !last ? time_left(each * static_cast<double>(target_ - done))
                                                 : printed("%.0fs", seconds_between(start_, now));
  size_t invisible = 0;
  std::string text = printed("%7lld/Unknown", static_cast<long long>(done));
  if (target_ > 0) {
    text = painted("\x1b[1m", count_of(done, target_), &invisible) + " ";
    text += cells(done, &invisible);
  }
  text += cat(" ", painted("\x1b[1m", clock, &invisible), step_time(each), logs_text(logs));
  const size_t width = characters(text) - invisible;
  std::string out;
  if (lines_before_ > 1) out = printed("\x1b[%zuA", lines_before_ - 1);  // which a backspace does not go back to
  out += cat(std::string(width_before_, '\b'), "\r", text);
  if (width_before_ > width) out.append(width_before_ - width, ' ');
  lines_before_ = (std::max(width, width_before_) - 1) / columns_of(to_) + 1;
  if (last) out += "\n";
  std::fwrite(out.data(), 1, out.size(), to_);
  std::fflush(to_);
  width_before_ = width;
  drawn_ = now;
  has_drawn_ = true;
}

}  // namespace tenon
