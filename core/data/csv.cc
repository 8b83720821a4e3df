#include "data/csv.h"

#include <algorithm>
#include <cstring>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kMostFieldsOfAFile = size_t{1} << 20;  // of a row
constexpr int64_t kMostFileBytes = int64_t{1} << 30;
constexpr uint64_t kMaxRowBytes = uint64_t{256} << 20;
constexpr size_t kBuffer = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What the row takes elsewhere.
uint64_t bytes_of(const CsvRow& row) {
  uint64_t bytes = row.fields.capacity() * sizeof(std::string);
  for (const std::string& field : row.fields) bytes += field.capacity();
  return bytes;
}

Result<std::vector<CsvRow>> rows_of(CsvReader reader, const std::string& name) {
  std::vector<CsvRow> rows;
  RoomInPieces room;
  for (;;) {
    CsvRow row;
    TENON_ASSIGN(const bool more, reader.next(row));
    if (!more) return rows;
    TENON_TRY(room.take(bytes_of(row), name));
    TENON_TRY(take_room_to_grow(rows, name));
    rows.push_back(std::move(row));
  }
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<ByteStream> from, std::string name, char delimiter, bool trims, size_t most_fields)
    : from_(std::move(from)),
      name_(std::move(name)),
      delimiter_(delimiter),
      trims_(trims),
      most_fields_(most_fields),
      buffer_(std::clamp<uint64_t>(from_->limit(), 16, kBuffer)) {}

// False at the end, and after an error of the stream.
bool CsvReader::fill() {
  if (!failed_.ok()) return false;
  Result<size_t> got = from_->read(buffer_.data(), buffer_.size());
  if (!got.ok()) failed_ = got.status();
  at_ = 0;
  end_ = got.ok() ? *got : 0;
  if (!begun_ && std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  begun_ = true;
  return at_ < end_;
}

void CsvReader::pass() {
  if (at_end()) return;
  if (buffer_[at_++] == '\n') ++line_;
}

Result<bool> CsvReader::next(CsvRow& row) {
  for (;;) {
    if (at_end()) return failed_.ok() ? Result<bool>(false) : failed_;
    row.line = row_line_ = line_;
    row_bytes_ = 0;
    quoted_ = false;
    const Status taken = take_row(row);
    if (!failed_.ok()) return failed_;
    if (!taken.ok()) {
      while (!at_end() && buffer_[at_] != '\n') ++at_;
      pass();
      return taken;
    }
    const bool empty = row.fields.size() == 1 && (trims_ || !quoted_) && trimmed(row.fields[0]).empty();
    if (!empty) return true;
  }
}

Status CsvReader::take_row(CsvRow& row) {
  for (size_t used = 0;;) {
    if (used == most_fields_)
      return invalid(name_, ":", row.line, ": expected at most ", most_fields_, " fields in a row, found more");
    if (used == row.fields.size()) row.fields.emplace_back();
    std::string& field = row.fields[used++];
    field.clear();
    TENON_TRY(peek() == '"' ? take_quoted(field) : take_field(field));
    const bool ended = peek() != delimiter_;
    pass();
    if (!ended) continue;
    row.fields.resize(used);
    return {};
  }
}

Status CsvReader::add(const char* text, size_t bytes, std::string& field) {
  row_bytes_ += bytes;
  if (row_bytes_ > kMaxRowBytes)
    return invalid(name_, ":", row_line_, ": expected at most ", kMaxRowBytes, " bytes in a row, found more");
  if (field.size() + bytes > field.capacity()) TENON_TRY(take_room(2 * (field.size() + bytes), name_));
  field.append(text, bytes);
  return {};
}

Status CsvReader::take_field(std::string& field) {
  while (!at_end()) {
    const char* const from = buffer_.data() + at_;
    const char* const last = buffer_.data() + end_;
    const char* to = from;
    while (to != last && *to != delimiter_ && *to != '\n') ++to;
    TENON_TRY(add(from, static_cast<size_t>(to - from), field));
    at_ += static_cast<size_t>(to - from);
    if (to != last) break;
  }
  if (trims_)
    field = trimmed(field);
  else if (field.ends_with('\r') && peek() == '\n')
    field.pop_back();
  return {};
}

Status CsvReader::take_quoted(std::string& field) {
  const int64_t start = line_;
  quoted_ = true;
  pass();
  for (;;) {
    if (at_end()) return invalid(name_, ":", start, ": expected a closing quote, found the end of the file");
    const char* const from = buffer_.data() + at_;
    const auto* const quote = static_cast<const char*>(std::memchr(from, '"', end_ - at_));
    const size_t bytes = quote ? static_cast<size_t>(quote - from) : end_ - at_;
    line_ += std::count(from, from + bytes, '\n');
    TENON_TRY(add(from, bytes, field));
    at_ += bytes;
    if (!quote) continue;
    pass();
    if (at_end() || buffer_[at_] != '"') break;
    pass();
    field += '"';
  }
  while (peek() == ' ' || peek() == '\t' || peek() == '\r') pass();
  if (peek() == delimiter_ || peek() == '\n') return {};
  return invalid(name_, ":", line_, ": expected a comma or the end of the line after a closing quote, found '", peek(),
                 "'");
}

Result<std::vector<CsvRow>> parse_csv(std::string_view text, const std::string& name) {
  return rows_of(CsvReader(memory_stream(text), name, ',', true), name);
}

Result<std::vector<CsvRow>> read_csv_file(const std::string& path) {
  TENON_ASSIGN(const std::string text, read_file(path, kMostFileBytes));
  return rows_of(CsvReader(memory_stream(text), path, ',', false, kMostFieldsOfAFile), path);
}

}  // namespace tenon
