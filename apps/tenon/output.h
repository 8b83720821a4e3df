// What the runner prints: lines of text, or one JSON object a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::runner {

// {"event": "step", "step": 100, "loss": 0.4321}
class Json {
 public:
  Json() = default;
  explicit Json(std::string_view event) { add("event", event); }
  Json& add(std::string_view key, std::string_view value);
  Json& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  Json& add(std::string_view key, const std::string& value) { return add(key, std::string_view(value)); }
  Json& add(std::string_view key, double value);  // null unless finite
  Json& add(std::string_view key, int64_t value);
  Json& add(std::string_view key, int value) { return add(key, static_cast<int64_t>(value)); }
  Json& add(std::string_view key, uint64_t value) { return add(key, static_cast<int64_t>(value)); }
  Json& add(std::string_view key, bool value);
  Json& raw(std::string_view key, std::string_view json);
  std::string str() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};
std::string json_list(const std::string& joined);  // "[...]" of comma-separated objects
std::string json_text(std::string_view text);      // "..." with what JSON escapes

// As printf; to standard output.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));
void print_line(const std::string& line);
// Ends the program with an error when standard output cannot be written (a closed pipe, a full disk).
int flush_output(int code);

// "1,234,567"
std::string with_commas(int64_t n);
// "1 record", "2,000 records"
std::string counted(int64_t n, const char* thing);
// "0.1234"; from 100,000 on "1.235e+05"
std::string number_text(double value);
// "1.5 GiB"
std::string bytes_text(double bytes);
// "1:02:03", "4:05", "12s"
std::string duration_text(double seconds);
// One line, without control characters.
std::string one_line(std::string_view text);
// The same with its line breaks: what a device says may have lines.
std::string printable_lines(std::string_view text);
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tenon::runner
