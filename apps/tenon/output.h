// What the runner prints: lines of text, or one JSON object a line. All of it leaves through here, where names and messages
// that came from files and backends are made fit for a terminal (tenon/text.h): nobody else need think of that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/text.h"

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
  Json& add(std::string_view key, uint64_t value);
  Json& add(std::string_view key, bool value);
  Json& raw(std::string_view key, std::string_view json);
  std::string str() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};
void add_item(std::string& list, std::string_view item);  // behind a comma, where it is not the first
std::string json_list(const std::string& joined);         // "[...]" of comma-separated items
// "[json(item), ...]"
template <class Items, class ToJson>
std::string json_list_of(const Items& items, const ToJson& json) {
  std::string list;
  for (const auto& item : items) add_item(list, json(item));
  return json_list(list);
}
std::string json_strings(const std::vector<std::string>& items);  // each in quotes

// What cannot be written to standard output is an error at once, unless it is only the log of what goes to files (training,
// conversion), which goes on without: finish_output() tells of it then.
enum class Stdout : uint8_t { kProduct, kLog };
void set_stdout(Stdout what);

// As printf; to standard output. The format's line breaks at its beginning and its end are kept, all others are escaped as
// they may come from a name.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));
void print_line(const std::string& line);  // one line, whatever is in it
void print_text(std::string_view text);    // with its line breaks
// A line of data for other programs: escaped on a terminal, elsewhere just as it is.
void print_data(const std::string& line);
// A part of a text, with its line breaks, at once; REQUIRED: output_is_terminal().
void print_part(std::string_view text);
bool output_is_terminal();
// Before a person's next line: shows what was printed, then, on standard error where that is a terminal too, `text`.
void print_prompt(const char* text);
// What is redrawn on a terminal in place of the line before; the last one is ended by print_line("").
void draw_line(const std::string& line);
// How wide the terminal behind standard output is; 80 where it does not say.
size_t terminal_columns();
// One line on standard error; with its line breaks where they are kept.
void print_error(std::string_view text, Lines lines = Lines::kEscaped);
// Writes what is left. Returns `code`, or 1 when something that was printed is lost, which it tells.
int finish_output(int code);

// "1,234,567"
std::string with_commas(int64_t n);
// "1 record", "2,000 records"
std::string counted(int64_t n, const char* thing);
// "0.1234"; from 100,000 on "1.235e+05"
std::string number_text(double value);
// So many a second: "0.31", "38.2", "1,240", "12,345,678".
std::string rate_text(double rate);
// "1.5 GiB"
std::string bytes_text(double bytes);
// "1:02:03", "4:05", "12s"
std::string duration_text(double seconds);
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tenon::runner
