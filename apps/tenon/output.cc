#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <system_error>
#include <vector>

#include "process.h"
#include "tenon/status.h"

namespace tenon::runner {
namespace {

Stdout stdout_is = Stdout::kProduct;
int lost = 0;  // the errno of the first write that failed

Status not_written(int error) {
  return Status(Code::kUnavailable,
                std::string("cannot write to standard output: ") + std::generic_category().message(error));
}

void note(bool written) {
  if (written) return;
  const int error = errno;
  if (lost == 0) lost = error;
  if (stdout_is == Stdout::kProduct) throw Error(not_written(error));
}

void put(std::string_view text, bool now) {
  std::FILE* const out = standard_output();
  note(std::fwrite(text.data(), 1, text.size(), out) == text.size() && (!now || std::fflush(out) == 0));
}

std::string vformat(const char* fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  const int n = std::vsnprintf(nullptr, 0, fmt, args);
  std::vector<char> text(static_cast<size_t>(n) + 1);
  std::vsnprintf(text.data(), text.size(), fmt, again);
  va_end(again);
  return std::string(text.data(), static_cast<size_t>(n));
}

}  // namespace

Json& Json::raw(std::string_view key, std::string_view json) {
  if (!text_.empty()) text_ += ", ";
  text_ += json_string(key) + ": ";
  text_ += json;
  return *this;
}
Json& Json::add(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }
Json& Json::add(std::string_view key, int64_t value) { return raw(key, std::to_string(value)); }
Json& Json::add(std::string_view key, uint64_t value) { return raw(key, std::to_string(value)); }
Json& Json::add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
Json& Json::add(std::string_view key, double value) {
  if (!std::isfinite(value)) return raw(key, "null");
  char digits[40];
  return raw(key, {digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits)});
}
void add_item(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}
std::string json_list(const std::string& joined) { return "[" + joined + "]"; }
std::string json_strings(const std::vector<std::string>& items) {
  return json_list_of(items, [](const std::string& item) { return json_string(item); });
}

std::string format(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::string out = vformat(fmt, args);
  va_end(args);
  return out;
}

void set_stdout(Stdout what) { stdout_is = what; }

void print(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const std::string text = vformat(fmt, args);
  va_end(args);
  const std::string_view own(fmt);
  const size_t first = std::min(own.find_first_not_of('\n'), own.size());
  const size_t last = first == own.size() ? 0 : own.size() - own.find_last_not_of('\n') - 1;
  put(text.substr(0, first) + terminal_text(std::string_view(text).substr(first, text.size() - first - last)) +
          text.substr(text.size() - last),
      false);
}

void print_line(const std::string& line) { put(terminal_text(line) + "\n", true); }
void print_text(std::string_view text) { put(terminal_text(text, Lines::kKept), false); }
bool output_is_terminal() {
  static const bool terminal = ::isatty(::fileno(standard_output())) == 1;
  return terminal;
}
void print_data(const std::string& line) { put((output_is_terminal() ? terminal_text(line) : line) + "\n", false); }
void print_part(std::string_view text) { put(terminal_text(text, Lines::kKept), true); }
void print_prompt(const char* text) {
  put("", true);
  if (::isatty(STDERR_FILENO)) std::fputs(text, stderr);
}
void draw_line(const std::string& line) { put("\r" + terminal_text(line) + "\033[K", true); }

size_t terminal_columns() {
  winsize size{};
  return ::ioctl(::fileno(standard_output()), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void print_error(std::string_view text, Lines lines) {
  const std::string line = terminal_text(text, lines) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), stderr) != line.size() && lost == 0) lost = errno;
}

int finish_output(int code) {
  if (std::fflush(standard_output()) != 0 && lost == 0) lost = errno;
  if (lost == 0 || code != 0) return code;
  print_error(stdout_is == Stdout::kLog ? std::string("tenon: all is done, but not all of the log could be written: ") +
                                              std::generic_category().message(lost)
                                        : "tenon: " + not_written(lost).message());
  return 1;
}

std::string with_commas(int64_t n) {
  std::string out = std::to_string(n);
  for (int at = static_cast<int>(out.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    out.insert(static_cast<size_t>(at), 1, ',');
  return out;
}

std::string counted(int64_t n, const char* thing) { return with_commas(n) + " " + thing + (n == 1 ? "" : "s"); }

std::string number_text(double value) { return format(std::fabs(value) < 1e5 ? "%.4f" : "%.4g", value); }

std::string rate_text(double rate) {
  if (!(rate < 1e15)) return "?";
  return rate < 99.95 ? format(rate < 9.995 ? "%.2f" : "%.1f", rate) : with_commas(std::llround(rate));
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t u = 0;
  while (bytes >= 1024 && u + 1 < std::size(units)) bytes /= 1024, ++u;
  return format(u == 0 ? "%.0f %s" : "%.1f %s", bytes, units[u]);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8) return "?";
  const auto s = static_cast<int64_t>(std::llround(seconds));
  if (s < 60) return format("%lds", static_cast<long>(s));
  if (s < 3600) return format("%ld:%02ld", static_cast<long>(s / 60), static_cast<long>(s % 60));
  return format("%ld:%02ld:%02ld", static_cast<long>(s / 3600), static_cast<long>(s / 60 % 60),
                static_cast<long>(s % 60));
}

}  // namespace tenon::runner
