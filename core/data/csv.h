// The CSV files that the converters read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

struct CsvRow {
  int64_t line = 0;  // where it starts, from 1
  std::vector<std::string> fields;
};

// RFC 4180: commas, fields in double quotes may hold commas, line ends and doubled quotes. LF or CRLF; a
// byte order mark and empty lines are passed over. `name` is for messages.
Result<std::vector<CsvRow>> parse_csv(std::string_view text, const std::string& name);

}  // namespace tenon
