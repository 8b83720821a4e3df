// tenon translate: lines of text in one language to lines in another, by a model that `tenon train transformer` made.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>

#include "data/pairs.h"
#include "model_run.h"
#include "process.h"
#include "tenon/atomic_file.h"
#include "text/trained.h"
#include "text/translator.h"

namespace tenon::runner {
namespace {

void declare_translate(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  flags.text("model_dir", "", "directory of the model; its newest checkpoint is taken");
  flags.text("checkpoint", "", "prefix of another checkpoint");
  flags.text("vocab_file", "", "subtoken vocabulary; empty: that of the model directory");
  flags.text("file", "", "text to translate, a sentence a line; empty: standard input");
  flags.text("output", "", "file for the translations; empty: standard output");
  flags.integer("beam_size", 4, "translations that are followed; 1: the most probable token each time", 1, 64);
  flags.number("alpha", 0.6, "how much longer translations are preferred", 0, 10);
  flags.integer("extra_decode_length", 50, "tokens that a translation may have more than its sentence", 1, 1 << 16);
  flags.boolean("padded_decode", false, "one program for all sentences, of --decode_max_length tokens each");
  flags.integer("decode_max_length", 97, "with --padded_decode", 2, 1024);
  flags.integer("decode_batch_size", 32, "sentences at a time", 1, 1 << 14);
  flags.number("temperature", 0, "with --beam_size 1: draw tokens, above 1 more freely; 0: the most probable", 0, 100);
  flags.integer("top_k", 0, "draw among so many most probable tokens; 0: all", 0, 1 << 24);
  flags.number("top_p", 1, "draw among the most probable tokens that have this probability together", 1e-6, 1);
  add_device_flags(flags);
}

TranslatorOptions options_of(const Flags& flags, const Params& params) {
  const std::string& file = flags.text("vocab_file");
  const bool padded = flags.boolean("padded_decode");
  if (flags.given("decode_max_length") && !padded) throw UsageError{"--decode_max_length needs --padded_decode"};
  if (flags.number("temperature") == 0)
    for (const char* name : {"top_k", "top_p"})
      if (flags.given(name)) throw UsageError{format("--%s needs a --temperature above 0", name)};
  return {.device = device_of(flags),
          .strategy = strategy_options(flags, params),
          .vocabulary = file.empty() ? flags.required("model_dir") + "/" + kVocabularyFile : file,
          .search = {.beam_size = flags.integer("beam_size"),
                     .alpha = flags.number("alpha"),
                     .temperature = flags.number("temperature"),
                     .top_k = flags.integer("top_k"),
                     .top_p = flags.number("top_p")},
          .extra_length = flags.integer("extra_decode_length"),
          .padded_length = padded ? flags.integer("decode_max_length") : 0,
          .batch = flags.integer("decode_batch_size")};
}

// Where lines come from.
class Source {
 public:
  explicit Source(const std::string& path) : terminal_(path.empty() && ::isatty(STDIN_FILENO)) {
    if (path.empty()) return;
    file_.emplace(path);
    if (!*file_) throw Error(Status(Code::kUnavailable, "--file: cannot read '" + path + "'"));
  }
  // A person waits for each line.
  bool is_terminal() const { return terminal_; }
  bool next(std::string& line) {
    if (!std::getline(file_ ? *file_ : std::cin, line)) return false;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  }

 private:
  std::optional<std::ifstream> file_;
  bool terminal_;
};

int run_translate(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  if (&model.kind() != &kPairs)
    throw UsageError{format("the model %s does not translate; transformer does", model.info().name)};
  Source source(flags.text("file"));
  std::optional<AtomicFile> output;
  if (!flags.text("output").empty()) output = AtomicFile::create_or_write(flags.text("output")).take();
  watch_interrupts();
  Translator translator(options_of(flags, model.params()), model.params());
  translator.load(trained_checkpoint(flags));
  const auto begun = std::chrono::steady_clock::now();
  const bool json = flags.boolean("json");
  const size_t most = source.is_terminal() ? 1 : static_cast<size_t>(flags.integer("decode_batch_size")) * 16;
  int64_t number = 0;
  std::vector<Sentence> lines;
  for (bool more = true; more;) {
    lines.clear();
    for (std::string text; lines.size() < most && (more = source.next(text));) lines.push_back({text, {}, {}, 0});
    translator.translate(lines);
    for (const Sentence& line : lines) {
      ++number;
      const std::string text = json ? Json("translation")
                                          .add("line", number)
                                          .add("source", line.source)
                                          .add("translation", line.translation)
                                          .add("score", line.score)
                                          .str()
                                    : line.translation;
      if (output)
        check(output->write(text + "\n"));
      else
        print_data(text);
    }
  }
  if (output) check(output->commit());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (output && !json)
    print_line(format("%s, %s tokens in %s: %s tokens/s", counted(number, "line").c_str(),
                      with_commas(translator.tokens()).c_str(), duration_text(seconds).c_str(),
                      rate_text(static_cast<double>(translator.tokens()) / seconds).c_str()));
  return 0;
}

}  // namespace

const Command kTranslate{
    .name = "translate",
    .arguments = "--model_dir DIR [--file FILE] [--output FILE] [FLAGS]",
    .summary = "Translates lines of text",
    .declare = declare_translate,
    .run = run_translate,
};

}  // namespace tenon::runner
