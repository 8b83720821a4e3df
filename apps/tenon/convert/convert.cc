// tenon convert idx | images | translation | summaries | answers | text | table: data to TFRecord files, ahead of training; and
// weights: a file of them in another format.
#include <algorithm>

#include "convert/convert_kind.h"
#include "convert/convert_weights.h"
#include "process.h"

namespace tenon::runner {
namespace {

const ConvertKind* const kConversions[] = {&kConvertIdx,     &kConvertImages, &kConvertTranslation, &kConvertSummaries,
                                           &kConvertAnswers, &kConvertText,   &kConvertTable};

std::vector<std::string> kind_names() {
  std::vector<std::string> out;
  for (const ConvertKind* kind : kConversions) out.push_back(kind->name);
  return out;
}

const ConvertKind* kind_among(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    for (const ConvertKind* kind : kConversions)
      if (word == kind->name) return kind;
  return nullptr;
}

void declare_convert(Flags& flags, const std::vector<std::string>& words) {
  if (is_weights(words)) {
    declare_convert_weights(flags);
    return;
  }
  flags.leave_out({"device", "verbose"});
  flags.integer("seed", 0, "of the order of the training records, and of what is held out");
  flags.text("output", "", "directory for the records; made when missing");
  flags.alias("output_dir", "output");
  flags.boolean("overwrite", false, "replace the records that are there already");
  flags.text("part", "", "I/N: make only part I, 0 to N-1; for workers that share the output directory and no more");
  flags.boolean("merge", false, "make what parts have left, and put all together");
  const ConvertKind* named = kind_among(words);
  for (const ConvertKind* kind : kConversions)
    if (!named || named == kind) kind->declare(flags);
}

std::string convert_details(const std::vector<std::string>& /*words*/) {
  return "`mpirun -n N tenon convert ..` shares the work among N processes; without a launcher, --part I/N makes one "
         "part of it, and\n"
         "--merge puts all together. The files are those of one process. What was killed goes on when the same is run "
         "again.\n";
}

void print_json(const ConvertKind& kind, const ConvertSummary& summary, const std::string& output) {
  Json result("result");
  result.add("output", output);
  if (!summary.complete) result.add("complete", false);
  if (summary.vocab_file.empty())
    result.add("classes", static_cast<int64_t>(summary.labels.size()));
  else
    result.add("vocab_file", summary.vocab_file).add("vocab_size", summary.vocab_size);
  if (!summary.notices.empty()) {
    std::string lines;
    for (const std::string& notice : summary.notices)
      lines += (lines.empty() ? "" : ", ") + Json().add("message", notice).str();
    result.raw("notices", json_list(lines));
  }
  if (!summary.single_images.empty()) result.add("single_images", std::ssize(summary.single_images));
  for (const ConvertSummary::Split& s : summary.splits) {
    Json split;
    split.add("records", s.records).add("files", static_cast<int64_t>(s.files.size())).add("bytes", s.bytes);
    for (const char* why : kind.left_out) split.add(why, s.of(why).count);
    if (kind.shortens) split.add("shortened", s.shortened);
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
  for (const std::string& notice : summary.notices) print_line(notice);
  for (const ConvertSummary::Split& s : summary.splits) {
    print("%s: %s in %s, %s\n", s.name.c_str(), counted(s.records, "record").c_str(),
          counted(static_cast<int64_t>(s.files.size()), "file").c_str(),
          bytes_text(static_cast<double>(s.bytes)).c_str());
    if (s.shortened > 0) print("%s: %s shortened\n", s.name.c_str(), counted(s.shortened, "text").c_str());
    for (const ConvertSummary::LeftOut& l : s.left_out)
      print("%s: left out %s (%s), the first %s\n", s.name.c_str(), with_commas(l.count).c_str(),
            words_of(l.why).c_str(), l.first.c_str());
  }
  if (const int64_t single = std::ssize(summary.single_images); single > 0)
    print("train: %s %s with one image, of which none is held out, the first %s\n", with_commas(single).c_str(),
          single == 1 ? "class" : "classes", summary.single_images[0].c_str());
  if (!summary.complete)
    print("of a part; --merge puts all parts together in %s\n", output.c_str());
  else if (summary.vocab_file.empty())
    print("%zu classes; records in %s\n", summary.labels.size(), output.c_str());
  else
    print("%s subtokens in %s; records in %s\n", with_commas(summary.vocab_size).c_str(), summary.vocab_file.c_str(),
          output.c_str());
}

int run_convert(const Flags& flags, const std::vector<std::string>& words) {
  if (is_weights(words)) return convert_weights(flags, words);
  const std::string& name = only_word(words, "kind of data", kind_names());
  watch_interrupts();
  set_stdout(Stdout::kLog);
  const ConvertKind& kind = *kind_among({name});
  meet_processes();
  const ConvertSummary summary = kind.convert(flags);
  if (flags.boolean("json"))
    print_json(kind, summary, flags.text("output"));
  else
    print_text(summary, flags.text("output"));
  return 0;
}

const char* convert_usage(const std::vector<std::string>& words) {
  if (is_weights(words)) return "weights FILE OUTPUT [--rules FILE] [--all]";
  const ConvertKind* kind = kind_among(words);
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
