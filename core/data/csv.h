// CSV files as tenon/csv_file.h says, row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/record/byte_stream.h"
#include "tenon/csv_file.h"
#include "tenon/status.h"

namespace tenon {

// Row by row: memory does not grow with the file. One thread.
class CsvReader {
 public:
  static constexpr size_t kMostFields = 1000;  // of a row, unless said otherwise

  // `name` is for messages. Blanks around a field without quotes belong to it unless `trims`.
  CsvReader(std::unique_ptr<ByteStream> from, std::string name, char delimiter = ',', bool trims = false,
            size_t most_fields = kMostFields);

  // The next row that is not empty, or false after the last one. Errors name the line. After one that is kInvalid the next call
  // goes on behind its line; any other is the stream's, and stays.
  Result<bool> next(CsvRow& row);
  bool failed() const { return !failed_.ok(); }  // the stream has: nothing more comes

 private:
  bool fill();
  bool at_end() { return at_ == end_ && !fill(); }
  char peek() { return at_end() ? '\n' : buffer_[at_]; }
  void pass();  // the character that peek() gave
  Status take_row(CsvRow& row);
  Status take_field(std::string& field);
  Status take_quoted(std::string& field);
  Status add(const char* text, size_t bytes, std::string& field);

  std::unique_ptr<ByteStream> from_;
  std::string name_;
  char delimiter_;
  bool trims_;
  size_t most_fields_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  bool begun_ = false, quoted_ = false;
  int64_t line_ = 1, row_line_ = 1;
  uint64_t row_bytes_ = 0;
  Status failed_;
};

// All rows of a text, trimmed.
Result<std::vector<CsvRow>> parse_csv(std::string_view text, const std::string& name);

}  // namespace tenon
