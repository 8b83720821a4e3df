// tenon translate, tenon summarize: lines of text in one language to lines in another, documents to summaries, by a model that `tenon
// train transformer` made.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "data/pairs.h"
#include "model/model_run.h"
#include "process.h"
#include "tenon/atomic_file.h"
#include "text/trained.h"
#include "text/translator.h"

namespace tenon::runner {
namespace {

constexpr int64_t kMostTokens =
    1024;  // of a line, its end's among them: what attention keeps of it grows with the square

void declare_model_and_search(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  add_trained_flags(flags);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: that of the model directory");
  flags.integer("beam_size", 4, "texts that are followed; 1: the most probable token each time", 1, 64);
  flags.number("alpha", 0.6, "with more beams than one: how much longer texts are preferred", 0, 10);
  flags.integer("decode_batch_size", 32, "lines at a time", 1, 1 << 14);
  flags.number("temperature", 0, "with --beam_size 1: draw tokens, above 1 more freely; 0: the most probable", 0, 100);
  flags.integer("seed", 0, "of what is drawn");
  flags.integer("top_k", 0, "draw among so many most probable tokens; 0: all", 0, 1 << 24);
  flags.number("top_p", 1, "draw among the most probable tokens that have this probability together", 1e-6, 1);
  add_device_flags(flags);
}

void declare_translate(Flags& flags, const std::vector<std::string>& words) {
  flags.text("file", "",
             format("text to translate, a sentence a line, of which the first %ld tokens count; empty: standard input",
                    static_cast<long>(kMostTokens - 1)));
  flags.text("output", "", "file for the translations; empty: standard output");
  flags.integer("extra_decode_length", 50, "tokens that a translation may have more than its sentence", 1, 1 << 16);
  flags.boolean("padded_decode", false, "one program for all sentences, of --decode_max_length tokens each");
  flags.integer("decode_max_length", 97, "with --padded_decode", 2, kMostTokens);
  declare_model_and_search(flags, words);
}

void declare_summarize(Flags& flags, const std::vector<std::string>& words) {
  flags.text("file", "", "documents, one a line; empty: standard input");
  flags.text("output", "", "file for the summaries; empty: standard output");
  flags.integer("decode_max_length", 0, "tokens of a summary; 0: as those that the model was trained with", 0,
                kMostTokens);
  declare_model_and_search(flags, words);
}

bool summarizes(const Flags& flags) { return !flags.has("extra_decode_length"); }

void set_lengths(const Flags& flags, const Params& params, TranslatorOptions& options) {
  if (summarizes(flags)) {
    const int64_t trained = params.get<int64_t>("max_target_length"), given = flags.integer("decode_max_length");
    options.source_length = params.get<int64_t>("max_length");
    options.tells_of_cuts = false;
    options.target_length = given > 0 ? given : trained > 0 ? trained : options.source_length;
    return;
  }
  const bool padded = flags.boolean("padded_decode");
  if (flags.given("decode_max_length") && !padded) throw UsageError{"--decode_max_length needs --padded_decode"};
  options.source_length = kMostTokens;
  options.extra_length = flags.integer("extra_decode_length");
  options.padded_length = padded ? flags.integer("decode_max_length") : 0;
}

// Flags that contradict each other, or would do nothing.
void check_search(const Flags& flags) {
  const int64_t beams = flags.integer("beam_size");
  const bool draws = flags.number("temperature") > 0;
  for (const char* name : {"top_k", "top_p"})
    if (!draws && flags.given(name)) throw UsageError{format("--%s needs a --temperature above 0", name)};
  if (draws && beams > 1)
    throw UsageError{
        format("--temperature draws one text, expected --beam_size 1, found %ld", static_cast<long>(beams))};
  if (!draws && flags.given("seed"))
    throw UsageError{"--seed is of what is drawn, which needs a --temperature above 0"};
  if (beams == 1 && flags.given("alpha")) throw UsageError{"--alpha does nothing with --beam_size 1"};
}

TranslatorOptions options_of(const Flags& flags, const Params& params) {
  check_search(flags);
  TranslatorOptions options{.device = device_of(flags),
                            .strategy = strategy_options(flags, params),
                            .vocabulary = vocabulary_path(flags),
                            .source = flags.text("file"),
                            .search = {.beam_size = flags.integer("beam_size"),
                                       .alpha = flags.number("alpha"),
                                       .temperature = flags.number("temperature"),
                                       .top_k = flags.integer("top_k"),
                                       .top_p = flags.number("top_p")},
                            .batch = flags.integer("decode_batch_size")};
  set_lengths(flags, params, options);
  return options;
}

// Lines of standard input. Who waits for the next one can still be interrupted.
class StandardInput {
 public:
  bool next(std::string& line) {
    for (size_t seen = begin_;;) {
      const size_t end = buffer_.find('\n', seen);
      if (end == std::string::npos && !ended_) {
        seen = std::exchange(begin_, 0);
        buffer_.erase(0, seen);
        seen = buffer_.size();
        fill();
        continue;
      }
      if (begin_ == buffer_.size()) return false;
      line = buffer_.substr(begin_, end == std::string::npos ? end : end - begin_);
      begin_ = end == std::string::npos ? buffer_.size() : end + 1;
      return true;
    }
  }

 private:
  void fill() {
    char bytes[1 << 14];
    pollfd waits{STDIN_FILENO, POLLIN, 0};
    while (::poll(&waits, 1, 200) <= 0)
      if (interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      throw Error(Status(Code::kUnavailable, std::string("cannot read standard input: ") + std::strerror(errno)));
    ended_ = got == 0;
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
  }

  std::string buffer_;
  size_t begin_ = 0;  // of what was not given yet
  bool ended_ = false;
};

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
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (terminal_) print_prompt("> ");
    if (!(file_ ? static_cast<bool>(std::getline(*file_, line)) : input_.next(line))) {
      if (terminal_) print_prompt("\n");
      return false;
    }
    if (std::exchange(first_, false) && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    return true;
  }

 private:
  std::optional<std::ifstream> file_;
  StandardInput input_;
  bool terminal_, first_ = true;
};

// What a person wrote that is no text is said, and asked for again.
bool is_text(const Translator& translator, const Sentence& line) {
  const Status status = translator.check_text(line);
  if (!status.ok()) print_error(status.message());
  return status.ok();
}

// Where translations go.
class Product {
 public:
  Product(const Flags& flags, const char* made) : made_(made), json_(flags.boolean("json")) {
    if (!flags.text("output").empty()) file_ = AtomicFile::create_or_write(flags.text("output")).take();
  }
  bool is_terminal() const { return !file_ && !json_ && output_is_terminal(); }

  void put(const Sentence& line) {
    ++lines_;
    const std::string text = json_ ? Json(made_)
                                         .add("line", lines_)
                                         .add("source", line.source)
                                         .add(made_, line.translation)
                                         .add("score", line.score)
                                         .str()
                                   : line.translation;
    if (file_)
      check(file_->write(text + "\n"));
    else
      print_data(text);
  }

  // Tells how much went to a file, unless there is no more than that to tell.
  void end(int64_t tokens, double seconds, const char* verb) {
    if (!file_) return;
    check(file_->commit());
    if (json_) return;
    const std::string lines = counted(lines_, "line");
    if (tokens == 0) return print_line(lines + ", nothing to " + verb);
    print_line(format("%s, %s tokens in %s: %s tokens/s", lines.c_str(), with_commas(tokens).c_str(),
                      duration_text(seconds).c_str(), rate_text(static_cast<double>(tokens) / seconds).c_str()));
  }

 private:
  const char* made_;
  bool json_;
  std::optional<AtomicFile> file_;
  int64_t lines_ = 0;
};

// A person reads along: words appear as they are written, where none changes later.
void translate_visibly(Translator& translator, std::vector<Sentence>& lines) {
  for (Sentence& line : lines) {
    std::vector<Sentence> one{std::move(line)};
    GrowingText text;
    translator.translate(one, on_terminal(text));
    text.end(one[0].translation);
  }
}

int run_translate(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  const char* const verb = summarizes(flags) ? "summarize" : "translate";
  if (&model.kind() != &kPairs)
    throw UsageError{format("the model %s does not %s; transformer does", model.info().name, verb)};
  Source source(flags.text("file"));
  Product product(flags, summarizes(flags) ? "summary" : "translation");
  watch_interrupts();
  Translator translator(options_of(flags, model.params()), model.params());
  translator.load(trained_checkpoint(flags));
  const auto begun = std::chrono::steady_clock::now();
  const bool grows = source.is_terminal() && product.is_terminal() && flags.integer("beam_size") == 1;
  const size_t most = source.is_terminal() ? 1 : static_cast<size_t>(flags.integer("decode_batch_size")) * 16;
  int64_t read = 0;
  std::vector<Sentence> lines;
  for (bool more = true; more;) {
    lines.clear();
    for (std::string text; lines.size() < most && (more = source.next(text));) {
      lines.push_back({.source = text, .line = ++read});
      if (source.is_terminal() && !is_text(translator, lines.back())) lines.pop_back();
    }
    if (grows) {
      translate_visibly(translator, lines);
    } else {
      translator.translate(lines);
      for (const Sentence& line : lines) product.put(line);
    }
    if (interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
  }
  product.end(translator.tokens(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
              verb);
  return 0;
}

}  // namespace

std::unique_ptr<Translator> open_translator(const std::string& model_dir, const std::string& device, bool summarizes) {
  Flags flags;
  (summarizes ? declare_summarize : declare_translate)(flags, {});
  add_common_flags(flags);
  flags.parse({"--model_dir", model_dir, "--device", device});
  const ModelRun model(flags, {});
  if (&model.kind() != &kPairs)
    throw Error(Status(Code::kInvalid, format("%s: the model %s does not %s; transformer does", model_dir.c_str(),
                                              model.info().name, summarizes ? "summarize" : "translate")));
  auto translator = std::make_unique<Translator>(options_of(flags, model.params()), model.params());
  translator->load(trained_checkpoint(flags));
  return translator;
}

const Command kTranslate{
    .name = "translate",
    .arguments = "--model_dir DIR [--file FILE] [--output FILE] [FLAGS]",
    .summary = "Translates lines of text",
    .declare = declare_translate,
    .run = run_translate,
};

const Command kSummarize{
    .name = "summarize",
    .arguments = "--model_dir DIR [--file FILE] [--output FILE] [FLAGS]",
    .summary = "Summarizes documents, one a line",
    .declare = declare_summarize,
    .run = run_translate,
};

}  // namespace tenon::runner
