#include "tenon/text_file.h"

#include <algorithm>
#include <unordered_map>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"

namespace tenon {

Result<std::string> read_text_file(const std::string& path, int64_t max_bytes) { return read_file(path, max_bytes); }

namespace {

// `take(line, number)` is called for each line that is not empty.
template <class Take>
Result<std::vector<std::string>> text_lines(const std::string& path, int64_t max_bytes, const Take& take) {
  TENON_ASSIGN(const std::string text, read_file(path, max_bytes));
  std::vector<std::string> lines;
  RoomInPieces room;
  int64_t number = 1;
  for (std::string_view rest = without_byte_order_mark(text); !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (const std::string_view line = trimmed(rest.substr(0, end)); !line.empty()) {
      TENON_TRY(take(line, number));
      TENON_TRY(room.take(line.size(), path));
      TENON_TRY(take_room_to_grow(lines, path));
      lines.emplace_back(line);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> read_text_lines(const std::string& path, int64_t max_bytes) {
  return text_lines(path, max_bytes, [](std::string_view, int64_t) { return Status(); });
}

Result<std::vector<std::string>> read_class_names(const std::string& path) {
  std::unordered_map<std::string_view, int64_t> seen;
  return text_lines(path, kMaxTextBytes, [&](std::string_view name, int64_t line) -> Status {
    const auto [first, is_new] = seen.emplace(name, line);
    if (is_new) return {};
    return invalid(path, ":", line, ": class '", abbreviated(name), "' is there already, on line ", first->second);
  });
}

}  // namespace tenon
