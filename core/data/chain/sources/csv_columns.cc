#include "data/chain/sources/csv_columns.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/crc32c.h"
#include "base/strings.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

template <class T>
std::optional<T> number_in(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && std::is_same_v<T, float>) {  // 1e-50 is 0
    const std::optional<double> wide = number_in<double>(text);
    return wide ? std::optional<T>(static_cast<T>(*wide)) : std::nullopt;
  }
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
std::optional<Array> number_array(std::string_view text) {
  const std::optional<T> value = number_in<T>(text);
  return value ? std::optional<Array>(Array(*value)) : std::nullopt;
}

std::optional<Array> bool_array(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view yes : {"1", "true", "True", "TRUE"})
    if (text == yes) return Array(true);
  for (const std::string_view no : {"0", "false", "False", "FALSE"})
    if (text == no) return Array(false);
  return std::nullopt;
}

std::optional<Array> parsed(DType type, std::string_view text) {
  switch (type) {
    case DType::kI32:
      return number_array<int32_t>(text);
    case DType::kI64:
      return number_array<int64_t>(text);
    case DType::kF32:
      return number_array<float>(text);
    case DType::kF64:
      return number_array<double>(text);
    case DType::kBool:
      return bool_array(text);
    default:
      return text_array(text);
  }
}

std::string_view type_text(DType type) { return type == DType::kU8 ? "text" : dtype_name(type); }

DType type_of(std::string_view text) {
  if (number_in<int64_t>(text)) return DType::kI64;
  return number_in<float>(text) ? DType::kF32 : DType::kU8;
}

template <class Map>
void expect_columns(const Map& asked, const std::vector<std::string>& names, const std::string& file,
                    const char* what) {
  for (const auto& [name, value] : asked)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("from_csv: ", what, " has a column '", name, "'; ", file, " has ", abbreviated(join(names), 200));
}

}  // namespace

CsvTable::CsvTable(std::vector<std::string> files, CsvOptions options)
    : files_(std::move(files)), options_(std::move(options)) {
  if (files_.empty()) fail("from_csv: there is no file");
  if (options_.delimiter == '"' || options_.delimiter == '\n' || options_.delimiter == '\r')
    fail("from_csv: a quote or a line end cannot be the delimiter");
  for (const auto& [name, type] : options_.types)
    if (!is_integer(type) && type != DType::kF32 && type != DType::kF64 && type != DType::kBool && type != DType::kU8 &&
        type != DType::kNone)
      fail("from_csv: column '", name, "' is ", dtype_name(type),
           ", expected i32, i64, f32, f64, bool, or u8 for text");
  name_columns();
  choose_columns();
  learn_types();
}

void CsvTable::name_columns() {
  CsvReader reader = open_file(0).take();
  CsvRow row;
  if (!reader.next(row).take())
    fail(files_[0], ": expected ", options_.header ? "a header" : "rows", ", found nothing");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < row.fields.size(); ++i) {
    names_.push_back(options_.header ? std::string(trimmed(row.fields[i])) : cat("column_", i));
    if (names_.back().empty()) fail(files_[0], ":", row.line, ": column ", i + 1, " has no name");
  }
  for (const std::string& name : names_)
    if (!seen.insert(name).second) fail(files_[0], ":", row.line, ": column '", abbreviated(name), "' is there twice");
}

void CsvTable::choose_columns() {
  expect_columns(options_.types, names_, files_[0], "types");
  expect_columns(options_.defaults, names_, files_[0], "defaults");
  std::map<std::string_view, int> selected;
  for (const std::string& name : options_.select) selected.emplace(name, 0);
  expect_columns(selected, names_, files_[0], "select");
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!selected.empty() && !selected.contains(names_[i])) continue;
    CsvColumn column{names_[i], i};
    if (const auto type = options_.types.find(column.name); type != options_.types.end()) column.type = type->second;
    if (const auto value = options_.defaults.find(column.name); value != options_.defaults.end())
      column.fallback = value->second;
    columns_.push_back(std::move(column));
  }
}

void CsvTable::learn_types() {
  CsvRow row;
  bool found = false;
  for (size_t file = 0; file < files_.size() && !found; ++file) {
    found = open(file).take().next(row).take();
    for (CsvColumn& column : columns_) {
      if (!found || column.type != DType::kNone) continue;
      if (column.field >= row.fields.size()) fail(element(file, row).status().message());
      const std::string& text = row.fields[column.field];
      if (text.empty() && !column.fallback)
        fail(files_[file], ":", row.line, ": column '", column.name,
             "' is empty in the first row, which does not tell its type; expected one in CsvOptions::types");
      column.type = text.empty() ? DType::kF32 : type_of(text);
      column.learnt = true;
    }
  }
}

Result<CsvReader> CsvTable::open_file(size_t file) const {
  TENON_ASSIGN(std::unique_ptr<ByteStream> stream, open_text_stream(files_[file]));
  return CsvReader(std::move(stream), files_[file], options_.delimiter);
}

Result<CsvReader> CsvTable::open(size_t file) const {
  TENON_ASSIGN(CsvReader reader, open_file(file));
  if (!options_.header) return reader;
  CsvRow row;
  TENON_ASSIGN(const bool found, reader.next(row));
  if (!found) return invalid(files_[file], ": expected a header, found nothing");
  for (size_t i = 0; i < std::max(row.fields.size(), names_.size()); ++i) {
    const std::string_view name = i < row.fields.size() ? trimmed(row.fields[i]) : std::string_view("nothing");
    const std::string_view expected = i < names_.size() ? std::string_view(names_[i]) : std::string_view("nothing");
    if (name != expected)
      return invalid(files_[file], ":", row.line, ": column ", i + 1, ": expected '", expected, "' as in ", files_[0],
                     ", found '", abbreviated(name), "'");
  }
  return reader;
}

Result<Element> CsvTable::element(size_t file, const CsvRow& row) const {
  if (row.fields.size() != names_.size())
    return invalid(files_[file], ":", row.line, ": expected ", names_.size(), " fields as the ",
                   options_.header ? "header" : "first row", " has, found ", row.fields.size());
  Element out;
  for (const CsvColumn& column : columns_) {
    const std::string& text = row.fields[column.field];
    const bool missing = text.empty() && column.type != DType::kU8;
    std::optional<Array> value = missing ? std::nullopt : parsed(column.type, text);
    if (missing && column.fallback) value = parsed(column.type, cat(*column.fallback));
    if (!value)
      return invalid(files_[file], ":", row.line, ": column '", column.name, "': expected ", type_text(column.type),
                     column.learnt ? " as in the first row" : "", ", found '", abbreviated(text), "'");
    out.emplace(column.name, std::move(*value));
  }
  return out;
}

uint64_t CsvTable::fingerprint() const {
  uint64_t hash = mix_hash(0xc57, files_.size());
  for (const CsvColumn& column : columns_)
    hash = mix_hash(mix_hash(hash, crc32c(column.name)), static_cast<uint64_t>(column.type));
  return hash;
}

}  // namespace tenon
