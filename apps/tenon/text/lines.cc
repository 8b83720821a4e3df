#include "text/lines.h"

#include <algorithm>

#include "tenon/text_file.h"

namespace tenon::runner {

TextLines read_lines(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  const std::string text = read_text_file(path, kMostBytes).take();
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  TextLines out;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string place_of_line(const std::string& path, int64_t number) {
  if (number <= 0) return {};
  return (path.empty() ? "line " : path + ":") + std::to_string(number) + ": ";
}

}  // namespace tenon::runner
