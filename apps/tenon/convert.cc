// tenon convert idx | images | translation | summaries | answers | text | table: data to TFRecord files, ahead of training.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "command.h"
#include "process.h"
#include "tenon/convert.h"
#include "tenon/processes.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

// A kind of data that there is.
struct Kind {
  const char* name;
  const char* usage;
  void (*declare)(Flags& flags);
  ConvertSummary (*convert)(const Flags& flags);
  std::vector<const char*> left_out;  // why a row or a pair may be: keys of the JSON object
};

// "I/N"
void read_part(const Flags& flags, ConvertOptions& options) {
  const std::string& text = flags.text("part");
  if (text.empty()) return;
  const char* const end = text.data() + text.size();
  const auto part = std::from_chars(text.data(), end, options.part);
  const bool slash = part.ec == std::errc() && part.ptr != end && *part.ptr == '/';
  const auto parts = std::from_chars(slash ? part.ptr + 1 : end, end, options.parts);
  if (!slash || parts.ec != std::errc() || parts.ptr != end || options.part < 0 || options.part >= options.parts)
    throw UsageError{"--part is '" + text + "', expected I/N, 0/N to N-1/N"};
  if (options.merge) throw UsageError{"--part and --merge exclude each other"};
  if (process_count() > 1)
    throw UsageError{
        format("--part is for a process alone, these are %d, which share the work without it", process_count())};
}

void common(const Flags& flags, ConvertOptions& options) {
  options.output = flags.required("output");
  options.seed = static_cast<uint64_t>(flags.integer("seed"));
  options.overwrite = flags.boolean("overwrite");
  options.interrupted = interrupted;
  options.merge = flags.boolean("merge");
  read_part(flags, options);
}

void declare_shard_bytes(Flags& flags) {
  flags.integer("shard_bytes", 32 << 20, "size of a file aimed at", 1 << 10, 1e12);
}

void declare_idx(Flags& flags) {
  declare_shard_bytes(flags);
  flags.text("input", "", "directory of IDX files {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz");
  flags.alias("input_dir", "input");
  flags.text("labels", "", "file of class names, one a line");
}

ConvertSummary convert_idx_files(const Flags& flags) {
  ConvertIdxOptions options;
  options.input = flags.required("input");
  common(flags, options);
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
  flags.number("validation_fraction", 0, "of the images of each class in --input that are held out where there is none", 0,
               0.9);
  flags.text("labels", "",
             "file of class names, one a line; class i is label i + 1; of directories empty: their names, sorted");
  flags.boolean("skip_bad_images", false, "pass over and count what cannot be decoded");
  flags.boolean("verify", true, "decode every image; --noverify looks at its header only");
}

ConvertSummary convert_image_files(const Flags& flags) {
  ConvertImagesOptions options;
  options.input = flags.text("input"), options.validation_input = flags.text("validation_input");
  options.validation_fraction = flags.number("validation_fraction");
  const bool folders = !options.input.empty();
  for (const char* name : folders ? std::vector{"train_csv", "validation_csv"}
                                  : std::vector{"validation_input", "validation_fraction"})
    if (flags.given(name)) throw UsageError{format("--%s %s --input", name, folders ? "excludes" : "needs")};
  if (!options.validation_input.empty() && flags.given("validation_fraction"))
    throw UsageError{"--validation_input and --validation_fraction exclude each other"};
  options.train_csv = folders ? std::string() : flags.required("train_csv");
  options.validation_csv = flags.text("validation_csv");
  options.labels = folders ? flags.text("labels") : flags.required("labels");
  common(flags, options);
  options.shard_bytes = flags.integer("shard_bytes");
  options.skip_bad_images = flags.boolean("skip_bad_images");
  options.verify = flags.boolean("verify");
  return convert_images(options, process_pool()).take();
}

void declare_translation(Flags& flags) {
  const ConvertTranslationOptions d;
  flags.text("source", "", "text files, FILE,FILE..: a sentence a line");
  flags.text("target", "", "their translations, file for file and line for line");
  flags.text("pairs", "", "files that hold both: .tsv ('source<TAB>target' lines), .mo (gettext), .tmx");
  flags.text("source_language", d.source_language, "what .tmx files call it, and the vocabulary's name");
  flags.text("target_language", d.target_language, "the same of the translations");
  for (const char* name : {"source", "target", "pairs"})
    flags.text(std::string("dev_") + name, "", std::string("--") + name + " for evaluation");
  flags.number("dev_fraction", d.dev_fraction, "of the pairs that are held out where there are no dev files", 1e-6,
               0.5);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: made from the training text");
  flags.integer("vocab_size", d.vocab_size, "subtokens of the vocabulary that is made, about", 64, 1 << 24);
  flags.integer("vocab_sample", d.vocab_sample, "characters of each file and side that it is made from", 1000, 1e12);
  flags.integer("max_length", d.max_length, "leave out pairs with a side of more tokens", 2, 1 << 20);
  flags.number("max_ratio", d.max_ratio, "leave out pairs where a side has so many times the other's tokens; 0: none",
               0, 1e6);
  flags.integer("train_shards", d.train_shards, "files of training records", 1, 99999);
}

std::vector<std::string> list_of(const Flags& flags, const char* name) {
  std::vector<std::string> out;
  const std::string& text = flags.text(name);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end == at) throw UsageError{format("--%s is '%s', expected FILE,FILE..", name, text.c_str())};
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// One file of translations for each of sentences.
void expect_both(const Flags& flags, const char* source, const char* target) {
  const size_t sources = list_of(flags, source).size(), targets = list_of(flags, target).size();
  if (sources == targets) return;
  if (sources == 0 || targets == 0)
    throw UsageError{format("--%s is missing, expected as many files as --%s has", sources ? target : source,
                            sources ? source : target)};
  throw UsageError{
      format("--%s has %zu files and --%s has %zu, expected one for each", source, sources, target, targets)};
}

void expect_ends(const std::vector<std::string>& files, std::vector<std::string> ends, const char* what) {
  for (const std::string& file : files) {
    if (std::any_of(ends.begin(), ends.end(), [&](const std::string& end) { return file.ends_with(end); })) continue;
    const std::string last = ends.back();
    ends.pop_back();
    throw UsageError{format("%s: expected a file of %s whose name ends with %s or %s", file.c_str(), what,
                            listed(ends).c_str(), last.c_str())};
  }
}

// The sizes of a vocabulary that is made, or the one that is there.
void read_vocabulary(const Flags& flags, ConvertTextOptions& options) {
  options.vocab_file = flags.text("vocab_file");
  for (const char* made : {"vocab_size", "vocab_sample"})
    if (!options.vocab_file.empty() && flags.given(made))
      throw UsageError{format("--%s and --vocab_file exclude each other", made)};
  options.vocab_size = flags.integer("vocab_size"), options.vocab_sample = flags.integer("vocab_sample");
}

ConvertSummary convert_translation_files(const Flags& flags) {
  ConvertTranslationOptions options;
  common(flags, options);
  options.source = list_of(flags, "source"), options.target = list_of(flags, "target");
  options.pairs = list_of(flags, "pairs");
  options.dev_source = list_of(flags, "dev_source"), options.dev_target = list_of(flags, "dev_target");
  options.dev_pairs = list_of(flags, "dev_pairs");
  if (options.source.empty() && options.target.empty() && options.pairs.empty())
    throw UsageError{"expected --source and --target, or --pairs"};
  expect_both(flags, "source", "target");
  expect_both(flags, "dev_source", "dev_target");
  for (const auto* files : {&options.pairs, &options.dev_pairs})
    expect_ends(*files, {".tsv", ".mo", ".tmx", ".jsonl"}, "pairs");
  const bool dev = !options.dev_source.empty() || !options.dev_pairs.empty();
  if (dev && flags.given("dev_fraction")) throw UsageError{"--dev_fraction and dev files exclude each other"};
  for (const char* name : {"source_language", "target_language"}) {
    const std::string& tag = flags.text(name);
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '-'; };
    if (tag.empty() || !std::all_of(tag.begin(), tag.end(), is_plain))
      throw UsageError{format("--%s is '%s', expected one like en or pt-BR", name, tag.c_str())};
  }
  options.source_language = flags.text("source_language"), options.target_language = flags.text("target_language");
  options.dev_fraction = flags.number("dev_fraction");
  read_vocabulary(flags, options);
  options.max_length = flags.integer("max_length"), options.max_ratio = flags.number("max_ratio");
  options.train_shards = flags.integer("train_shards");
  return convert_translation(options, process_pool()).take();
}

void declare_summaries(Flags& flags) {
  const ConvertTranslationOptions d;
  flags.text("pairs", "",
             "files of documents and their summaries, FILE,FILE..: .tsv ('document<TAB>summary' lines), .jsonl "
             "({\"document\": .., \"summary\": ..} lines)");
  flags.text("dev_pairs", "", "the same for evaluation");
  flags.number("dev_fraction", d.dev_fraction, "of the documents that are held out where there are no dev files", 1e-6,
               0.5);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: made from the training text");
  flags.integer("vocab_size", d.vocab_size, "subtokens of the vocabulary that is made, about", 64, 1 << 24);
  flags.integer("vocab_sample", d.vocab_sample, "characters of each file and side that it is made from", 1000, 1e12);
  flags.integer("max_length", d.max_length, "tokens of a document; of a longer one the first are taken", 2, 1 << 16);
  flags.integer("max_target_length", 64, "leave out summaries of more tokens", 2, 1 << 16);
  flags.integer("train_shards", d.train_shards, "files of training records", 1, 99999);
}

ConvertSummary convert_summary_files(const Flags& flags) {
  ConvertTranslationOptions options;
  common(flags, options);
  flags.required("pairs");
  options.pairs = list_of(flags, "pairs"), options.dev_pairs = list_of(flags, "dev_pairs");
  for (const auto* files : {&options.pairs, &options.dev_pairs})
    expect_ends(*files, {".tsv", ".jsonl"}, "documents and summaries");
  if (!options.dev_pairs.empty() && flags.given("dev_fraction"))
    throw UsageError{"--dev_fraction and dev files exclude each other"};
  options.dev_fraction = flags.number("dev_fraction");
  read_vocabulary(flags, options);
  options.vocab_stem = "summaries";
  options.max_length = flags.integer("max_length"), options.max_target_length = flags.integer("max_target_length");
  if (options.max_target_length > options.max_length)
    throw UsageError{format("--max_target_length is %ld, expected at most --max_length, %ld",
                            static_cast<long>(options.max_target_length), static_cast<long>(options.max_length))};
  options.max_ratio = 0;
  options.cut_source = true;
  options.train_shards = flags.integer("train_shards");
  return convert_translation(options, process_pool()).take();
}

void declare_answers(Flags& flags) {
  const ConvertAnswersOptions d;
  flags.text("train", "", "files of SQuAD's JSON, version 1.1 or 2.0, FILE,FILE..");
  flags.text("dev", "", "the same for evaluation");
  flags.number("dev_fraction", d.dev_fraction, "of the paragraphs that are held out where there are no dev files", 1e-6,
               0.5);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: made from the training text");
  flags.integer("vocab_size", d.vocab_size, "subtokens of the vocabulary that is made, about", 64, 1 << 24);
  flags.integer("vocab_sample", d.vocab_sample,
                "characters of each file's texts, and of its questions, that it is made from", 1000, 1e12);
  flags.integer("max_length", d.max_length, "tokens of a question and a window of its text", 8, 1 << 16);
  flags.integer("doc_stride", d.doc_stride, "tokens from one window of a longer text to the next", 1, 1 << 16);
  flags.integer("train_shards", d.train_shards, "files of training records", 1, 99999);
}

ConvertSummary convert_answer_files(const Flags& flags) {
  ConvertAnswersOptions options;
  common(flags, options);
  flags.required("train");
  options.train = list_of(flags, "train"), options.dev = list_of(flags, "dev");
  if (!options.dev.empty() && flags.given("dev_fraction"))
    throw UsageError{"--dev_fraction and dev files exclude each other"};
  options.dev_fraction = flags.number("dev_fraction");
  read_vocabulary(flags, options);
  options.max_length = flags.integer("max_length"), options.doc_stride = flags.integer("doc_stride");
  options.train_shards = flags.integer("train_shards");
  return convert_answers(options, process_pool()).take();
}

void declare_text(Flags& flags) {
  const ConvertLinesOptions d;
  flags.text("input", "", "text files, FILE,FILE..");
  flags.text("dev", "", "the same for evaluation");
  flags.number("dev_fraction", d.dev_fraction, "of the records that are held out where there are no dev files", 1e-6,
               0.5);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: made from the training text");
  flags.integer("vocab_size", d.vocab_size, "subtokens of the vocabulary that is made, about", 64, 1 << 24);
  flags.integer("vocab_sample", d.vocab_sample, "characters of each file that it is made from", 1000, 1e12);
  flags.integer("max_length", d.max_length, "tokens of a record", 2, 1 << 16);
  flags.integer("train_shards", d.train_shards, "files of training records", 1, 99999);
}

ConvertSummary convert_text_files(const Flags& flags) {
  ConvertLinesOptions options;
  common(flags, options);
  flags.required("input");
  options.input = list_of(flags, "input"), options.dev = list_of(flags, "dev");
  if (!options.dev.empty() && flags.given("dev_fraction"))
    throw UsageError{"--dev_fraction and dev files exclude each other"};
  options.dev_fraction = flags.number("dev_fraction");
  read_vocabulary(flags, options);
  options.max_length = flags.integer("max_length");
  options.train_shards = flags.integer("train_shards");
  return convert_lines(options, process_pool()).take();
}

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
}

ConvertSummary convert_table_file(const Flags& flags) {
  ConvertTableOptions options;
  common(flags, options);
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
  return convert_table(options, process_pool()).take();
}

const Kind kConversions[] = {
    {"idx", "idx --input DIR --output DIR [FLAGS]", declare_idx, convert_idx_files, {"unknown_labels", "bad_images"}},
    {"images",
     "images --input DIR|--train_csv FILE --labels FILE --output DIR [--validation_csv FILE] [FLAGS]",
     declare_images,
     convert_image_files,
     {"unknown_labels", "bad_images"}},
    {"translation",
     "translation --source FILE.. --target FILE.. --output DIR [--dev_source FILE.. --dev_target FILE..] [FLAGS]",
     declare_translation,
     convert_translation_files,
     {"empty", "not_utf8", "nul_byte", "no_tab", "too_long", "unequal"}},
    {"summaries",
     "summaries --pairs FILE.. --output DIR [--dev_pairs FILE..] [FLAGS]",
     declare_summaries,
     convert_summary_files,
     {"empty", "not_utf8", "nul_byte", "no_tab", "too_long"}},
    {"answers",
     "answers --train FILE.json.. --output DIR [--dev FILE.json..] [FLAGS]",
     declare_answers,
     convert_answer_files,
     {"empty", "misplaced", "cut"}},
    {"text",
     "text --input FILE.. --output DIR [--dev FILE..] [FLAGS]",
     declare_text,
     convert_text_files,
     {"not_utf8", "nul_byte"}},
    {"table",
     "table --input FILE.csv --label COLUMN --output DIR [--validation FILE.csv] [FLAGS]",
     declare_table,
     convert_table_file,
     {"no_label", "unknown_labels"}},
};

std::vector<std::string> kind_names() {
  std::vector<std::string> out;
  for (const Kind& kind : kConversions) out.push_back(kind.name);
  return out;
}

const Kind* kind_among(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    for (const Kind& kind : kConversions)
      if (word == kind.name) return &kind;
  return nullptr;
}

void declare_convert(Flags& flags, const std::vector<std::string>& words) {
  flags.leave_out({"device", "verbose"});
  flags.integer("seed", 0, "of the order of the training records, and of what is held out");
  flags.text("output", "", "directory for the records; made when missing");
  flags.alias("output_dir", "output");
  flags.boolean("overwrite", false, "replace the records that are there already");
  flags.text("part", "", "I/N: make only part I, 0 to N-1; for workers that share the output directory and no more");
  flags.boolean("merge", false, "make what parts have left, and put all together");
  const Kind* named = kind_among(words);
  for (const Kind& kind : kConversions)
    if (!named || named == &kind) kind.declare(flags);
}

std::string convert_details() {
  return "`mpirun -n N tenon convert ..` shares the work among N processes; without a launcher, --part I/N makes one "
         "part of it, and\n"
         "--merge puts all together. The files are those of one process. What was killed goes on when the same is run "
         "again.\n";
}

void print_json(const Kind& kind, const ConvertSummary& summary, const std::string& output) {
  Json result("result");
  result.add("output", output);
  if (!summary.complete) result.add("complete", false);
  if (summary.vocab_file.empty())
    result.add("classes", static_cast<int64_t>(summary.labels.size()));
  else
    result.add("vocab_file", summary.vocab_file).add("vocab_size", summary.vocab_size);
  for (const ConvertSummary::Split& s : summary.splits) {
    Json split;
    split.add("records", s.records).add("files", static_cast<int64_t>(s.files.size())).add("bytes", s.bytes);
    for (const char* why : kind.left_out) split.add(why, s.of(why).count);
    if (kind.convert == convert_summary_files) split.add("shortened", s.shortened);
    result.raw(s.name, split.str());
  }
  print_line(result.str());
}

// "bad_images" -> "bad images"
std::string words_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void print_text(const ConvertSummary& summary, const std::string& output) {
  for (const ConvertSummary::Split& s : summary.splits) {
    print("%s: %s in %s, %s\n", s.name.c_str(), counted(s.records, "record").c_str(),
          counted(static_cast<int64_t>(s.files.size()), "file").c_str(),
          bytes_text(static_cast<double>(s.bytes)).c_str());
    if (s.shortened > 0) print("%s: %s shortened\n", s.name.c_str(), counted(s.shortened, "text").c_str());
    for (const ConvertSummary::LeftOut& l : s.left_out)
      print("%s: left out %s (%s), the first %s\n", s.name.c_str(), with_commas(l.count).c_str(),
            words_of(l.why).c_str(), l.first.c_str());
  }
  if (!summary.complete)
    print("of a part; --merge puts all parts together in %s\n", output.c_str());
  else if (summary.vocab_file.empty())
    print("%zu classes; records in %s\n", summary.labels.size(), output.c_str());
  else
    print("%s subtokens in %s; records in %s\n", with_commas(summary.vocab_size).c_str(), summary.vocab_file.c_str(),
          output.c_str());
}

int run_convert(const Flags& flags, const std::vector<std::string>& words) {
  const std::string& name = only_word(words, "kind of data", kind_names());
  watch_interrupts();
  set_stdout(Stdout::kLog);
  const Kind& kind = *kind_among({name});
  check(join_processes());
  check(expect_same_in_processes("the arguments", name + " " + flags.given_text()));
  const ConvertSummary summary = kind.convert(flags);
  if (flags.boolean("json"))
    print_json(kind, summary, flags.text("output"));
  else
    print_text(summary, flags.text("output"));
  return 0;
}

const char* convert_usage(const std::vector<std::string>& words) {
  const Kind* kind = kind_among(words);
  return kind ? kind->usage : nullptr;
}

}  // namespace

const Command kConvert{"convert",
                       "idx|images|translation|summaries|answers|text|table --output DIR [FLAGS]",
                       "Turns images, text and tables into TFRecord files",
                       declare_convert,
                       run_convert,
                       convert_usage,
                       convert_details};

}  // namespace tenon::runner
