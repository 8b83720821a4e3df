#include "checkpoint/checkpoint_state.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr std::string_view kSum = "# crc32c ", kPreserved = "# preserved: ", kSuspect = "# suspect: ";

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string sum_line(std::string_view lines) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%08x\n", kSum.data(), crc32c(lines));
  return text;
}

int from_octal(std::string_view in, size_t& at) {
  int value = 0;
  for (int digits = 0; digits < 3 && at < in.size() && in[at] >= '0' && in[at] <= '7'; ++digits)
    value = value * 8 + (in[at++] - '0');
  return value;
}

// What stands in "quotes", with protobuf's escapes.
bool unquote(std::string_view in, std::string& out) {
  if (in.size() < 2 || (in.front() != '"' && in.front() != '\'') || in.back() != in.front()) return false;
  in = in.substr(1, in.size() - 2);
  for (size_t at = 0; at < in.size();) {
    if (in[at] != '\\') {
      out += in[at++];
    } else if (++at == in.size()) {
      return false;
    } else if (in[at] >= '0' && in[at] <= '7') {
      out += static_cast<char>(from_octal(in, at));
    } else {
      out += in[at] == 'n' ? '\n' : in[at] == 't' ? '\t' : in[at] == 'r' ? '\r' : in[at];
      ++at;
    }
  }
  return !out.empty();
}

std::string_view trim(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

// KEY: VALUE; other keys (timestamps) are TensorFlow's own.
bool parse_line(std::string_view line, CheckpointState& state) {
  line = trim(line);
  for (const auto& [key, names] : {std::pair(kPreserved, &state.preserved), {kSuspect, &state.suspect}})
    if (line.starts_with(key)) return unquote(trim(line.substr(key.size())), names->emplace_back());
  if (line.empty() || line.front() == '#') return true;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = line.substr(0, colon);
  const std::string_view value = trim(line.substr(colon + 1));
  std::string path;
  if (key == "all_model_checkpoint_timestamps") return !value.empty();
  if (key == "last_preserved_timestamp")
    return std::from_chars(value.data(), value.data() + value.size(), state.last_preserved).ec == std::errc();
  if (key != "model_checkpoint_path" && key != "all_model_checkpoint_paths") return false;
  if (!unquote(value, path) || path.find('\0') != std::string::npos) return false;
  if (key == "all_model_checkpoint_paths")
    state.all.push_back(path);
  else
    state.latest = path;
  return true;
}

bool parse_number(std::string_view text, int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= 0 && cat(out) == text;
}

}  // namespace

std::string checkpoint_state_path(const std::string& model_dir) { return cat(model_dir, "/checkpoint"); }

bool file_exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Result<CheckpointState> read_checkpoint_state(const std::string& model_dir) {
  constexpr int64_t kMaxStateBytes = 16 << 20;
  const std::string path = checkpoint_state_path(model_dir);
  TENON_ASSIGN(const std::string text, read_file(path, kMaxStateBytes));
  return parse_checkpoint_state(text, path);
}

std::string format_checkpoint_state(const CheckpointState& state) {
  std::string out = cat("model_checkpoint_path: ", quote(state.latest), "\n");
  for (const std::string& path : state.all) out += cat("all_model_checkpoint_paths: ", quote(path), "\n");
  if (state.last_preserved > 0) out += cat("last_preserved_timestamp: ", state.last_preserved, ".0\n");
  for (const std::string& path : state.preserved) out += cat(kPreserved, quote(path), "\n");
  for (const std::string& path : state.suspect) out += cat(kSuspect, quote(path), "\n");
  return out + sum_line(out);
}

Result<CheckpointState> parse_checkpoint_state(std::string_view text, std::string_view file) {
  const size_t sum = text.rfind(kSum);
  if (sum != std::string_view::npos && text.substr(sum) != sum_line(text.substr(0, sum)))
    return invalid(file, ": fails its checksum; the file is damaged");
  CheckpointState state;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!parse_line(line, state))
      return invalid(file, ":", number, ": expected model_checkpoint_path: \"NAME\" or the like");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  if (state.latest.empty()) return invalid(file, ": expected a line model_checkpoint_path: \"NAME\"");
  return state;
}

std::string CheckpointName::str() const {
  return copy == 0 ? cat("model.ckpt-", step) : cat("model.ckpt-", step, "-", copy);
}

bool parse_checkpoint_name(std::string_view name, CheckpointName& out) {
  constexpr std::string_view kStem = "model.ckpt-";
  if (!name.starts_with(kStem)) return false;
  name.remove_prefix(kStem.size());
  const size_t dash = name.find('-');
  out.copy = 0;
  if (dash != std::string_view::npos && (!parse_number(name.substr(dash + 1), out.copy) || out.copy == 0)) return false;
  return parse_number(name.substr(0, dash), out.step);
}

Result<std::vector<CheckpointName>> list_checkpoints(const std::string& model_dir) {
  constexpr std::string_view kIndex = ".index";
  TENON_ASSIGN(const auto files, list_files(model_dir, "model.ckpt-*.index"));
  std::vector<CheckpointName> names;
  for (std::string_view file : files) {
    file.remove_prefix(file.rfind('/') + 1);
    file.remove_suffix(kIndex.size());
    if (CheckpointName name; parse_checkpoint_name(file, name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenon
