// Rows of a table.
#include "convert/convert_kind.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

void declare_table(Flags& flags) {
  const ConvertTableOptions d;
  declare_shard_bytes(flags);
  flags.text("input", "", "CSV file whose first row names the columns");
  flags.text("label", "", "the column that is to be predicted, of classes");
  flags.text("validation", "", "CSV file for evaluation");
  flags.number("validation_fraction", d.validation_fraction, "of the rows that are held out where there is none", 1e-6,
               0.5);
  flags.text("numbers", "", "columns that have to be of numbers, NAME,NAME..; others are where all their cells are");
  flags.text("categories", "", "columns that are of categories, numbers or not, NAME,NAME..");
  flags.text("ignore", "", "columns that are left out, NAME,NAME..");
  flags.text("like", "",
             "directory of a conversion whose columns and classes are taken: rows for the model that has it");
  flags.boolean("skip_bad_rows", false,
                "pass over and count rows that have not as many fields as the header, no number of f32 in a column of "
                "numbers, or a label that is no class's name");
}

ConvertSummary convert_table_file(const Flags& flags) {
  ConvertTableOptions options;
  read_common(flags, options);
  options.shard_bytes = flags.integer("shard_bytes");
  options.input = flags.required("input");
  options.like = flags.text("like");
  options.validation = flags.text("validation");
  const bool learns = options.like.empty();
  for (const char* name : {"label", "numbers", "categories", "ignore"})
    if (!learns && flags.given(name)) throw UsageError{format("--like and --%s exclude each other", name)};
  if (flags.given("validation_fraction") && (!learns || !options.validation.empty()))
    throw UsageError{format("--validation_fraction and --%s exclude each other", learns ? "validation" : "like")};
  if (learns) options.label = flags.required("label");
  options.validation_fraction = flags.number("validation_fraction");
  options.numbers = list_of(flags, "numbers"), options.categories = list_of(flags, "categories");
  options.ignore = list_of(flags, "ignore");
  options.skip_bad_rows = flags.boolean("skip_bad_rows");
  return convert_table(options, process_pool()).take();
}

}  // namespace

const ConvertKind kConvertTable{"table",
                                "table --input FILE.csv --label COLUMN --output DIR [--validation FILE.csv] [FLAGS]",
                                declare_table,
                                convert_table_file,
                                {"no_label", "unknown_labels", "bad_rows"}};

}  // namespace tenon::runner
