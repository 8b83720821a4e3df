// Typed columns of CSV files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/csv.h"
#include "tenon/dataset.h"

namespace tenon {

struct CsvColumn {
  std::string name;
  size_t field = 0;
  DType type = DType::kNone;  // kU8: text
  bool learnt = false;        // from the first row
  std::optional<double> fallback = {};
};

// What the files have; immutable.
class CsvTable {
 public:
  // Reads the header of the first file, and the first row that there is. Throws Error.
  CsvTable(std::vector<std::string> files, CsvOptions options);

  const std::vector<std::string>& files() const { return files_; }
  const std::vector<CsvColumn>& columns() const { return columns_; }
  uint64_t fingerprint() const;

  // Behind its header, which has to be that of the first file.
  Result<CsvReader> open(size_t file) const;
  // The columns of a row. Errors name file, line and column.
  Result<Element> element(size_t file, const CsvRow& row) const;

 private:
  Result<CsvReader> open_file(size_t file) const;
  void name_columns();
  void choose_columns();
  void learn_types();

  std::vector<std::string> files_;
  CsvOptions options_;
  std::vector<std::string> names_;  // of all fields
  std::vector<CsvColumn> columns_;
};

}  // namespace tenon
