#include "model/begin_with.h"

#include "process.h"
#include "tenon/checkpoint.h"
#include "tenon/weights_file.h"

namespace tenon::runner {

void add_weights_flags(Flags& flags) {
  flags.text("checkpoint", "", "prefix of a checkpoint, or a model directory; empty: the newest in model_dir");
  flags.text("weights", "",
             "a file of weights of other libraries in its place: .safetensors, .weights.h5, .keras, .h5, .pt, or a "
             "checkpoint; all of the model's have to be there");
  flags.text("rules", "", "with --weights: a file of rules that give its tensors other names and axes");
}

std::optional<WarmStartSettings> weights_of(const Flags& flags) {
  const std::string& file = flags.text("weights");
  if (file.empty() && flags.given("rules")) throw UsageError{"--rules needs --weights FILE"};
  if (file.empty()) return std::nullopt;
  if (flags.given("checkpoint")) throw UsageError{"--weights and --checkpoint exclude each other"};
  return WarmStartSettings{
      .ckpt_to_initialize_from = file,
      .vars_to_warm_start = {std::vector<std::string>{".*"}, VarsToWarmStart::Among::kWeights},
      .rules = flags.text("rules"),
      .skip_mismatch = true};  // what does not fit is an error of evaluation and prediction all the same
}

bool names_weights(const Flags& flags) { return weights_of(flags) || !flags.text("checkpoint").empty(); }

Estimator estimator_with_weights(const ModelRun& model, const Flags& flags) {
  const std::optional<WarmStartSettings> weights = weights_of(flags);
  RunConfig config = model.run_config();
  if (weights) config.begins_trained = true, config.model_dir.clear();  // no checkpoint of that
  return model.estimator(config, weights);
}

int64_t step_of_weights(const Flags& flags, const Estimator& estimator) {
  const std::string& named = flags.text("checkpoint");
  if (!flags.text("weights").empty() || (!named.empty() && !names_checkpoint(named))) return 0;
  return named.empty() ? estimator.global_step().take() : CheckpointFile::open(named).take().global_step().take();
}

}  // namespace tenon::runner
