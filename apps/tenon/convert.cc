// tenon convert images | idx: data to TFRecord files, ahead of training.
#include <algorithm>

#include "command.h"
#include "process.h"
#include "tenon/convert.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

const std::vector<std::string> kKinds = {"idx", "images"};

void declare_images(Flags& flags) {
  flags.text("train_csv", "", "rows of path,label; a relative path is relative to the CSV");
  flags.text("validation_csv", "", "the same for validation");
  flags.text("labels", "", "file of class names, one a line; class i is label i + 1");
  flags.boolean("skip_bad_images", false, "pass over and count what cannot be decoded");
  flags.boolean("verify", true, "decode every image; --noverify looks at its header only");
}

void declare_convert(Flags& flags, const std::vector<std::string>& words) {
  flags.leave_out({"device", "verbose"});
  const bool images = !words.empty() && words[0] == "images", idx = !words.empty() && words[0] == "idx";
  flags.text("output", "", "directory for the records; made when missing");
  flags.alias("output_dir", "output");
  flags.boolean("overwrite", false, "replace the records that are there already");
  flags.integer("shard_bytes", 32 << 20, "size of a file aimed at", 1 << 10, 1e12);
  if (!images) {
    flags.text("input", "", "directory of IDX files {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz");
    flags.alias("input_dir", "input");
    if (idx) flags.text("labels", "", "file of class names, one a line");
  }
  if (!idx) declare_images(flags);
}

void common(const Flags& flags, ConvertOptions& options) {
  options.output = flags.required("output");
  options.seed = static_cast<uint64_t>(flags.integer("seed"));
  options.overwrite = flags.boolean("overwrite");
  options.shard_bytes = flags.integer("shard_bytes");
  options.interrupted = interrupted;
}

ConvertSummary convert_idx_files(const Flags& flags) {
  ConvertIdxOptions options;
  options.input = flags.required("input");
  common(flags, options);
  options.labels = flags.text("labels");
  return convert_idx(options, process_pool()).take();
}

ConvertSummary convert_image_files(const Flags& flags) {
  ConvertImagesOptions options;
  options.train_csv = flags.required("train_csv");
  options.validation_csv = flags.text("validation_csv");
  options.labels = flags.required("labels");
  common(flags, options);
  options.skip_bad_images = flags.boolean("skip_bad_images");
  options.verify = flags.boolean("verify");
  return convert_images(options, process_pool()).take();
}

void print_json(const ConvertSummary& summary, const std::string& output) {
  Json result("result");
  result.add("output", output).add("classes", static_cast<int64_t>(summary.labels.size()));
  for (const ConvertSummary::Split& s : summary.splits)
    result.raw(s.name, Json()
                           .add("records", s.records)
                           .add("files", static_cast<int64_t>(s.files.size()))
                           .add("bytes", s.bytes)
                           .add("unknown_labels", s.unknown_labels)
                           .add("bad_images", s.bad_images)
                           .str());
  print_line(result.str());
}

void print_text(const ConvertSummary& summary, const std::string& output) {
  for (const ConvertSummary::Split& s : summary.splits) {
    print("%s: %s in %s, %s\n", s.name.c_str(), counted(s.records, "record").c_str(),
          counted(static_cast<int64_t>(s.files.size()), "file").c_str(),
          bytes_text(static_cast<double>(s.bytes)).c_str());
    if (s.unknown_labels)
      print("%s: left out %s with an unknown label, the first %s\n", s.name.c_str(),
            counted(s.unknown_labels, "row").c_str(), s.first_unknown.c_str());
    if (s.bad_images)
      print("%s: left out %s, the first %s\n", s.name.c_str(), counted(s.bad_images, "bad image").c_str(),
            s.first_bad.c_str());
  }
  print("%zu classes; records in %s\n", summary.labels.size(), output.c_str());
}

int run_convert(const Flags& flags, const std::vector<std::string>& words) {
  const std::string& kind = only_word(words, "kind of data", kKinds);
  watch_interrupts();
  set_stdout(Stdout::kLog);
  const ConvertSummary summary = kind == "idx" ? convert_idx_files(flags) : convert_image_files(flags);
  if (flags.boolean("json"))
    print_json(summary, flags.text("output"));
  else
    print_text(summary, flags.text("output"));
  return 0;
}

const char* convert_usage(const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), "idx") != words.end()) return "idx --input DIR --output DIR [FLAGS]";
  if (std::find(words.begin(), words.end(), "images") != words.end())
    return "images --train_csv FILE --labels FILE --output DIR [--validation_csv FILE] [FLAGS]";
  return nullptr;
}

}  // namespace

const Command kConvert{
    "convert",    "idx|images --output DIR [FLAGS]", "Turns images into TFRecord files", declare_convert, run_convert,
    convert_usage};

}  // namespace tenon::runner
