// Texts, and what belongs to them: translations, summaries, answers.
#include <algorithm>
#include <cctype>

#include "convert/convert_kind.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

// `what` is held out, and a vocabulary made from a part of each of `from`.
void declare_text_flags(Flags& flags, const ConvertTextOptions& d, const char* what, const char* from) {
  flags.number("dev_fraction", d.dev_fraction, format("of the %s that are held out where there are no dev files", what),
               1e-6, 0.5);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: made from the training text");
  flags.integer("vocab_size", d.vocab_size, "subtokens of the vocabulary that is made, about", 64, 1 << 24);
  flags.integer("vocab_sample", d.vocab_sample, format("characters of each %s that it is made from", from), 1000, 1e12);
  flags.integer("train_shards", d.train_shards, "files of training records", 1, 99999);
}

// Where there are files of `dev`, nothing is held out; where there is a vocabulary, none is made.
void read_text_flags(const Flags& flags, bool dev, ConvertTextOptions& options) {
  if (dev && flags.given("dev_fraction")) throw UsageError{"--dev_fraction and dev files exclude each other"};
  options.dev_fraction = flags.number("dev_fraction");
  options.vocab_file = flags.text("vocab_file");
  for (const char* made : {"vocab_size", "vocab_sample"})
    if (!options.vocab_file.empty() && flags.given(made))
      throw UsageError{format("--%s and --vocab_file exclude each other", made)};
  options.vocab_size = flags.integer("vocab_size"), options.vocab_sample = flags.integer("vocab_sample");
  options.train_shards = flags.integer("train_shards");
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

void declare_translation(Flags& flags) {
  const ConvertTranslationOptions d;
  flags.text("source", "", "text files, FILE,FILE..: a sentence a line");
  flags.text("target", "", "their translations, file for file and line for line");
  flags.text("pairs", "", "files that hold both: .tsv ('source<TAB>target' lines), .mo (gettext), .tmx");
  flags.text("source_language", d.source_language, "what .tmx files call it, and the vocabulary's name");
  flags.text("target_language", d.target_language, "the same of the translations");
  for (const char* name : {"source", "target", "pairs"})
    flags.text(std::string("dev_") + name, "", std::string("--") + name + " for evaluation");
  declare_text_flags(flags, d, "pairs", "file and side");
  flags.integer("max_length", d.max_length, "leave out pairs with a side of more tokens", 2, 1 << 20);
  flags.number("max_ratio", d.max_ratio, "leave out pairs where a side has so many times the other's tokens; 0: none",
               0, 1e6);
}

ConvertSummary convert_translation_files(const Flags& flags) {
  ConvertTranslationOptions options;
  read_common(flags, options);
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
  for (const char* name : {"source_language", "target_language"}) {
    const std::string& tag = flags.text(name);
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '-'; };
    if (tag.empty() || !std::all_of(tag.begin(), tag.end(), is_plain))
      throw UsageError{format("--%s is '%s', expected one like en or pt-BR", name, tag.c_str())};
  }
  options.source_language = flags.text("source_language"), options.target_language = flags.text("target_language");
  read_text_flags(flags, dev, options);
  options.max_length = flags.integer("max_length"), options.max_ratio = flags.number("max_ratio");
  return convert_translation(options, process_pool()).take();
}

void declare_summaries(Flags& flags) {
  const ConvertTranslationOptions d;
  flags.text("pairs", "",
             "files of documents and their summaries, FILE,FILE..: .tsv ('document<TAB>summary' lines), .jsonl "
             "({\"document\": .., \"summary\": ..} lines)");
  flags.text("dev_pairs", "", "the same for evaluation");
  declare_text_flags(flags, d, "documents", "file and side");
  flags.integer("max_length", d.max_length, "tokens of a document; of a longer one the first are taken", 2, 1 << 16);
  flags.integer("max_target_length", 64, "leave out summaries of more tokens", 2, 1 << 16);
}

ConvertSummary convert_summary_files(const Flags& flags) {
  ConvertTranslationOptions options;
  read_common(flags, options);
  flags.required("pairs");
  options.pairs = list_of(flags, "pairs"), options.dev_pairs = list_of(flags, "dev_pairs");
  for (const auto* files : {&options.pairs, &options.dev_pairs})
    expect_ends(*files, {".tsv", ".jsonl"}, "documents and summaries");
  read_text_flags(flags, !options.dev_pairs.empty(), options);
  options.vocab_stem = "summaries";
  options.max_length = flags.integer("max_length"), options.max_target_length = flags.integer("max_target_length");
  if (options.max_target_length > options.max_length)
    throw UsageError{format("--max_target_length is %ld, expected at most --max_length, %ld",
                            static_cast<long>(options.max_target_length), static_cast<long>(options.max_length))};
  options.max_ratio = 0;
  options.cut_source = true;
  return convert_translation(options, process_pool()).take();
}

void declare_answers(Flags& flags) {
  const ConvertAnswersOptions d;
  flags.text("train", "", "files of SQuAD's JSON, version 1.1 or 2.0, FILE,FILE..");
  flags.text("dev", "", "the same for evaluation");
  declare_text_flags(flags, d, "paragraphs", "file's texts, and of its questions,");
  flags.integer("max_length", d.max_length, "tokens of a question and a window of its text", 8, 1 << 16);
  flags.integer("doc_stride", d.doc_stride, "tokens from one window of a longer text to the next", 1, 1 << 16);
}

ConvertSummary convert_answer_files(const Flags& flags) {
  ConvertAnswersOptions options;
  read_common(flags, options);
  flags.required("train");
  options.train = list_of(flags, "train"), options.dev = list_of(flags, "dev");
  read_text_flags(flags, !options.dev.empty(), options);
  options.max_length = flags.integer("max_length"), options.doc_stride = flags.integer("doc_stride");
  return convert_answers(options, process_pool()).take();
}

void declare_text(Flags& flags) {
  const ConvertLinesOptions d;
  flags.text("input", "", "text files, FILE,FILE..");
  flags.text("dev", "", "the same for evaluation");
  declare_text_flags(flags, d, "records", "file");
  flags.integer("max_length", d.max_length, "tokens of a record", 2, 1 << 16);
}

ConvertSummary convert_text_files(const Flags& flags) {
  ConvertLinesOptions options;
  read_common(flags, options);
  flags.required("input");
  options.input = list_of(flags, "input"), options.dev = list_of(flags, "dev");
  read_text_flags(flags, !options.dev.empty(), options);
  options.max_length = flags.integer("max_length");
  return convert_lines(options, process_pool()).take();
}

}  // namespace

const ConvertKind kConvertTranslation{
    "translation",
    "translation --source FILE.. --target FILE.. --output DIR [--dev_source FILE.. --dev_target FILE..] [FLAGS]",
    declare_translation,
    convert_translation_files,
    {"empty", "not_utf8", "nul_byte", "no_tab", "too_long", "unequal"}};
const ConvertKind kConvertSummaries{"summaries",
                                    "summaries --pairs FILE.. --output DIR [--dev_pairs FILE..] [FLAGS]",
                                    declare_summaries,
                                    convert_summary_files,
                                    {"empty", "not_utf8", "nul_byte", "no_tab", "too_long"},
                                    true};
const ConvertKind kConvertAnswers{"answers",
                                  "answers --train FILE.json.. --output DIR [--dev FILE.json..] [FLAGS]",
                                  declare_answers,
                                  convert_answer_files,
                                  {"empty", "misplaced", "cut"}};
const ConvertKind kConvertText{"text",
                               "text --input FILE.. --output DIR [--dev FILE..] [FLAGS]",
                               declare_text,
                               convert_text_files,
                               {"not_utf8", "nul_byte"}};

}  // namespace tenon::runner
