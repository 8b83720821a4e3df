// tenon translate: lines of text in one language to lines in another, by a model that `tenon train transformer` made.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>

#include "data/pairs.h"
#include "model_run.h"
#include "process.h"
#include "tenon/atomic_file.h"
#include "tenon/decoding.h"
#include "tenon/subtokenizer.h"

namespace tenon::runner {
namespace {

constexpr int64_t kMostTokens = 1024;  // of a line

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
  flags.integer("decode_max_length", 97, "with --padded_decode", 2, kMostTokens);
  flags.integer("decode_batch_size", 32, "sentences at a time", 1, 1 << 14);
  flags.number("temperature", 0, "with --beam_size 1: draw tokens, above 1 more freely; 0: the most probable", 0, 100);
  flags.integer("top_k", 0, "draw among so many most probable tokens; 0: all", 0, 1 << 24);
  flags.number("top_p", 1, "draw among the most probable tokens that have this probability together", 1e-6, 1);
  add_device_flags(flags);
}

// One line, on its way.
struct Line {
  std::string source, translation;
  std::vector<int32_t> ids;
  double score = 0;
};

class Translator {
 public:
  Translator(const Flags& flags, const ModelRun& model)
      : flags_(flags),
        strategy_(device_of(flags), {.seed = static_cast<uint64_t>(flags.integer("seed"))}),
        params_(model.params()),
        words_(words_of(flags)) {
    if (words_.size() != params_.get<int64_t>("vocab_size"))
      throw Error(Status(Code::kInvalid, format("the vocabulary has %ld subtokens, and the model was trained with %ld",
                                                static_cast<long>(words_.size()),
                                                static_cast<long>(params_.get<int64_t>("vocab_size")))));
    const std::string& checkpoint = flags.text("checkpoint");
    strategy_.warm_start({.ckpt_to_initialize_from = checkpoint.empty() ? flags.required("model_dir") : checkpoint});
  }

  const Strategy& strategy() const { return strategy_; }
  int64_t tokens() const { return tokens_; }

  // Gives each its translation.
  void translate(std::vector<Line>& lines) {
    for (Line& line : lines) encode(line);
    std::vector<size_t> order;  // of those that say something
    for (size_t i = 0; i < lines.size(); ++i)
      if (lines[i].ids.size() > 1) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return lines[a].ids.size() < lines[b].ids.size(); });
    const auto most = static_cast<size_t>(flags_.integer("decode_batch_size"));
    for (size_t at = 0; at < order.size(); at += most) {
      if (interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
      translate(lines, std::span(order).subspan(at, std::min(most, order.size() - at)));
    }
  }

 private:
  static Subtokenizer words_of(const Flags& flags) {
    const std::string& file = flags.text("vocab_file");
    return Subtokenizer::load(file.empty() ? flags.required("model_dir") + "/" + kVocabularyFile : file).take();
  }

  void encode(Line& line) {
    line.ids.clear();
    check(words_.encode(line.source, line.ids));
    const auto most =
        static_cast<size_t>(flags_.boolean("padded_decode") ? flags_.integer("decode_max_length") : kMostTokens);
    if (line.ids.size() >= most) {
      print_error(format("a line of %zu tokens is cut to %zu", line.ids.size(), most - 1));
      line.ids.resize(most - 1);
    }
    line.ids.push_back(Subtokenizer::kEos);
  }

  // Sizes of programs: few, so that they are compiled once.
  static int64_t bucket(int64_t tokens) {
    int64_t size = 16;
    while (size < tokens) size += std::max<int64_t>(size / 4, 8);
    return size;
  }

  Decoder& decoder(int64_t length, int64_t max_length) {
    const auto found = decoders_.find(length);
    if (found != decoders_.end()) return found->second;
    const DecodeOptions options{.max_length = max_length,
                                .eos = Subtokenizer::kEos,
                                .beam_size = flags_.integer("beam_size"),
                                .alpha = flags_.number("alpha"),
                                .temperature = flags_.number("temperature"),
                                .top_k = flags_.integer("top_k"),
                                .top_p = flags_.number("top_p")};
    return decoders_.emplace(length, models::translator(strategy_, params_, options)).first->second;
  }

  void translate(std::vector<Line>& lines, std::span<const size_t> which) {
    const bool padded = flags_.boolean("padded_decode");
    const auto longest = static_cast<int64_t>(lines[which.back()].ids.size());
    const int64_t extra = flags_.integer("extra_decode_length");
    const int64_t length = padded ? flags_.integer("decode_max_length") : bucket(longest);
    const int64_t max_length = padded ? length : length + extra;
    const int64_t rows = padded ? flags_.integer("decode_batch_size") : bucket(static_cast<int64_t>(which.size()));
    const int64_t batch = std::min(rows, flags_.integer("decode_batch_size"));
    std::vector<int32_t> ids(static_cast<size_t>(batch * length), 0);
    for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
      const Line& line = lines[which[std::min(i, which.size() - 1)]];
      std::copy(line.ids.begin(), line.ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(i) * length);
    }
    Decoder& decode = decoder(length, max_length);
    const Decoded found = decode({{"inputs", Array(ids, {batch, length})}}, std::min(max_length, longest + extra));
    const std::vector<int32_t> all = found.ids.to<int32_t>();
    const std::vector<double> scores = found.scores.to<double>();
    const auto beams = static_cast<size_t>(flags_.integer("beam_size"));
    for (size_t i = 0; i < which.size(); ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * beams) * max_length;
      const auto ends = [](int32_t id) { return id == Subtokenizer::kEos || id == Subtokenizer::kPad; };
      const auto end = std::find_if(begin, begin + max_length, ends);
      tokens_ += end - begin;
      lines[which[i]].translation = words_.decode(std::vector<int32_t>(begin, end));
      lines[which[i]].score = scores[i * beams];
    }
  }

  const Flags& flags_;
  Strategy strategy_;
  Params params_;
  Subtokenizer words_;
  std::map<int64_t, Decoder> decoders_;
  int64_t tokens_ = 0;
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
  Translator translator(flags, model);
  const auto begun = std::chrono::steady_clock::now();
  const bool json = flags.boolean("json");
  const size_t most = source.is_terminal() ? 1 : static_cast<size_t>(flags.integer("decode_batch_size")) * 16;
  int64_t number = 0;
  std::vector<Line> lines;
  for (bool more = true; more;) {
    lines.clear();
    for (std::string text; lines.size() < most && (more = source.next(text));) lines.push_back({text, {}, {}, 0});
    translator.translate(lines);
    for (const Line& line : lines) {
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
