#include "output.h"

#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace tenon::runner {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += format("\\u%04x", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
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
  text_ += quoted(key) + ": ";
  text_ += json;
  return *this;
}
Json& Json::add(std::string_view key, std::string_view value) { return raw(key, quoted(value)); }
Json& Json::add(std::string_view key, int64_t value) { return raw(key, std::to_string(value)); }
Json& Json::add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
Json& Json::add(std::string_view key, double value) {
  if (!std::isfinite(value)) return raw(key, "null");
  char digits[40];
  return raw(key, {digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits)});
}
std::string json_list(const std::string& joined) { return "[" + joined + "]"; }
std::string json_text(std::string_view text) { return quoted(text); }

std::string format(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::string out = vformat(fmt, args);
  va_end(args);
  return out;
}

void print(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::vfprintf(stdout, fmt, args);
  va_end(args);
}

void print_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

int flush_output(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  if (code == 0) std::fprintf(stderr, "tenon: cannot write to standard output\n");
  return code == 0 ? 1 : code;
}

std::string with_commas(int64_t n) {
  std::string out = std::to_string(n);
  for (int at = static_cast<int>(out.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    out.insert(static_cast<size_t>(at), 1, ',');
  return out;
}

std::string counted(int64_t n, const char* thing) { return with_commas(n) + " " + thing + (n == 1 ? "" : "s"); }

std::string number_text(double value) { return format(std::fabs(value) < 1e5 ? "%.4f" : "%.4g", value); }

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

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\n" : one_line({&c, 1});
  return out;
}

}  // namespace tenon::runner
