#include <unordered_map>

#include "base/file/file.h"
#include "base/process/thread_pool.h"
#include "base/room.h"
#include "base/text.h"
#include "data/csv.h"
#include "data/image/image.h"
#include "data/record/shards.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

constexpr int64_t kImageOverhead = 300;  // of the features beside the image

struct Row {
  std::string path;
  size_t label = 0;
  int64_t line = 0;
  int64_t bytes = 0;
};

struct Table {
  std::string csv;
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
  Table table{csv, {}};
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

Status at_row(const Table& table, const Row& row, const Status& status) {
  return Status(status.code(), cat(table.csv, ":", row.line, ": ", status.message()));
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
  job.add("skip_bad", options.skip_bad_images).add("verify", options.verify).add("most", options.max_image_bytes);
  for (const Table& table : tables) {
    job.add_file(table.csv).add("rows", table.rows.size());
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

}  // namespace

Result<ConvertSummary> convert_images(const ConvertImagesOptions& options, ThreadPool& pool) {
  if (options.train_csv.empty()) return invalid("convert images: expected a CSV of training images, found none");
  ConvertSummary summary;
  TENON_ASSIGN(summary.labels, read_labels(options.labels));
  LabelIndex index;
  for (size_t i = 0; i < summary.labels.size(); ++i) index.emplace(summary.labels[i], i);

  summary.splits.resize(options.validation_csv.empty() ? 1 : 2);
  std::vector<Table> tables;
  for (size_t s = 0; s < summary.splits.size(); ++s) {
    summary.splits[s].name = s == 0 ? "train" : "validation";
    const std::string& csv = s == 0 ? options.train_csv : options.validation_csv;
    TENON_ASSIGN(Table table, read_table(csv, options, index, &summary.splits[s]));
    TENON_TRY(measure(table, options.skip_bad_images));
    tables.push_back(std::move(table));
  }

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
