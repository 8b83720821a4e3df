// Tables to records: numbers normalised, categories as places of one list.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "base/caught.h"
#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/json_text.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "data/convert/text_records.h"
#include "data/record/shards.h"
#include "data/table/table.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

using Kind = TableColumn::Kind;

// What the records have: the columns but the label's, in the order of the file, and the classes.
struct TableScheme {
  std::string label;
  std::vector<TableColumn> columns;
  std::vector<std::string> classes;

  int64_t count(Kind kind) const {
    return std::count_if(columns.begin(), columns.end(), [&](const TableColumn& c) { return c.kind == kind; });
  }
  int64_t places() const {
    return std::accumulate(columns.begin(), columns.end(), int64_t{0}, [](int64_t sum, const TableColumn& c) {
      return sum + (c.kind == Kind::kCategory ? c.places() : 0);
    });
  }
};

std::string column_list(const TableScheme& scheme) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TableColumn& c : scheme.columns) {
    nlohmann::ordered_json one{{"name", c.name}, {"kind", c.kind == Kind::kNumber ? "number" : "category"}};
    if (c.kind == Kind::kNumber)
      one["mean"] = c.mean, one["stddev"] = c.stddev;
    else
      one["values"] = c.values;
    list.push_back(std::move(one));
  }
  return list.dump();
}

// The scheme of an info.json that this file wrote. Throws where it is another.
TableScheme scheme_in(const nlohmann::json& info, std::vector<std::string> classes) {
  TableScheme out{info.at("label").get<std::string>(), {}, std::move(classes)};
  if (info.at("kind") != "table") throw Error(invalid("is not of a table"));
  for (const auto& one : info.at("columns")) {
    const bool number = one.at("kind") == "number";
    TableColumn& column = out.columns.emplace_back();
    column.name = one.at("name").get<std::string>();
    column.kind = number ? Kind::kNumber : Kind::kCategory;
    if (number)
      column.mean = one.at("mean").get<double>(), column.stddev = one.at("stddev").get<double>();
    else
      column.values = one.at("values").get<std::vector<std::string>>();
    std::sort(column.values.begin(), column.values.end());
  }
  return out;
}

Result<TableScheme> read_scheme(const std::string& directory) {
  const std::string path = directory + "/info.json";
  TENON_ASSIGN(const std::string text, read_file(path));
  TENON_ASSIGN(std::vector<std::string> classes, read_labels(directory + "/labels.txt"));
  TENON_ASSIGN(const nlohmann::json info, parse_json_text(path, text));
  try {
    return scheme_in(info, std::move(classes));
  } catch (const std::exception&) {
    return invalid(path, ": expected what a conversion of a table wrote");
  }
}

const Kind* kind_asked(const ConvertTableOptions& o, const std::string& name) {
  static constexpr Kind kNumber = Kind::kNumber, kCategory = Kind::kCategory;
  const auto in = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return in(o.numbers) ? &kNumber : in(o.categories) ? &kCategory : nullptr;
}

Status check_names(const TableFile& file, const ConvertTableOptions& o) {
  for (const auto* list : {&o.numbers, &o.categories, &o.ignore})
    for (const std::string& name : *list) {
      TENON_TRY(file.column(name).status());
      if (name == o.label) return invalid("the label '", name, "' is of no other kind");
      if (std::count(o.numbers.begin(), o.numbers.end(), name) +
              std::count(o.categories.begin(), o.categories.end(), name) +
              std::count(o.ignore.begin(), o.ignore.end(), name) >
          1)
        return invalid("column '", name, "' is named twice");
    }
  return {};
}

// A class is a text, and a line of labels.txt.
Status check_class(const TableFile& file, size_t row, size_t label) {
  const std::string& name = file.cell(row, label);
  if (is_missing(name)) return {};
  TENON_TRY(check_text(file, row, label));
  return check_label(cat(file.place(row, label), ": '", abbreviated(name), "'"), name);
}

Result<TableScheme> learn_scheme(const TableFile& file, const ConvertTableOptions& o, const std::vector<size_t>& rows,
                                 std::vector<std::string>* notices) {
  TENON_ASSIGN(const size_t label, file.column(o.label));
  TENON_TRY(check_names(file, o));
  const Kind category = Kind::kCategory;
  TENON_ASSIGN(TableColumn classes, learn_column(file, label, rows, &category));
  if (classes.values.size() < 2)
    return invalid(file.path, ": column '", abbreviated(o.label), "' has one class, expected at least 2");
  for (const size_t row : rows) TENON_TRY(check_class(file, row, label));
  TableScheme out{o.label, {}, std::move(classes.values)};
  for (size_t c = 0; c < file.header.size(); ++c) {
    if (c == label || std::find(o.ignore.begin(), o.ignore.end(), file.header[c]) != o.ignore.end()) continue;
    const Kind* const asked = kind_asked(o, file.header[c]);
    TENON_ASSIGN(TableColumn column, learn_column(file, c, rows, asked));
    if (const std::string doubt = asked ? "" : doubt_about(file, c, rows); !doubt.empty()) notices->push_back(doubt);
    out.columns.push_back(std::move(column));
  }
  if (out.columns.empty()) return invalid(file.path, ": expected a column beside the label, found none");
  return out;
}

// The rows of one split, all of whose cells are good.
struct TableSplit {
  std::vector<std::vector<float>> numbers;
  std::vector<std::vector<int64_t>> categories;
  std::vector<int64_t> labels;
};

// `at`: where the scheme's columns are.
Status add_cells(const TableFile& file, const TableScheme& scheme, const std::vector<size_t>& at, size_t row,
                 int64_t label, TableSplit& out) {
  std::vector<float> numbers;
  std::vector<int64_t> categories;
  int64_t before = 0;  // places of the columns so far
  for (size_t c = 0; c < at.size(); ++c) {
    const TableColumn& column = scheme.columns[c];
    if (column.kind == Kind::kNumber) {
      TENON_ASSIGN(const double x, column.number(file, row, at[c]));
      numbers.push_back(static_cast<float>(x));
    } else {
      categories.push_back(before + column.place_of(file.cell(row, at[c])));
      before += column.places();
    }
  }
  out.numbers.push_back(std::move(numbers));
  out.categories.push_back(std::move(categories));
  out.labels.push_back(label);
  return {};
}

// Bad rows are an error unless `skip_bad`.
Result<TableSplit> cells_of(const TableFile& file, const TableScheme& scheme, const std::vector<size_t>& rows,
                            bool skip_bad, ConvertSummary::Split* split) {
  TENON_ASSIGN(const size_t label, file.column(scheme.label));
  std::vector<size_t> at;
  for (const TableColumn& column : scheme.columns) {
    TENON_ASSIGN(const size_t found, file.column(column.name));
    at.push_back(found);
  }
  TableSplit out;
  for (const size_t row : rows) {
    const std::string& name = file.cell(row, label);
    const auto known = std::find(scheme.classes.begin(), scheme.classes.end(), name);
    if (is_missing(name) || known == scheme.classes.end()) {
      split->leave_out(is_missing(name) ? "no_label" : "unknown_labels",
                       [&] { return cat(file.place(row, label), ": '", abbreviated(name), "'"); });
      continue;
    }
    const Status added = add_cells(file, scheme, at, row, known - scheme.classes.begin(), out);
    if (!added.ok() && !skip_bad) return added;
    if (!added.ok()) split->leave_out("bad_rows", [&] { return added.message(); });
  }
  return out;
}

Status write_cells(const TableSplit& cells, uint64_t seed, OutputSet& output, ThreadPool& pool,
                   ConvertSummary::Split* split) {
  const size_t n = cells.labels.size();
  if (n == 0) return invalid("convert: the split '", split->name, "' has no row");
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  if (split->name == "train") order = shuffled(n, seed);
  const size_t bytes = 100 + cells.numbers[0].size() * 4 + cells.categories[0].size() * 3;
  SplitSource source{split->name, std::vector<int64_t>(n, static_cast<int64_t>(bytes)), {}, false};
  source.make = [&](size_t i, ExampleBuilder& builder) -> Status {
    const size_t row = order[i];
    if (!cells.numbers[row].empty()) builder.add_floats("numbers", cells.numbers[row]);
    if (!cells.categories[row].empty()) builder.add_int64s("categories", cells.categories[row]);
    builder.add_int64("label", cells.labels[row]);
    return {};
  };
  return output.write_splits(std::span(&source, 1), pool, std::span(split, 1));
}

// Rows to train on and rows that are held out.
std::vector<std::vector<size_t>> dealt(size_t n, const ConvertTableOptions& o) {
  std::vector<size_t> order = shuffled(n, o.seed);
  const auto held = std::max<size_t>(1, static_cast<size_t>(static_cast<double>(n) * o.validation_fraction + 0.5));
  std::vector<size_t> out(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(held, n)));
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(out.size()));
  for (auto* rows : {&order, &out}) std::sort(rows->begin(), rows->end());
  return {order, out};
}

std::vector<size_t> all_rows(const TableFile& file) {
  std::vector<size_t> out(file.rows.size());
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

// The columns that are of numbers whatever the rows say.
std::vector<std::string> sure_numbers(const ConvertTableOptions& o, const TableScheme& like) {
  std::vector<std::string> out = o.numbers;
  for (const TableColumn& column : like.columns)
    if (column.kind == Kind::kNumber) out.push_back(column.name);
  return out;
}

Result<TableFile> read_table(const std::string& path, const ConvertTableOptions& o, const TableScheme& like,
                             BadRows& bad) {
  TENON_ASSIGN(TableFile out, TableFile::read(path, o.skip_bad_rows ? &bad : nullptr));
  if (!o.skip_bad_rows) return out;
  std::vector<size_t> numbers;
  for (const std::string& name : sure_numbers(o, like)) {
    TENON_ASSIGN(const size_t found, out.column(name));
    numbers.push_back(found);
  }
  size_t label = out.header.size();  // none
  if (like.label.empty()) {
    TENON_ASSIGN(label, out.column(o.label));
  }
  const auto mistake = [&](size_t row) -> Status {
    for (const size_t c : numbers) TENON_TRY(check_number(out, row, c));
    return label < out.header.size() ? check_class(out, row, label) : Status();
  };
  out.leave_out(mistake, bad);
  return out;
}

// Takes rows with a number beyond f32 from those that a scheme is learnt from. A row that goes may have had the one text of another
// column.
void leave_out_large(const TableFile& file, const ConvertTableOptions& o, std::vector<size_t>& rows, BadRows& bad) {
  for (bool found = true; found;) {
    found = false;
    for (size_t c = 0; c < file.header.size(); ++c) {
      const std::string& name = file.header[c];
      const Kind* const asked = kind_asked(o, name);
      if (name == o.label || std::find(o.ignore.begin(), o.ignore.end(), name) != o.ignore.end() ||
          !(asked ? *asked == Kind::kNumber : all_numbers(file, c, rows)))
        continue;
      found |= std::erase_if(rows, [&](size_t row) {
                 const Status mistake = check_number(file, row, c);
                 if (!mistake.ok()) bad.add(mistake);
                 return !mistake.ok();
               }) > 0;
    }
  }
}

Result<ConvertSummary> convert_table_files(const ConvertTableOptions& o, ThreadPool& pool) {
  TableScheme scheme;
  if (!o.like.empty()) {
    TENON_ASSIGN(scheme, read_scheme(o.like));
  }
  BadRows bad[2];  // of train and of validation
  TENON_ASSIGN(const TableFile train, read_table(o.input, o, scheme, bad[0]));
  TableFile validation;
  std::vector<std::vector<size_t>> rows = {all_rows(train)};
  std::vector<const TableFile*> files = {&train};  // of each split
  if (!o.validation.empty()) {
    TENON_ASSIGN(validation, read_table(o.validation, o, scheme, bad[1]));
    files.push_back(&validation), rows.push_back(all_rows(validation));
  } else if (o.like.empty()) {
    files.push_back(&train), rows = dealt(train.rows.size(), o);
  }
  ConvertSummary summary;
  if (o.like.empty()) {
    if (o.skip_bad_rows) leave_out_large(train, o, rows[0], bad[0]);
    TENON_ASSIGN(scheme, learn_scheme(train, o, rows[0], &summary.notices));
  }
  summary.labels = scheme.classes;
  TENON_TRY(check_interrupted(o));
  TENON_ASSIGN(OutputSet output, OutputSet::create_whole(o));
  summary.splits.resize(files.size());
  for (size_t s = 0; s < files.size(); ++s) {
    // Rows that are like a model's are there to be looked at, unless others are, too.
    summary.splits[s].name = files.size() == 1 || s == 1 ? "validation" : "train";
    if (bad[s].count > 0)
      summary.splits[s].leave_out(
          "bad_rows", [&] { return bad[s].first; }, bad[s].count);
    TENON_ASSIGN(const TableSplit cells, cells_of(*files[s], scheme, rows[s], o.skip_bad_rows, &summary.splits[s]));
    TENON_TRY(write_cells(cells, o.seed, output, pool, &summary.splits[s]));
  }
  const std::string columns = column_list(scheme);
  const uint32_t mark = crc32c(cat(columns, join(scheme.classes, "\n")));
  TENON_TRY(write_labels_and_info(
      output, summary,
      cat(", \"num_numbers\": ", scheme.count(Kind::kNumber), ", \"num_categories\": ", scheme.count(Kind::kCategory),
          ", \"num_places\": ", scheme.places(), ", \"kind\": \"table\", \"mark\": \"", mark,
          "\", \"label\": ", nlohmann::json(scheme.label).dump(), ", \"columns\": ", columns)));
  TENON_TRY(output.commit());
  return summary;
}

}  // namespace

Result<ConvertSummary> convert_table(const ConvertTableOptions& options, ThreadPool& pool) {
  if (options.input.empty() || (options.label.empty() && options.like.empty()))
    return invalid("convert table: expected a CSV file and the label's column");
  return caught([&]() -> Result<ConvertSummary> {
    ConvertSummary summary;
    TENON_TRY(as_first_does([&]() -> Status {  // what is read as a whole is written by one
      TENON_ASSIGN(summary, convert_table_files(options, pool));
      return {};
    }));
    return summary;
  });
}

}  // namespace tenon
