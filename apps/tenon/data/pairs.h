// What a model directory of a model of pairs has beside its checkpoints.
#pragma once

namespace tenon::runner {

constexpr const char* kVocabularyFile = "vocab.subtokens";

}  // namespace tenon::runner
