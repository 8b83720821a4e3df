// What runs a model of text after its training: its vocabulary and its weights.
#pragma once

#include <string>

#include "flags.h"
#include "tenon/params.h"
#include "tenon/strategy.h"
#include "tenon/subtokenizer.h"

namespace tenon::runner {

// As the flags of a run say it.
StrategyOptions strategy_options(const Flags& flags, const Params& params);
// --vocab_file, or else that of --model_dir.
std::string vocabulary_path(const Flags& flags);
// Throws Error where it is not the one that the model, of these parameters, was trained with.
Subtokenizer trained_vocabulary(const std::string& path, const Params& params);
// That of --checkpoint, or the newest one of --model_dir.
std::string trained_checkpoint(const Flags& flags);
// Weights that have begun anew are an error: the checkpoint is another model's. Call it once a function has made them.
void check_weights(const Strategy& strategy);

}  // namespace tenon::runner
