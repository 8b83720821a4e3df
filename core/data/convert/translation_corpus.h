// The parallel text that a conversion of translations reads, and the vocabulary that it needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/record/shards.h"
#include "data/text/pair_reader.h"
#include "tenon/convert.h"
#include "tenon/subtokenizer.h"

namespace tenon {

// Opens one file of pairs, or two files of lines, from its beginning.
using OpenPairs = std::function<Result<PairReaderPtr>()>;

Result<std::vector<OpenPairs>> training_pairs(const ConvertTranslationOptions& options);
Result<std::vector<OpenPairs>> dev_pairs(const ConvertTranslationOptions& options);

// Calls fn for each pair that is left, until fn gives false or an error. fn may take the pair's strings.
Status for_each_pair(PairReader& reader, const ConvertTranslationOptions& options,
                     const std::function<Result<bool>(TextPair& pair)>& fn);

// Read from options.vocab_file, or made from a sample of each file and side.
Result<Subtokenizer> translation_vocabulary(OutputSet& output, const ConvertTranslationOptions& options,
                                            const std::vector<OpenPairs>& files);

}  // namespace tenon
