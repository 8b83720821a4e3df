// Images with a class each.
#include "convert/convert_kind.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

void declare_idx(Flags& flags) {
  declare_shard_bytes(flags);
  flags.text("input", "", "directory of IDX files {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz");
  flags.alias("input_dir", "input");
  flags.text("labels", "", "file of class names, one a line");
}

ConvertSummary convert_idx_files(const Flags& flags) {
  ConvertIdxOptions options;
  options.input = flags.required("input");
  read_common(flags, options);
  options.shard_bytes = flags.integer("shard_bytes");
  options.labels = flags.text("labels");
  return convert_idx(options, process_pool()).take();
}

void declare_images(Flags& flags) {
  declare_shard_bytes(flags);
  flags.text("train_csv", "", "rows of path,label; a relative path is relative to the CSV");
  flags.text("validation_csv", "", "the same for validation");
  flags.text("input", "", "in place of CSV files: a directory of images with a class a directory");
  flags.alias("input_dir", "input");
  flags.text("validation_input", "", "the same for validation");
  flags.number("validation_fraction", 0, "of the images of each class in --input that are held out where there is none",
               0, 0.9);
  flags.text("labels", "",
             "file of class names, one a line; class i is label i + 1; of directories empty: their names, sorted");
  flags.boolean("keep_single_images", false,
                "with --validation_fraction: train on the image of a class that has one, which is an error else");
  flags.boolean("skip_bad_images", false, "pass over and count what cannot be decoded");
  flags.boolean("verify", true, "decode every image; --noverify looks at its header only");
}

ConvertSummary convert_image_files(const Flags& flags) {
  ConvertImagesOptions options;
  options.input = flags.text("input"), options.validation_input = flags.text("validation_input");
  options.validation_fraction = flags.number("validation_fraction");
  const bool folders = !options.input.empty();
  for (const char* name :
       folders ? std::vector{"train_csv", "validation_csv"} : std::vector{"validation_input", "validation_fraction"})
    if (flags.given(name)) throw UsageError{format("--%s %s --input", name, folders ? "excludes" : "needs")};
  if (options.validation_fraction == 0 && flags.given("keep_single_images"))
    throw UsageError{"--keep_single_images needs --validation_fraction"};
  if (!options.validation_input.empty() && flags.given("validation_fraction"))
    throw UsageError{"--validation_input and --validation_fraction exclude each other"};
  options.train_csv = folders ? std::string() : flags.required("train_csv");
  options.validation_csv = flags.text("validation_csv");
  options.labels = folders ? flags.text("labels") : flags.required("labels");
  read_common(flags, options);
  options.shard_bytes = flags.integer("shard_bytes");
  options.keep_single_images = flags.boolean("keep_single_images");
  options.skip_bad_images = flags.boolean("skip_bad_images");
  options.verify = flags.boolean("verify");
  return convert_images(options, process_pool()).take();
}

}  // namespace

const ConvertKind kConvertIdx{
    "idx", "idx --input DIR --output DIR [FLAGS]", declare_idx, convert_idx_files, {"unknown_labels", "bad_images"}};
const ConvertKind kConvertImages{
    "images",
    "images --input DIR|--train_csv FILE --labels FILE --output DIR [--validation_csv FILE] [FLAGS]",
    declare_images,
    convert_image_files,
    {"unknown_labels", "bad_images"}};

}  // namespace tenon::runner
