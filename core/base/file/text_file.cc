#include "tenon/text_file.h"

#include <algorithm>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"

namespace tenon {

Result<std::string> read_text_file(const std::string& path, int64_t max_bytes) { return read_file(path, max_bytes); }

Result<std::vector<std::string>> read_text_lines(const std::string& path, int64_t max_bytes) {
  TENON_ASSIGN(const std::string text, read_file(path, max_bytes));
  std::vector<std::string> lines;
  RoomInPieces room;
  for (std::string_view rest = without_byte_order_mark(text); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (const std::string_view line = trimmed(rest.substr(0, end)); !line.empty()) {
      TENON_TRY(room.take(line.size(), path));
      TENON_TRY(take_room_to_grow(lines, path));
      lines.emplace_back(line);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace tenon
