#include <unordered_map>

#include "base/caught.h"
#include "base/file/file.h"
#include "base/process/thread_pool.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/class_folders.h"
#include "data/csv.h"
#include "data/image/image.h"
#include "data/items.h"
#include "data/record/shards.h"
#include "tenon/class_balance.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

constexpr int64_t kImageOverhead = 300;  // of the features beside the image

struct Row {
  std::string path;
  size_t label = 0;
  int64_t line = 0;  // of the CSV
  int64_t bytes = 0;
};

struct Table {
  std::string from;  // a CSV, or a directory
  bool folders = false;
  std::vector<Row> rows;
};

using LabelIndex = std::unordered_map<std::string_view, size_t>;

std::string beside(const std::string& file, const std::string& path) {
  const size_t slash = file.rfind('/');
  if (path.starts_with('/') || slash == std::string::npos) return path;
  return file.substr(0, slash + 1) + path;
}

Status check_row(const std::string& csv, const CsvRow& row) {
  if (row.fields.size() != 2)
    return invalid(csv, ":", row.line, ": expected path,label, found ", row.fields.size(),
                   row.fields.size() == 1 ? " field" : " fields");
  if (row.fields[0].empty()) return invalid(csv, ":", row.line, ": expected a path, found ''");
  return {};
}

// The rows whose label is known, in the order of the file; the others are counted.
Result<Table> read_table(const std::string& csv, const ConvertImagesOptions& options, const LabelIndex& labels,
                         ConvertSummary::Split* split) {
  TENON_ASSIGN(const std::string text, read_file(csv));
  TENON_ASSIGN(const std::vector<CsvRow> rows, parse_csv(text, csv));
  if (rows.empty()) return invalid("'", csv, "': expected rows of path,label, found none");
  Table table{csv, false, {}};
  RoomInPieces room;
  const size_t beside_bytes = directory_of(csv).size();
  for (const CsvRow& row : rows) {
    TENON_TRY(check_row(csv, row));
    const auto known = labels.find(row.fields[1]);
    if (known != labels.end()) {
      TENON_TRY(room.take(beside_bytes + row.fields[0].size(), csv));
      TENON_TRY(take_room_to_grow(table.rows, csv));
      table.rows.push_back({beside(csv, row.fields[0]), known->second, row.line});
    } else {
      split->leave_out("unknown_labels", [&] {
        return cat(csv, ":", row.line, ": label '", abbreviated(row.fields[1]), "' is not in '", options.labels, "'");
      });
    }
  }
  if (table.rows.empty())
    return invalid(csv, ": expected rows with a known label, found none; ", split->of("unknown_labels").first);
  return table;
}

// Whose label is known, as above.
Result<Table> read_folders(const std::string& directory, const LabelledFiles& files,
                           const ConvertImagesOptions& options, const LabelIndex& labels,
                           ConvertSummary::Split* split) {
  Table table{directory, true, {}};
  for (size_t i = 0; i < files.paths.size(); ++i) {
    const std::string& name = files.classes[static_cast<size_t>(files.labels[i])];
    const auto known = labels.find(name);
    if (known != labels.end()) {
      TENON_TRY(take_room_to_grow(table.rows, directory));
      table.rows.push_back({files.paths[i], known->second});
    } else {
      split->leave_out("unknown_labels", [&] {
        return options.labels.empty() ? cat(files.paths[i], ": '", name, "' is no class of '", options.input, "'")
                                      : cat(files.paths[i], ": label '", name, "' is not in '", options.labels, "'");
      });
    }
  }
  if (table.rows.empty()) return invalid(directory, ": expected images of a known class, found none");
  return table;
}

// Whether a file begins as an image: its first bytes alone, of files that may be many.
bool looks_like_image(const std::string& path) {
  char head[16];
  const Result<File> file = File::open(path);
  if (!file.ok()) return false;
  const Result<size_t> bytes = file->read_at(0, head, sizeof head);
  return bytes.ok() && image_format({head, *bytes}) != ImageFormat::kUnknown;
}

// Tells it of each row.
Result<std::vector<char>> look_like_images(const std::vector<Row>& rows, ThreadPool& pool) {
  std::vector<char> out(rows.size());
  for (const Status& looked : for_each_item(&pool, rows.size(), [&](size_t i) -> Status {
         out[i] = looks_like_image(rows[i].path);
         return {};
       }))
    TENON_TRY(looked);
  return out;
}

// Takes a share of the rows of each class out of the table. Where bad images are passed over, only of those that look like images, so that
// what is passed over stays in training and takes no class's last image away.
Result<Table> hold_out(Table& table, const std::vector<std::string>& names, const ConvertImagesOptions& options,
                       ThreadPool& pool, std::vector<std::string>* single) {
  std::vector<size_t> rows;
  std::vector<int32_t> labels;
  std::vector<Row> left;
  std::vector<char> images;
  if (options.skip_bad_images) {
    TENON_ASSIGN(images, look_like_images(table.rows, pool));
  }
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (!images.empty() && !images[i]) {
      left.push_back(table.rows[i]);
    } else {
      rows.push_back(i);
      labels.push_back(static_cast<int32_t>(table.rows[i].label));
    }
  }
  const std::vector<int64_t> counts = class_counts(labels);
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] != 1) continue;
    if (!options.keep_single_images)
      return invalid(
          table.from, "/", names[c],
          ": has one image, expected at least two, one of which is held out (--keep_single_images trains on it)");
    single->push_back(names[c]);
  }
  return caught([&]() -> Result<Table> {
    const SplitIndices split =
        stratified_split(labels, options.validation_fraction, options.seed, SingleExamples::kTrain);
    Table held{table.from, true, {}};
    for (const int64_t i : split.held_out) held.rows.push_back(table.rows[rows[static_cast<size_t>(i)]]);
    for (const int64_t i : split.train) left.push_back(table.rows[rows[static_cast<size_t>(i)]]);
    table.rows = std::move(left);
    return held;
  });
}

// Files of folders are named by what is wrong with them.
Status at_row(const Table& table, const Row& row, const Status& status) {
  if (table.folders) return status;
  return Status(status.code(), cat(table.from, ":", row.line, ": ", status.message()));
}

// Finds missing files before hours of work, and how the data divide into shards.
Status measure(Table& table, bool skip_bad) {
  for (Row& row : table.rows) {
    const Result<int64_t> bytes = file_bytes(row.path);
    if (!bytes.ok() && !skip_bad) return at_row(table, row, bytes.status());
    row.bytes = (bytes.ok() ? *bytes : 0) + kImageOverhead;
  }
  return {};
}

Result<ImageInfo> check_image(std::string_view bytes, const ConvertImagesOptions& options) {
  TENON_ASSIGN(const ImageInfo info, read_image_info(bytes));
  if (!options.verify) return info;
  thread_local Image scratch;
  const Status decoded = decode_image(bytes, {.max_bytes = options.max_image_bytes}, &scratch);
  scratch.free_large();
  TENON_TRY(decoded);
  return info;
}

Status make_image_record(const Row& row, const std::string& label, const ConvertImagesOptions& options,
                         ExampleBuilder& builder) {
  TENON_ASSIGN(const std::string bytes, read_file(row.path, options.max_image_bytes));
  Result<ImageInfo> info = check_image(bytes, options);
  if (!info.ok()) return Status(info.status().code(), cat("'", row.path, "': ", info.status().message()));
  builder.add_int64("image/height", info->height);
  builder.add_int64("image/width", info->width);
  builder.add_bytes("image/colorspace", "RGB");
  builder.add_int64("image/channels", 3);
  builder.add_int64("image/class/label", static_cast<int64_t>(row.label) + 1);
  builder.add_bytes("image/class/synset", label);
  builder.add_bytes("image/format", image_format_name(info->format));
  builder.add_bytes("image/filename", name_of(row.path));
  // It keeps up to three copies: of the list, of the features and of the record.
  if (const Status room = take_room(3 * bytes.size(), "a record"); !room.ok())
    return Status(room.code(), cat("'", row.path, "': ", room.message()));
  builder.add_bytes("image/encoded", bytes);
  return {};
}

SplitSource source_of(const std::string& name, const Table& table, const std::vector<size_t>& order,
                      const ConvertImagesOptions& options, const std::vector<std::string>& labels) {
  SplitSource source{name, {}, {}, options.skip_bad_images};
  for (const size_t row : order) source.bytes.push_back(table.rows[row].bytes);
  source.make = [&](size_t i, ExampleBuilder& builder) -> Status {
    const Row& row = table.rows[order[i]];
    const Status status = make_image_record(row, labels[row.label], options, builder);
    return status.ok() ? status : at_row(table, row, status);
  };
  return source;
}

JobText job_of(const ConvertImagesOptions& options, const std::vector<Table>& tables,
               const std::vector<std::string>& labels) {
  JobText job("images");
  job.add("seed", options.seed).add("shard_bytes", options.shard_bytes).add("labels", join(labels, "\n"));
  job.add("single", options.keep_single_images);
  job.add("skip_bad", options.skip_bad_images).add("verify", options.verify).add("most", options.max_image_bytes);
  for (const Table& table : tables) {
    table.folders ? job.add("folders", table.from) : job.add_file(table.from);
    job.add("rows", table.rows.size());
    for (const Row& row : table.rows) job.add_file(row.path);
  }
  return job;
}

std::vector<size_t> order_of(const Table& table, bool training, uint64_t seed) {
  if (training) return shuffled(table.rows.size(), seed);
  std::vector<size_t> order(table.rows.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

// The class names, and what each split has.
struct Input {
  std::vector<std::string> labels;
  std::vector<std::string> single;  // classes with one image, of which none is held out
  std::vector<Table> tables;
};

LabelIndex index_of(const std::vector<std::string>& labels) {
  LabelIndex index;
  for (size_t i = 0; i < labels.size(); ++i) index.emplace(labels[i], i);
  return index;
}

Result<Input> read_tables(const ConvertImagesOptions& options, std::span<ConvertSummary::Split> splits) {
  Input out;
  TENON_ASSIGN(out.labels, read_labels(options.labels));
  const LabelIndex index = index_of(out.labels);
  for (size_t s = 0; s < splits.size(); ++s) {
    TENON_ASSIGN(Table table,
                 read_table(s == 0 ? options.train_csv : options.validation_csv, options, index, &splits[s]));
    out.tables.push_back(std::move(table));
  }
  return out;
}

Result<Input> read_all_folders(const ConvertImagesOptions& options, ThreadPool& pool,
                               std::span<ConvertSummary::Split> splits) {
  Input out;
  TENON_ASSIGN(const LabelledFiles files, list_class_folders(options.input));
  if (options.labels.empty()) {
    out.labels = files.classes;
  } else {
    TENON_ASSIGN(out.labels, read_labels(options.labels));
  }
  if (out.labels.size() < 2)
    return invalid(options.input, ": expected at least 2 directories, one a class, found ", out.labels.size());
  for (const std::string& label : out.labels)
    TENON_TRY(check_label(cat(options.input, "/", label), label));
  const LabelIndex index = index_of(out.labels);
  TENON_ASSIGN(Table train, read_folders(options.input, files, options, index, &splits[0]));
  out.tables.push_back(std::move(train));
  if (splits.size() < 2) return out;
  if (options.validation_input.empty()) {
    TENON_ASSIGN(Table held, hold_out(out.tables[0], out.labels, options, pool, &out.single));
    out.tables.push_back(std::move(held));
    return out;
  }
  TENON_ASSIGN(const LabelledFiles others, list_class_folders(options.validation_input));
  TENON_ASSIGN(Table validation, read_folders(options.validation_input, others, options, index, &splits[1]));
  out.tables.push_back(std::move(validation));
  return out;
}

Status check_input(const ConvertImagesOptions& o) {
  if (o.train_csv.empty() && o.input.empty())
    return invalid(
        "convert images: expected a CSV of training images, or a directory with a class a directory, found none");
  if (!o.input.empty() && (!o.train_csv.empty() || !o.validation_csv.empty()))
    return invalid("convert images: expected CSV files or a directory, found both");
  if (o.input.empty() && (!o.validation_input.empty() || o.validation_fraction != 0))
    return invalid("convert images: a directory for validation goes with one for training, not with a CSV");
  if (!(o.validation_fraction >= 0 && o.validation_fraction < 1))
    return invalid("convert images: validation_fraction is ", o.validation_fraction,
                   ", expected 0 or more and less than 1");
  return {};
}

}  // namespace

Result<ConvertSummary> convert_images(const ConvertImagesOptions& options, ThreadPool& pool) {
  TENON_TRY(check_input(options));
  const bool validates =
      !options.validation_csv.empty() || !options.validation_input.empty() || options.validation_fraction > 0;
  ConvertSummary summary;
  summary.splits.resize(validates ? 2 : 1);
  for (size_t s = 0; s < summary.splits.size(); ++s) summary.splits[s].name = s == 0 ? "train" : "validation";
  TENON_ASSIGN(Input input, options.input.empty() ? read_tables(options, summary.splits)
                                                  : read_all_folders(options, pool, summary.splits));
  summary.labels = std::move(input.labels);
  summary.single_images = std::move(input.single);
  std::vector<Table>& tables = input.tables;
  for (Table& table : tables) TENON_TRY(measure(table, options.skip_bad_images));

  TENON_ASSIGN(OutputSet output, OutputSet::create(options, [&] { return job_of(options, tables, summary.labels); }));
  std::vector<std::vector<size_t>> orders;
  for (size_t s = 0; s < tables.size(); ++s) orders.push_back(order_of(tables[s], s == 0, options.seed));
  std::vector<SplitSource> sources;
  for (size_t s = 0; s < tables.size(); ++s)
    sources.push_back(source_of(summary.splits[s].name, tables[s], orders[s], options, summary.labels));
  TENON_TRY(output.write_splits(sources, pool, summary.splits));
  summary.complete = !output.is_part();
  TENON_TRY(write_labels_and_info(output, summary, ""));
  TENON_TRY(output.commit());
  return summary;
}

}  // namespace tenon
