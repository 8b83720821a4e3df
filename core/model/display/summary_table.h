// Keras's table of a model: a header, a row a layer, totals; as wide as the terminal allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

struct SummaryRow {
  std::string name, class_name;              // with the nesting's prefix; "Dense"
  std::vector<std::vector<int64_t>> shapes;  // sizes that are unknown are negative
  int64_t params = 0;
  std::string connected;  // "dense[0][0], .."
  char trainable = '-';   // or Y, N
};

struct SummaryCount {
  int64_t elements = 0, bytes = 0;
};

struct SummaryTable {
  std::string model;
  bool branching = false;  // has a column of what layers are connected to
  std::vector<SummaryRow> rows;
  SummaryCount trainable, other;
  std::optional<SummaryCount> optimizer;  // once it was built
};

struct SummaryLayout {
  int columns = 80;      // of the terminal
  int line_length = 0;   // 0: by the columns
  bool colours = false;  // escape sequences
  bool show_trainable = false;
};

std::string to_text(const SummaryTable& table, const SummaryLayout& layout);

}  // namespace tenon
