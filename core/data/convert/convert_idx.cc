#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/process/thread_pool.h"
#include "base/strings.h"
#include "data/convert/idx.h"
#include "data/record/shards.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

constexpr int64_t kIdxOverhead = 190;  // of the features beside the image

struct Labelled {
  IdxArray images;  // [n, height, width] or [n, height, width, channels]
  IdxArray labels;  // [n]
  std::string images_path, labels_path;

  size_t count() const { return static_cast<size_t>(images.dims[0]); }
  int64_t height() const { return images.dims[1]; }
  int64_t width() const { return images.dims[2]; }
  int64_t channels() const { return images.dims.size() == 4 ? images.dims[3] : 1; }
  int64_t image_bytes() const { return height() * width() * channels(); }
};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<std::string> find_idx(const std::string& directory, const std::string& name) {
  const std::string plain = cat(directory, "/", name);
  if (exists(plain)) return plain;
  if (exists(plain + ".gz")) return plain + ".gz";
  return invalid("input '", directory, "': expected ", name, " or ", name, ".gz, found neither");
}

Result<Labelled> read_labelled(const std::string& directory, const std::string& prefix) {
  Labelled data;
  TENON_ASSIGN(data.images_path, find_idx(directory, prefix + "-images-idx3-ubyte"));
  TENON_ASSIGN(data.labels_path, find_idx(directory, prefix + "-labels-idx1-ubyte"));
  TENON_ASSIGN(data.images, read_idx(data.images_path));
  TENON_ASSIGN(data.labels, read_idx(data.labels_path));
  const std::vector<int64_t>& dims = data.images.dims;
  if (dims.size() < 3 || std::find(dims.begin(), dims.end(), 0) != dims.end())
    return invalid("'", data.images_path, "': expected images of n x height x width, found ", join(dims, "x"));
  if (data.channels() != 1 && data.channels() != 3)
    return invalid("'", data.images_path, "': expected 1 or 3 channels, found ", data.channels());
  if (data.labels.dims.size() != 1 || data.labels.dims[0] != dims[0])
    return invalid("'", data.labels_path, "': expected ", dims[0], " labels, found ", join(data.labels.dims, "x"));
  return data;
}

std::vector<std::string> numbered(size_t classes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < classes; ++i) names.push_back(cat(i));
  return names;
}

Result<std::vector<std::string>> class_names(const ConvertIdxOptions& options, const Labelled& train) {
  if (!options.labels.empty()) return read_labels(options.labels);
  const std::string beside = options.input + "/labels.txt";
  if (exists(beside)) return read_labels(beside);
  const size_t classes = *std::max_element(train.labels.data.begin(), train.labels.data.end()) + size_t{1};
  if (classes < 2) return invalid("'", train.labels_path, "': expected at least 2 classes, found 1");
  return numbered(classes);
}

Status check_labels(const Labelled& data, size_t classes) {
  for (size_t i = 0; i < data.count(); ++i)
    if (data.labels.data[i] >= classes)
      return invalid("'", data.labels_path, "' label ", i, ": expected 0 to ", classes - 1, ", found ",
                     data.labels.data[i]);
  return {};
}

void make_idx_record(const Labelled& data, size_t row, const std::vector<std::string>& names, ExampleBuilder& builder) {
  const size_t bytes = static_cast<size_t>(data.image_bytes()), label = data.labels.data[row];
  builder.add_int64("image/height", data.height());
  builder.add_int64("image/width", data.width());
  builder.add_int64("image/channels", data.channels());
  builder.add_int64("image/class/label", static_cast<int64_t>(label) + 1);
  builder.add_bytes("image/class/synset", names[label]);
  builder.add_bytes("image/format", "RAW");
  builder.add_bytes("image/encoded", {reinterpret_cast<const char*>(data.images.data.data()) + row * bytes, bytes});
}

SplitSource source_of(const std::string& name, const Labelled& data, const std::vector<size_t>& order,
                      const std::vector<std::string>& names) {
  const auto make = [&](size_t i, ExampleBuilder& builder) -> Status {
    make_idx_record(data, order[i], names, builder);
    return {};
  };
  return {name, std::vector<int64_t>(order.size(), data.image_bytes() + kIdxOverhead), make, false};
}

JobText job_of(const ConvertIdxOptions& options, const Labelled& train, const Labelled& validation,
               const std::vector<std::string>& labels) {
  JobText job("idx");
  job.add("seed", options.seed).add("shard_bytes", options.shard_bytes).add("labels", join(labels, "\n"));
  for (const Labelled* data : {&train, &validation}) job.add_file(data->images_path).add_file(data->labels_path);
  return job;
}

}  // namespace

Result<ConvertSummary> convert_idx(const ConvertIdxOptions& options, ThreadPool& pool) {
  TENON_ASSIGN(const Labelled train, read_labelled(options.input, "train"));
  TENON_ASSIGN(const Labelled validation, read_labelled(options.input, "t10k"));
  if (!std::equal(train.images.dims.begin() + 1, train.images.dims.end(), validation.images.dims.begin() + 1,
                  validation.images.dims.end()))
    return invalid("input '", options.input, "': expected images of one size, found ", join(train.images.dims, "x"),
                   " for training and ", join(validation.images.dims, "x"), " for validation");
  ConvertSummary summary;
  TENON_ASSIGN(summary.labels, class_names(options, train));
  TENON_TRY(check_labels(train, summary.labels.size()));
  TENON_TRY(check_labels(validation, summary.labels.size()));

  TENON_ASSIGN(OutputSet output,
               OutputSet::create(options, [&] { return job_of(options, train, validation, summary.labels); }));
  summary.splits.resize(2);
  summary.splits[0].name = "train";
  summary.splits[1].name = "validation";
  std::vector<size_t> in_order(validation.count());
  std::iota(in_order.begin(), in_order.end(), size_t{0});
  const std::vector<size_t> order = shuffled(train.count(), options.seed);
  const SplitSource sources[] = {source_of("train", train, order, summary.labels),
                                 source_of("validation", validation, in_order, summary.labels)};
  TENON_TRY(output.write_splits(sources, pool, summary.splits));
  summary.complete = !output.is_part();
  TENON_TRY(write_labels_and_info(
      output, summary,
      cat(", \"height\": ", train.height(), ", \"width\": ", train.width(), ", \"channels\": ", train.channels())));
  TENON_TRY(output.commit());
  return summary;
}

}  // namespace tenon
