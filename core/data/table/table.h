// Tables with a header, from CSV files: what their columns are, and their cells as numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.h"
#include "tenon/status.h"

namespace tenon {

// Rows that were left out.
struct BadRows {
  int64_t count = 0;
  std::string first;  // where it is, and why

  void add(const Status& mistake) {
    if (count++ == 0) first = mistake.message();
  }
};

// The rows behind a header. Every row has as many fields.
struct TableFile {
  std::string path;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  // Errors name the file: one that has no row, a column without a name or twice, a row of another length, which with `bad` is left out.
  static Result<TableFile> read(const std::string& path, BadRows* bad = nullptr);
  // Leaves out rows of which `mistake` says something.
  void leave_out(const std::function<Status(size_t row)>& mistake, BadRows& bad);

  // An error that says which columns there are.
  Result<size_t> column(std::string_view name) const;
  const std::string& cell(size_t row, size_t column) const { return rows[row].fields[column]; }
  // "FILE:12: column 'age'".
  std::string place(size_t row, size_t column) const;
};

// Whether nothing is said: an empty cell, "NA", "N/A", "NaN", "null" or "?".
bool is_missing(std::string_view cell);

// An error that names file, line and column where something is said that is no number of f32, or no UTF-8.
Status check_number(const TableFile& file, size_t row, size_t column);
Status check_text(const TableFile& file, size_t row, size_t column);
// Whether all that is said is numbers, of whatever size.
bool all_numbers(const TableFile& file, size_t column, std::span<const size_t> rows);

// A column of numbers, or of categories, which are texts.
struct TableColumn {
  enum class Kind : uint8_t { kNumber, kCategory };

  std::string name;
  Kind kind = Kind::kNumber;
  double mean = 0, stddev = 1;           // of the numbers that it was learnt from
  std::vector<std::string> values = {};  // of the categories, in the order of their bytes

  // Places of a category: 0 is what is missing or unknown, then each of `values`.
  int64_t places() const { return static_cast<int64_t>(values.size()) + 1; }

  // (number - mean) / stddev; 0 where it is missing. The error names file, line and column.
  Result<double> number(const TableFile& file, size_t row, size_t column) const;
  int64_t place_of(std::string_view cell) const;
};

constexpr size_t kMostCategories = 1000;  // of a column

// What a column of these rows is: numbers where all that is said is numbers, unless its kind is known. Errors name file, line and column:
// a cell that is no number though numbers were asked for, more than kMostCategories categories, a text that is no UTF-8, nothing at all.
Result<TableColumn> learn_column(const TableFile& file, size_t column, std::span<const size_t> rows,
                                 const TableColumn::Kind* known = nullptr);
// A line about a column that is of categories although nearly all of its cells are numbers: perhaps some cells are wrong. Empty: it is not
// so.
std::string doubt_about(const TableFile& file, size_t column, std::span<const size_t> rows);

}  // namespace tenon
