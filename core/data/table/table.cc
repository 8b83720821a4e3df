#include "data/table/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr int64_t kNumbersAText = 9;  // of a column in doubt, at least

std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_f32(double x) { return std::abs(x) <= std::numeric_limits<float>::max(); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = utf8_sequence(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

// The first cell that is no number; none: all are, or nothing is said.
std::optional<size_t> first_text(const TableFile& file, size_t column, std::span<const size_t> rows) {
  for (const size_t row : rows)
    if (const std::string& cell = file.cell(row, column); !is_missing(cell) && !number_in(cell)) return row;
  return std::nullopt;
}

Result<TableColumn> numbers_of(const TableFile& file, size_t column, std::span<const size_t> rows) {
  double count = 0, mean = 0, squares = 0;  // Welford's: of large numbers too
  for (const size_t row : rows)
    if (const auto x = number_in(file.cell(row, column))) {
      TENON_TRY(check_number(file, row, column));
      const double off = *x - mean;
      mean += off / ++count;
      squares += off * (*x - mean);
    }
  const double stddev = count > 0 ? std::sqrt(squares / count) : 0;
  return TableColumn{file.header[column], TableColumn::Kind::kNumber, mean, stddev > 0 ? stddev : 1, {}};
}

}  // namespace

std::string TableFile::place(size_t row, size_t column) const {
  return cat(path, ":", rows[row].line, ": column '", header[column], "'");
}

Result<TableFile> TableFile::read(const std::string& path, BadRows* bad) {
  TENON_ASSIGN(const std::string text, read_file(path));
  TENON_ASSIGN(std::vector<CsvRow> rows, parse_csv(text, path));
  if (rows.size() < 2)
    return invalid(path, ": expected a header and rows, found ", rows.empty() ? "nothing" : "no row");
  TableFile out{path, std::move(rows[0].fields), {}};
  std::set<std::string_view> seen;
  for (size_t i = 0; i < out.header.size(); ++i) {
    const std::string& name = out.header[i];
    if (name.empty() || !is_utf8(name))
      return invalid(path, ":", rows[0].line, ": column ", i + 1,
                     name.empty() ? " has no name" : ": its name is no UTF-8");
    if (!seen.insert(name).second)
      return invalid(path, ":", rows[0].line, ": column '", abbreviated(name), "' is there twice");
  }
  rows.erase(rows.begin());
  out.rows = std::move(rows);
  const auto other_length = [&](size_t row) -> Status {
    const CsvRow& one = out.rows[row];
    if (one.fields.size() == out.header.size()) return {};
    return invalid(path, ":", one.line, ": expected ", out.header.size(), " fields as the header has, found ",
                   one.fields.size());
  };
  if (bad) out.leave_out(other_length, *bad);
  for (size_t row = 0; row < out.rows.size(); ++row) TENON_TRY(other_length(row));
  return out;
}

void TableFile::leave_out(const std::function<Status(size_t row)>& mistake, BadRows& bad) {
  size_t kept = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (const Status found = mistake(row); !found.ok())
      bad.add(found);
    else if (kept++ != row)
      rows[kept - 1] = std::move(rows[row]);
  }
  rows.resize(kept);
}

Result<size_t> TableFile::column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found != header.end()) return static_cast<size_t>(found - header.begin());
  return invalid(path, ": no column '", abbreviated(std::string(name)), "'; it has ", abbreviated(join(header, ", ")));
}

bool is_missing(std::string_view cell) {
  for (const std::string_view nothing : {"", "NA", "N/A", "NaN", "nan", "null", "?"})
    if (cell == nothing) return true;
  return false;
}

Status check_number(const TableFile& file, size_t row, size_t column) {
  const std::string& cell = file.cell(row, column);
  if (is_missing(cell)) return {};
  const std::optional<double> x = number_in(cell);
  if (x && is_f32(*x)) return {};
  return invalid(file.place(row, column), ": expected a number", x ? " of f32, at most 3.4e38" : "", ", found '",
                 abbreviated(cell), "'");
}

Status check_text(const TableFile& file, size_t row, size_t column) {
  return is_utf8(file.cell(row, column)) ? Status() : invalid(file.place(row, column), ": no UTF-8");
}

bool all_numbers(const TableFile& file, size_t column, std::span<const size_t> rows) {
  return !first_text(file, column, rows);
}

Result<double> TableColumn::number(const TableFile& file, size_t row, size_t column) const {
  const std::string& cell = file.cell(row, column);
  if (is_missing(cell)) return 0.0;
  const std::optional<double> value = number_in(cell);
  if (!value) return invalid(file.place(row, column), ": expected a number, found '", abbreviated(cell), "'");
  const double x = (*value - mean) / stddev;
  if (is_f32(x)) return x;
  return invalid(file.place(row, column), ": '", abbreviated(cell), "', minus the mean ", mean, ", by the deviation ",
                 stddev, ", is no number of f32");
}

int64_t TableColumn::place_of(std::string_view cell) const {
  const auto found = std::lower_bound(values.begin(), values.end(), cell);
  return found != values.end() && *found == cell && !is_missing(cell) ? found - values.begin() + 1 : 0;
}

Result<TableColumn> learn_column(const TableFile& file, size_t column, std::span<const size_t> rows,
                                 const TableColumn::Kind* known) {
  const std::optional<size_t> text = first_text(file, column, rows);
  const bool numbers = known ? *known == TableColumn::Kind::kNumber : !text;
  if (numbers && text) return check_number(file, *text, column);
  std::set<std::string> values;
  for (const size_t row : rows) {
    const std::string& cell = file.cell(row, column);
    if (is_missing(cell)) continue;
    TENON_TRY(check_text(file, row, column));
    if (values.size() <= kMostCategories) values.insert(cell);
    if (!numbers && values.size() > kMostCategories)
      return invalid(file.place(row, column), ": expected at most ", kMostCategories, " different texts, found more",
                     known || !text ? std::string()
                                    : cat("; the first that is no number is '", abbreviated(file.cell(*text, column)),
                                          "' on line ", file.rows[*text].line));
  }
  if (values.empty()) return invalid(file.path, ": column '", file.header[column], "' has nothing but missing values");
  if (numbers) return numbers_of(file, column, rows);
  return TableColumn{file.header[column], TableColumn::Kind::kCategory, 0, 1, {values.begin(), values.end()}};
}

std::string doubt_about(const TableFile& file, size_t column, std::span<const size_t> rows) {
  const std::optional<size_t> text = first_text(file, column, rows);
  if (!text) return {};
  int64_t numbers = 0, texts = 0;
  for (const size_t row : rows)
    if (const std::string& cell = file.cell(row, column); !is_missing(cell)) ++(number_in(cell) ? numbers : texts);
  if (numbers < kNumbersAText * texts) return {};
  return cat(file.place(*text, column), " is of categories because of '", abbreviated(file.cell(*text, column)),
             "': ", numbers, " of ", numbers + texts, " cells are numbers (--numbers ", file.header[column],
             " makes that an error)");
}

}  // namespace tenon
