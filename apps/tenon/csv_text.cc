#include "csv_text.h"

#include <algorithm>

#include "output.h"
#include "tenon/csv_file.h"
#include "tenon/status.h"

namespace tenon::runner {

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
  CsvTable out{path, {}, {}};
  for (CsvRow& row : read_csv_file(path).take()) {
    if (out.columns.empty())
      out.columns = std::move(row.fields);
    else if (row.fields.size() != out.columns.size())
      throw Error(Status(Code::kInvalid, format("%s:%ld: %zu fields, expected %zu as in the first line", path.c_str(),
                                                static_cast<long>(row.line), row.fields.size(), out.columns.size())));
    else
      out.rows.push_back(std::move(row.fields));
  }
  return out;
}

}  // namespace tenon::runner
