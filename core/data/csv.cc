#include "data/csv.h"

#include <algorithm>

#include "base/room.h"
#include "base/text.h"

namespace tenon {
namespace {

constexpr size_t kMaxFields = 1000;  // of a row

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<std::vector<CsvRow>> rows() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row{line_, {}};
      TENON_TRY(take_row(&row));
      if (row.fields.size() == 1 && trimmed(row.fields[0]).empty()) continue;
      TENON_TRY(room_.take(bytes_of(row), name_));
      TENON_TRY(take_room_to_grow(rows, name_));
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  // What the row takes elsewhere.
  static uint64_t bytes_of(const CsvRow& row) {
    uint64_t bytes = row.fields.capacity() * sizeof(std::string);
    for (const std::string& field : row.fields) bytes += field.capacity();
    return bytes;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }

  Status take_row(CsvRow* row) {
    for (;;) {
      std::string field;
      if (peek() == '"') {
        TENON_TRY(take_quoted(&field));
      } else {
        const size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
        field = trimmed(text_.substr(at_, end - at_));
        at_ = end;
      }
      if (row->fields.size() == kMaxFields)
        return invalid(name_, ":", line_, ": expected at most ", kMaxFields, " fields in a row, found more");
      row->fields.push_back(std::move(field));
      const bool ended = peek() == '\n';
      if (ended) ++line_;
      ++at_;
      if (ended) return {};
    }
  }

  Status take_quoted(std::string* field) {
    const int64_t start = line_;
    for (++at_;; ++at_) {
      if (at_ >= text_.size())
        return invalid(name_, ":", start, ": expected a closing quote, found the end of the file");
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        *field += text_[at_];
      } else if (text_.substr(at_, 2) == "\"\"") {
        *field += text_[at_++];
      } else {
        break;
      }
    }
    ++at_;
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
    if (peek() == ',' || peek() == '\n') return {};
    return invalid(name_, ":", line_, ": expected a comma or the end of the line after a closing quote, found '",
                   peek(), "'");
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  int64_t line_ = 1;
  RoomInPieces room_;
};

}  // namespace

Result<std::vector<CsvRow>> parse_csv(std::string_view text, const std::string& name) {
  return CsvParser(without_byte_order_mark(text), name).rows();
}

}  // namespace tenon
