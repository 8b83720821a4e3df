// Tables of comma-separated values (RFC 4180), as `tenon predict` and the callback CSVLogger write them.
//
// Fields in double quotes may hold commas, line ends and doubled quotes. Lines end in LF or CRLF; a byte order mark and
// empty lines are passed over; blanks around a field belong to it. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon {

struct CsvRow {
  int64_t line = 0;  // where it starts, from 1
  std::vector<std::string> fields;
};

// All rows of a regular file of at most 1 GiB, each of up to 2^20 fields. Errors name the file, and the line where there
// is one.
Result<std::vector<CsvRow>> read_csv_file(const std::string& path);

}  // namespace tenon
