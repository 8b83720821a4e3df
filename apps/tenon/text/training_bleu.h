// BLEU while a model trains: --bleu_source is translated at each evaluation and scored beside --bleu_ref.
#pragma once

#include "data/model_data.h"

namespace tenon::runner {

void add_bleu_flags(Flags& flags);
// Nothing where these flags are not given. Throws UsageError.
ModelData::Measure measure_bleu(const Flags& flags, const Params& params, const std::string& vocabulary);

}  // namespace tenon::runner
