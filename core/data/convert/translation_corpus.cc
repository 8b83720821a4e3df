#include "data/convert/translation_corpus.h"

#include <algorithm>

#include "base/strings.h"
#include "data/convert/text_records.h"
#include "text/unicode.h"

namespace tenon {
namespace {

constexpr int64_t kPairsBetweenQuestions = 4096;

Result<OpenPairs> open_pair_file(const std::string& path, const ConvertTranslationOptions& o) {
  if (path.ends_with(".tsv")) return OpenPairs([path] { return read_tsv_pairs(path); });
  if (path.ends_with(".mo")) return OpenPairs([path] { return read_mo_pairs(path); });
  if (path.ends_with(".tmx"))
    return OpenPairs(
        [path, from = o.source_language, to = o.target_language] { return read_tmx_pairs(path, from, to); });
  if (path.ends_with(".jsonl")) return OpenPairs([path] { return read_jsonl_pairs(path, "document", "summary"); });
  return invalid(path, ": expected a file of pairs whose name ends with .tsv, .mo, .tmx or .jsonl");
}

Result<std::vector<OpenPairs>> pair_files(const std::vector<std::string>& source,
                                          const std::vector<std::string>& target, const std::vector<std::string>& pairs,
                                          const ConvertTranslationOptions& o) {
  if (source.size() != target.size())
    return invalid("there are ", source.size(), " files of source sentences and ", target.size(),
                   " of target sentences, expected one for each");
  std::vector<OpenPairs> out;
  for (size_t i = 0; i < source.size(); ++i)
    out.push_back([s = source[i], t = target[i]] { return read_line_pairs(s, t); });
  for (const std::string& path : pairs) {
    TENON_ASSIGN(OpenPairs open, open_pair_file(path, o));
    out.push_back(std::move(open));
  }
  return out;
}

// What is no text is passed over, as it is left out of the records.
void count_line(std::string& text, LineSampler& sampler) {
  if (has_nul(text)) return;
  text = Subtokenizer::cleaned(text);
  (void)sampler.add(text);
}

// Each side as if it were a file of its own.
Status sample_pairs(const OpenPairs& open, const ConvertTranslationOptions& o, TokenCounts& counts) {
  int64_t source_bytes = 0, target_bytes = 0;
  TENON_ASSIGN(const PairReaderPtr whole, open());
  TENON_TRY(for_each_pair(*whole, o, [&](const TextPair& pair) -> Result<bool> {
    source_bytes += static_cast<int64_t>(pair.source.size()) + 1;
    target_bytes += static_cast<int64_t>(pair.target.size()) + 1;
    return true;
  }));
  LineSampler source(counts, source_bytes, o.vocab_sample), target(counts, target_bytes, o.vocab_sample);
  TENON_ASSIGN(const PairReaderPtr again, open());
  return for_each_pair(*again, o, [&](TextPair& pair) -> Result<bool> {
    if (!pair.bad) count_line(pair.source, source), count_line(pair.target, target);
    return !source.full() || !target.full();
  });
}

}  // namespace

Result<std::vector<OpenPairs>> training_pairs(const ConvertTranslationOptions& o) {
  return pair_files(o.source, o.target, o.pairs, o);
}
Result<std::vector<OpenPairs>> dev_pairs(const ConvertTranslationOptions& o) {
  return pair_files(o.dev_source, o.dev_target, o.dev_pairs, o);
}

Status for_each_pair(PairReader& reader, const ConvertTranslationOptions& options,
                     const std::function<Result<bool>(TextPair& pair)>& fn) {
  TextPair pair;
  for (int64_t n = 0;; ++n) {
    if (n % kPairsBetweenQuestions == 0) TENON_TRY(check_interrupted(options));
    TENON_ASSIGN(const bool more, reader.next(pair));
    if (!more) return {};
    TENON_ASSIGN(const bool go_on, fn(pair));
    if (!go_on) return {};
  }
}

Result<Subtokenizer> translation_vocabulary(OutputSet& output, const ConvertTranslationOptions& o,
                                            const std::vector<OpenPairs>& files) {
  return text_vocabulary(output, o, [&](TokenCounts& counts) -> Status {
    for (const OpenPairs& open : files) TENON_TRY(sample_pairs(open, o, counts));
    return {};
  });
}

}  // namespace tenon
