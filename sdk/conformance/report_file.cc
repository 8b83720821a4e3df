// JSON and JUnit of a run, and how they reach the disk.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "conformance/host/system_call.h"
#include "conformance/report.h"

namespace tenon::conformance {
namespace {

// Bytes of the UTF-8 sequence at `at`, or 0: not one.
size_t sequence_at(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned first = byte(0);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xC2 && first < 0xE0 ? 2
                      : first >= 0xE0 && first < 0xF0 ? 3
                      : first >= 0xF0 && first < 0xF5 ? 4
                                                      : 0;
  for (size_t i = 1; i < size; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool no_character = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F) ||
                            (first == 0xEF && byte(1) == 0xBF && byte(2) > 0xBD);
  return overlong || no_character ? 0 : size;
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (char c : clean(text)) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out + "\"";
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (char c : clean(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n')
      out += "&#10;";
    else
      out += c;
  }
  return out;
}

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

std::string json_counts(const Counts& c) {
  return "{\"pass\": " + std::to_string(c.pass) + ", \"fail\": " + std::to_string(c.fail) +
         ", \"unsupported\": " + std::to_string(c.unsupported) + ", \"unavailable\": " + std::to_string(c.unavailable) +
         ", \"declined\": " + std::to_string(c.declined) + "}";
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (size_t i = 0; i < texts.size(); ++i) out += (i ? ", " : "") + json_text(texts[i]);
  return out + "]";
}

// Ops by level.
std::string json_missing(const Summary& s) {
  std::string out;
  for (const auto& [level, ops] : missing_ops(s))
    out += (out.empty() ? "{\"" : ", \"") + std::to_string(level) + "\": " + json_list(ops);
  return out.empty() ? "{}" : out + "}";
}

// The command that runs a failing test alone.
std::string command_of(const Summary& s, const Result& r) { return reproduction(s.path, s.options, *r.test); }

std::string json_result(const Summary& s, const Result& r) {
  const Test& t = *r.test;
  const std::string reproduce =
      r.outcome == Outcome::kFail ? ", \"reproduce\": " + json_text(command_of(s, r)) : std::string();
  return "{\"id\": " + json_text(t.id()) + ", \"suite\": " + json_text(t.suite) + ", \"group\": " + json_text(t.group) +
         ", \"name\": " + json_text(t.name) + ", \"level\": " + std::to_string(t.level) +
         ", \"required\": " + (t.required ? "true" : "false") + ", \"size\": " + number(t.size) + ", \"outcome\": \"" +
         outcome_name(r.outcome) + "\", \"text\": " + json_text(r.text) + reproduce +
         ", \"seconds\": " + number(r.seconds) + "}";
}

std::string junit_case(const Summary& s, const Result& r) {
  const Test& t = *r.test;
  std::string text = "    <testcase classname=\"" + xml_text(t.group.empty() ? t.suite : t.suite + "." + t.group) +
                     "\" name=\"" + xml_text(t.name) + "\" time=\"" + number(r.seconds) + "\"";
  if (r.outcome == Outcome::kPass) return text + "/>\n";
  const bool failed = r.outcome == Outcome::kFail;
  const std::string reason = (failed ? "" : std::string(outcome_name(r.outcome)) + ": ") + r.text;
  text += std::string("><") + (failed ? "failure" : "skipped") + " message=\"" + xml_text(reason) + "\"";
  return text + (failed ? ">" + xml_text(command_of(s, r)) + "</failure>" : "/>") + "</testcase>\n";
}

std::string junit_counts(const Counts& c) {
  return " tests=\"" + std::to_string(c.all()) + "\" failures=\"" + std::to_string(c.fail) +
         "\" errors=\"0\" skipped=\"" + std::to_string(c.unsupported + c.unavailable + c.declined) + "\"";
}

[[noreturn]] void cannot_write(const std::string& path) {
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

// A device or a pipe is written as it is: there is nothing to replace.
bool is_stream(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

void write_stream(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) cannot_write(path);
  const bool written = write_all(fd, text);
  const int error = errno;
  close(fd);
  errno = error;
  if (!written) cannot_write(path);
}

// A file beside `path` that takes its place when it is whole. Where that is a link, where it leads.
class Replacement {
 public:
  explicit Replacement(const std::string& path) : path_(path), target_(path) {
    if (char* resolved = realpath(path.c_str(), nullptr)) {
      target_ = resolved;
      free(resolved);
    }
    struct stat old;
    const bool replaces = stat(target_.c_str(), &old) == 0;
    do {  // a name that nobody can know beforehand, and lay a link there
      uint64_t random = 0;
      if (getrandom(&random, sizeof random, 0) < 0) cannot_write(path);
      temporary_ = target_ + ".tmp-" + std::to_string(random);
      fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ < 0) cannot_write(path);
    if (replaces) (void)fchmod(fd_, old.st_mode & 0777);
  }
  ~Replacement() {
    if (fd_ >= 0) close(fd_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void commit(const std::string& text) {
    const bool written = write_all(fd_, text) && fsync(fd_) == 0;
    if (!written || close(std::exchange(fd_, -1)) != 0 || rename(temporary_.c_str(), target_.c_str()) != 0)
      cannot_write(path_);
    temporary_.clear();
    sync_directory();
  }

 private:
  void sync_directory() const {
    const size_t slash = target_.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
    const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;  // it may be one that cannot be read
    fsync(fd);
    close(fd);
  }

  std::string path_, target_, temporary_;
  int fd_ = -1;
};

// What moves a terminal's cursor or turns its text around: C0 but for line ends, DEL, C1, line separators, directions.
bool acts_on_terminal(std::string_view sequence) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return (byte(0) < ' ' && byte(0) != '\n') || byte(0) == 0x7f;
  if (sequence.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || sequence == "\u061c";
  if (sequence.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x81) return byte(2) >= 0xA6 && byte(2) <= 0xA9;  // U+2066 to U+2069
  return byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE));
}

}  // namespace

std::string clean(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t size = sequence_at(text, at);
    const bool control = size > 0 && acts_on_terminal(std::string_view(text).substr(at, size));
    if (size == 0 || control)
      out += control ? ' ' : '?';
    else
      out.append(text, at, size);
    at += size ? size : 1;
  }
  return out;
}

std::string to_json(const Summary& s) {
  std::string out =
      "{\n  \"library\": " + json_text(s.path) + ",\n  \"description\": " + json_text(s.description) +
      ",\n  \"seed\": " + std::to_string(s.options.seed) + ",\n  \"samples\": " + std::to_string(s.options.samples) +
      ",\n  \"spec\": " + json_text(s.options.spec) + ",\n  \"filter\": " + json_text(s.options.filter) +
      ",\n  \"validate\": " + (s.options.validate ? "true" : "false") +
      ",\n  \"level\": " + (s.filtered() ? "null" : std::to_string(s.level())) +
      ",\n  \"missing\": " + (s.filtered() ? "null" : json_missing(s)) +
      ",\n  \"lacks\": " + (s.filtered() ? "null" : json_list(lacking(s))) + ",\n  \"seconds\": " + number(s.seconds) +
      ",\n  \"counts\": " + json_counts(s.counts()) + ",\n  \"results\": [";
  for (size_t i = 0; i < s.results.size(); ++i) out += (i ? ",\n    " : "\n    ") + json_result(s, s.results[i]);
  return out + "\n  ]\n}\n";
}

std::string to_junit(const Summary& s) {
  std::map<std::string, std::pair<Counts, std::string>> suites;
  std::vector<std::string> order;
  for (const Result& r : s.results) {
    auto& [counts, cases] = suites[r.test->suite];
    if (counts.all() == 0) order.push_back(r.test->suite);
    counts.add(r.outcome);
    cases += junit_case(s, r);
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"" + xml_text(s.path) + "\"" +
                    junit_counts(s.counts()) + " time=\"" + number(s.seconds) + "\">\n";
  for (const std::string& name : order)
    out += "  <testsuite name=\"" + xml_text(name) + "\"" + junit_counts(suites[name].first) + ">\n" +
           suites[name].second + "  </testsuite>\n";
  return out + "</testsuites>\n";
}

void check_writable(const std::string& path) {
  if (is_stream(path)) return write_stream(path, "");
  const Replacement possible(path);
}

void write_file(const std::string& path, const std::string& text) {
  if (is_stream(path)) return write_stream(path, text);
  Replacement(path).commit(text);
}

}  // namespace tenon::conformance
