#include "csv_text.h"

#include <algorithm>

#include "output.h"
#include "tenon/status.h"
#include "tenon/text_file.h"

namespace tenon::runner {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

// Takes a record off the front. A quote that opens no field is a character as any other.
std::vector<std::string> take_record(std::string_view* text, int64_t* line, const std::string& path) {
  const int64_t first = *line;
  std::vector<std::string> fields(1);
  bool closed = false;  // the field's quote
  bool quoted = false;
  size_t at = 0;
  for (; at < text->size(); ++at) {
    const char c = (*text)[at];
    *line += c == '\n';
    if (c == '"' && quoted && at + 1 < text->size() && (*text)[at + 1] == '"')
      fields.back() += (*text)[++at];
    else if (c == '"' && quoted)
      quoted = false, closed = true;
    else if (c == '"' && fields.back().empty() && !closed)
      quoted = true;
    else if (c == '\n' && !quoted)
      break;
    else if (c == ',' && !quoted)
      fields.emplace_back(), closed = false;
    else if (c != '\r' || quoted)
      fields.back() += c;
  }
  if (quoted)
    throw Error(Status(Code::kInvalid, format("%s:%ld: expected a closing quote, found the end of the file",
                                              path.c_str(), static_cast<long>(first))));
  text->remove_prefix(std::min(at + 1, text->size()));
  return fields;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) (c == '"' ? out += "\"\"" : out += c);
  return out + "\"";
}

int CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

CsvTable read_csv_table(const std::string& path) {
  const std::string all = read_text_file(path, kMostBytes).take();
  std::string_view text = all;
  CsvTable out{path, {}, {}};
  for (int64_t line = 1; !text.empty();) {
    const int64_t first = line;
    std::vector<std::string> fields = take_record(&text, &line, path);
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (out.columns.empty())
      out.columns = std::move(fields);
    else if (fields.size() != out.columns.size())
      throw Error(Status(Code::kInvalid, format("%s:%ld: %zu fields, expected %zu as in the first line", path.c_str(),
                                                static_cast<long>(first), fields.size(), out.columns.size())));
    else
      out.rows.push_back(std::move(fields));
  }
  return out;
}

}  // namespace tenon::runner
