#include "text/training_bleu.h"

#include <optional>

#include "command.h"
#include "tenon/summary.h"
#include "tenon/text_metrics.h"
#include "text/lines.h"
#include "text/trained.h"
#include "text/translator.h"

namespace tenon::runner {
namespace {

using Scores = std::vector<std::pair<std::string, double>>;

class TrainingBleu {
 public:
  TrainingBleu(const Flags& flags, const Params& params, const std::string& vocabulary)
      : model_dir_(flags.required("model_dir")),
        saves_(flags.integer("save_summary_steps") > 0),
        options_{.device = device_of(flags),
                 .strategy = strategy_options(flags, params),
                 .vocabulary = vocabulary,
                 .source = flags.required("bleu_source")},
        params_(params),
        references_(read_lines(flags.required("bleu_ref"))) {
    for (std::string& text : read_lines(flags.required("bleu_source")))
      lines_.push_back({.source = std::move(text), .line = static_cast<int64_t>(lines_.size()) + 1});
    if (lines_.size() != references_.size())
      throw UsageError{format("--bleu_source has %zu lines and --bleu_ref %zu", lines_.size(), references_.size())};
  }

  // Its programs are gone when training goes on: they have a copy of the weights.
  Scores operator()(int64_t step) {
    Translator translator(options_, params_);
    translator.load(model_dir_);
    translator.translate(lines_);
    TextLines found;
    for (const Sentence& line : lines_) found.push_back(line.translation);
    const auto score = [&](bool lowercase) {
      return bleu(references_, found, {BleuTokenizer::kMteval14, lowercase}).take().score;
    };
    const Scores scores{{"bleu_uncased", score(true)}, {"bleu_cased", score(false)}};
    if (saves_) save(scores, step);
    return scores;
  }

 private:
  // In a directory of its own, as TensorFlow's Transformer has it.
  void save(const Scores& scores, int64_t step) {
    if (!summaries_) summaries_.emplace(model_dir_ + "/bleu");
    summaries_->scalars({scores.begin(), scores.end()}, step);
  }

  std::string model_dir_;
  bool saves_;
  std::optional<SummaryWriter> summaries_;
  TranslatorOptions options_;
  Params params_;
  TextLines references_;
  std::vector<Sentence> lines_;
};

}  // namespace

void add_bleu_flags(Flags& flags) {
  flags.text("bleu_source", "",
             "text to translate at each evaluation, a sentence a line; BLEU goes to MODEL_DIR/bleu too, with "
             "--save_summary_steps");
  flags.text("bleu_ref", "", "its translation by a person, for BLEU of that");
}

ModelData::Measure measure_bleu(const Flags& flags, const Params& params, const std::string& vocabulary) {
  const bool source = !flags.text("bleu_source").empty(), reference = !flags.text("bleu_ref").empty();
  if (source != reference) throw UsageError{"--bleu_source and --bleu_ref need each other"};
  if (!source) return {};
  if (!flags.boolean("evaluate")) throw UsageError{"--bleu_source is for evaluations, which --noevaluate leaves out"};
  if (vocabulary.empty()) throw UsageError{"--bleu_source needs a vocabulary: --vocab_file, or that of --data_dir"};
  return TrainingBleu(flags, params, vocabulary);
}

}  // namespace tenon::runner
