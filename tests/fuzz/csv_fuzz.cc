// CSV rows: no row without a field, lines that only grow.
#include <cstdlib>

#include "data/csv.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<std::vector<CsvRow>> rows = parse_csv({reinterpret_cast<const char*>(data), size}, "f");
  if (!rows.ok()) return 0;
  int64_t line = 0;
  for (const CsvRow& row : *rows) {
    if (row.fields.empty() || row.line <= line) std::abort();
    line = row.line;
  }
  return 0;
}
