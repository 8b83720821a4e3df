#include "text/trained.h"

#include "data/vocabulary.h"

namespace tenon::runner {

StrategyOptions strategy_options(const Flags& flags, const Params& params) {
  return {.seed = static_cast<uint64_t>(flags.integer("seed")),
          .dtype_policy = params.get<std::string>("dtype_policy", "float32"),
          .deterministic = flags.boolean("deterministic"),
          .soft_placement = flags.boolean("soft_placement")};
}

std::string vocabulary_path(const Flags& flags) {
  const std::string& given = flags.text("vocab_file");
  return given.empty() ? flags.required("model_dir") + "/" + kVocabularyFile : given;
}

Subtokenizer trained_vocabulary(const std::string& path, const Params& params) {
  Subtokenizer words = Subtokenizer::load(path).take();
  const auto expected = params.get<int64_t>("vocab_size");
  if (words.size() != expected)
    throw Error(Status(Code::kInvalid, path + " has " + std::to_string(words.size()) +
                                           " subtokens, and the model was trained with " + std::to_string(expected)));
  const std::string mark = params.get<std::string>("vocabulary", "");
  if (!mark.empty() && vocabulary_mark(words) != mark)
    throw Error(Status(Code::kInvalid, path + " has other subtokens than those that the model was trained with"));
  return words;
}

std::string trained_checkpoint(const Flags& flags) {
  const std::string& named = flags.text("checkpoint");
  return named.empty() ? flags.required("model_dir") : named;
}

void check_weights(const Strategy& strategy) {
  const WarmStartReport report = strategy.warm_started();
  for (const std::string& name : report.fresh)
    if (name != "draws" && !name.starts_with("decode/"))  // of the Strategy and of its Decoders
      throw Error(Status(Code::kInvalid, report.checkpoint + " lacks '" + name + "': it is of another model"));
}

}  // namespace tenon::runner
