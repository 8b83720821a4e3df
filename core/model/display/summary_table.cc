#include "model/display/summary_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/strings.h"
#include "model/display/styled_text.h"

namespace tenon {
namespace {

const Style kBold = "1", kNumber = "38;5;34", kUnknown = "38;5;45", kClass = "38;5;33";
const Style kYes = "1;38;5;34", kNo = "1;38;5;9";
constexpr int kNarrowest = 40;  // of a line: no column is without room

std::string with_commas(int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string memory_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s", bytes, units[unit]);
  return text;
}

StyledText shape_text(const std::vector<int64_t>& shape) {
  StyledText out("(");
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out.add(", ");
    shape[i] < 0 ? out.add("None", kUnknown) : out.add(std::to_string(shape[i]), kNumber);
  }
  return out.add(")");
}

StyledText shapes_text(const std::vector<std::vector<int64_t>>& shapes) {
  if (shapes.empty()) return StyledText("?");
  if (shapes.size() == 1) return shape_text(shapes[0]);
  StyledText out("[");
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0) out.add(", ");
    out.add(shape_text(shapes[i]));
  }
  return out.add("]");
}

// The numbers in "dense[0][0], input[1][0]".
StyledText connections_text(const std::string& text) {
  StyledText out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('[', at), close = text.find(']', open);
    if (close == std::string::npos) return out.add(std::string_view(text).substr(at));
    out.add(std::string_view(text).substr(at, open + 1 - at));
    out.add(std::string_view(text).substr(open + 1, close - open - 1), kNumber).add("]");
    at = close + 1;
  }
  return out;
}

struct Column {
  std::string header;
  char align;  // as StyledText::aligned takes it
  int width;   // with a blank on either side
};

// As Keras places the columns' ends, and rich takes evenly from all what borders and blanks need.
std::vector<Column> columns_of(const SummaryTable& table, const SummaryLayout& layout) {
  std::vector<Column> columns = {{"Layer (type)", 'l', 0}, {"Output Shape", 'l', 0}, {"Param #", 'r', 0}};
  std::vector<double> ends = {0.45, 0.80, 1.0};
  int line = 88;
  if (table.branching) {
    columns.push_back({"Connected to", 'l', 0});
    ends = {0.3, 0.56, 0.74, 1.0};
    line = 108;
  }
  if (layout.show_trainable) {
    for (double& end : ends) end *= 0.90;
    columns.push_back({"Trainable", 'c', 0});
    ends.push_back(1.0);
    line += 12;
  }
  line = layout.line_length > 0 ? layout.line_length : std::min(line, layout.columns - 4);
  line = std::max(line, kNarrowest);
  const auto n = static_cast<int>(columns.size());
  int at = 0, excess = 2 * n + n + 1;
  for (int i = 0; i < n; ++i) {
    const int end = static_cast<int>(ends[static_cast<size_t>(i)] * line);
    const int taken = static_cast<int>(std::nearbyint(static_cast<double>(excess) / (n - i)));
    columns[static_cast<size_t>(i)].width = end - at + 2 - taken;
    excess -= taken;
    at = end;
  }
  return columns;
}

std::string rule(const std::vector<Column>& columns, const char* left, const char* line, const char* between,
                 const char* right) {
  std::string out = left;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += between;
    for (int k = 0; k < columns[i].width; ++k) out += line;
  }
  return out + right + "\n";
}

// A row's cells, wrapped in their columns. `padding` is the style of the blanks beside them.
std::string row_text(const std::vector<Column>& columns, const std::vector<StyledText>& cells, const char* border,
                     const Style& padding, bool colours) {
  std::vector<std::vector<StyledText>> lines;
  size_t most = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    lines.push_back(cells[i].wrapped(static_cast<size_t>(columns[i].width - 2)));
    most = std::max(most, lines[i].size());
  }
  const std::string blank = StyledText(" ", padding).str(colours);
  std::string out;
  for (size_t k = 0; k < most; ++k) {
    for (size_t i = 0; i < cells.size(); ++i) {
      StyledText line = k < lines[i].size() ? lines[i][k] : StyledText();
      line = line.aligned(static_cast<size_t>(columns[i].width - 2), columns[i].align);
      out += cat(border, blank, padding.empty() ? line.str(colours) : line.in(padding).str(colours), blank);
    }
    out += cat(border, "\n");
  }
  return out;
}

std::vector<StyledText> cells_of(const SummaryRow& row, const SummaryTable& table, const SummaryLayout& layout) {
  std::vector<StyledText> cells = {
      StyledText(cat(row.name, " (")).add(row.class_name, kClass).add(")"),
      shapes_text(row.shapes),
      StyledText(with_commas(row.params), kNumber),
  };
  if (table.branching) cells.push_back(connections_text(row.connected));
  const Style& style = row.trainable == 'Y' ? kYes : row.trainable == 'N' ? kNo : kBold;
  if (layout.show_trainable) cells.push_back(StyledText(std::string(1, row.trainable), style));
  return cells;
}

std::string total_line(const char* what, const SummaryCount& count, bool colours) {
  return StyledText(cat(" ", what, " params: "), kBold)
             .add(with_commas(count.elements), kNumber)
             .add(cat(" (", memory_text(static_cast<double>(count.bytes)), ")"))
             .str(colours) +
         "\n";
}

std::string totals(const SummaryTable& table, bool colours) {
  SummaryCount all;
  for (const SummaryCount& part : {table.trainable, table.other, table.optimizer.value_or(SummaryCount{})}) {
    all.elements += part.elements;
    all.bytes += part.bytes;
  }
  std::string out = total_line("Total", all, colours);
  out += total_line("Trainable", table.trainable, colours);
  out += total_line("Non-trainable", table.other, colours);
  if (table.optimizer) out += total_line("Optimizer", *table.optimizer, colours);
  return out;
}

}  // namespace

std::string to_text(const SummaryTable& table, const SummaryLayout& layout) {
  const bool colours = layout.colours;
  const std::vector<Column> columns = columns_of(table, layout);
  std::string out = StyledText(cat("Model: \"", table.model, "\""), kBold).str(colours) + "\n";
  std::vector<StyledText> header;
  for (const Column& column : columns) header.emplace_back(column.header, kBold);
  out += rule(columns, "┏", "━", "┳", "┓");
  out += row_text(columns, header, "┃", kBold, colours);
  out += rule(columns, "┡", "━", "╇", "┩");
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (i > 0) out += rule(columns, "├", "─", "┼", "┤");
    out += row_text(columns, cells_of(table.rows[i], table, layout), "│", {}, colours);
  }
  out += rule(columns, "└", "─", "┴", "┘");
  return out + totals(table, colours);
}

}  // namespace tenon
