#include "train/train_flags.h"

#include "model/model_run.h"
#include "train/train_profile.h"
#include "train/train_summaries.h"

namespace tenon::runner {

void declare_train(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  add_training_flags(flags, words);
  add_data_flags(flags, words);
  add_train_data_flags(flags, words);
  add_eval_flags(flags);
  add_run_flags(flags);
  add_count_flag(flags, words, "num_train", "examples in an epoch, for the log; 0: as many as there are");
  flags.integer("steps_between_evals", 1000, "steps after which it evaluates", 1, 1e15);
  flags.boolean("evaluate", true, "evaluate; --noevaluate only trains, and takes no flags about evaluations");
  flags.integer("save_checkpoints_steps", 0, "with --model_dir: steps between checkpoints; 0: by time", 0, 1e15);
  flags.number("save_checkpoints_secs", 600, "with --model_dir: seconds between checkpoints; 0: only at the end", 0,
               1e9);
  flags.integer("keep_checkpoint_max", 5, "with --model_dir: newest checkpoints to keep; 0: all", 0, 1e6);
  flags.integer("log_step_count_steps", 100,
                "steps between lines of the log, which come every ten seconds too; unless given once a second at most",
                0, 1e15);
  flags.boolean("quiet", false, "print the result alone");
  flags.text("warm_start_from", "",
             "begin with the values that this checkpoint has: a prefix, a directory, a file .safetensors, .weights.h5, "
             ".keras, .h5 or .pt; one in model_dir wins");
  flags.alias("warm_start", "warm_start_from");
  flags.alias("weights", "warm_start_from");
  flags.text(
      "rules", "",
      "with --warm_start_from: a file of rules that give its tensors other names and axes, as those of PyTorch need");
  flags.text("vars_to_warm_start", ".*",
             "with --warm_start_from: of weights whose names begin with a match of this "
             "regular expression");
  flags.text("var_name_to_prev_var_name", "",
             "with --warm_start_from: NAME=ITS_NAME_THERE,..; names that end with / stand for all below them");
  flags.boolean("skip_mismatch", false, "with --warm_start_from: weights that have another shape there begin anew");
  flags.number("keep_checkpoint_every_n_hours", 10000,
               "with --model_dir: hours after which one more is kept for good; 0: none", 0, 1e9);
  flags.boolean("async_checkpoints", false, "with --model_dir: write checkpoints while training goes on");
  flags.text("export", "none",
             "write MODEL_DIR/export/NAME/VERSION for what serves it: latest after each evaluation, final after the "
             "last one (as exporter), best after one with the smallest loss so far (as best_exporter)",
             {"none", "latest", "final", "best"});
  flags.integer("exports_to_keep", 5, "newest versions of --export latest and best; 0: all", 0, 1 << 30);
  add_summary_flags(flags);
  add_profile_flags(flags);
}

void expect_effects(const Flags& flags) {
  if (flags.text("model_dir").empty())
    for (const char* name : {"save_checkpoints_steps", "save_checkpoints_secs", "keep_checkpoint_max",
                             "keep_checkpoint_every_n_hours", "async_checkpoints", "save_summary_steps"})
      if (flags.given(name)) throw UsageError{format("--%s needs --model_dir", name)};
  if (!flags.boolean("evaluate"))
    for (const char* name :
         {"steps_between_evals", "eval_batch_size", "num_eval_examples", "eval_data_path", "eval_drop_remainder"})
      if (flags.given(name)) throw UsageError{format("--%s and --noevaluate exclude each other", name)};
}

}  // namespace tenon::runner
