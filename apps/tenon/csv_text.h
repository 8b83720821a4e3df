// Comma-separated values as `tenon predict` and the callback CSVLogger write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::runner {

// In quotes where it has to be.
std::string csv_field(const std::string& text);

struct CsvTable {
  std::string path;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // of as many fields
  // Its index; -1: there is none.
  int column(std::string_view name) const;
};

// Throws Error that names the file, and the line where there is one.
CsvTable read_csv_table(const std::string& path);

}  // namespace tenon::runner
