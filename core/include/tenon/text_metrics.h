// How good generated text is beside what a person wrote: BLEU of translations, ROUGE-L of summaries, exact match and F1
// of answers. Text is UTF-8. Errors are kInvalid: text that is no UTF-8 (they say which line), none at all, or not as
// many hypotheses as references.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// How text is cut into words before BLEU counts them.
enum class BleuTokenizer : uint8_t {
  kMteval14,  // at Unicode's punctuation and symbols, as mteval-v14.pl and TensorFlow's Transformer
  k13a,       // as mteval-v13a.pl and sacreBLEU's default
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::kMteval14;
  bool lowercase = false;
};

// BLEU of a corpus, from 0 to 100, of one to four words in a row, with the brevity penalty; Papineni et al. 2002. Where
// no n words in a row are right, their precision is 1 / (2^k * how many there are), k counting such n. sacreBLEU calls
// this smooth_method='exp'. Where the hypotheses have no n words in a row at all, kMteval14 leaves n out; with k13a the
// score is 0 there, and where no word is right.
struct Bleu {
  double score = 0;
  double precisions[4] = {};  // of 1, .., 4 words, from 0 to 100
  double brevity_penalty = 1;
  int64_t hypothesis_words = 0, reference_words = 0;
};
Result<Bleu> bleu(std::span<const std::string> references, std::span<const std::string> hypotheses,
                  const BleuOptions& options = {});
// The signature that goes with k13a: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp".
std::string bleu_signature(const BleuOptions& options);

// The longest common subsequence of words, as precision, recall and F1 from 0 to 1; the mean over all pairs. Lin 2004.
// Words are runs of a-z and 0-9 of the text in lower case, as in the package rouge-score.
struct Rouge {
  double precision = 0, recall = 0, f1 = 0;
};
Result<Rouge> rouge_l(std::span<const std::string> references, std::span<const std::string> hypotheses);

// Scores of answers that were taken from a text, in per cent, as SQuAD's evaluation has them. Case, ASCII's
// punctuation, blanks and the articles a, an and the do not count. An answer has several references, of which the best
// one counts.
struct AnswerScore {
  double exact_match = 0, f1 = 0;
};
Result<AnswerScore> answer_score(std::span<const std::vector<std::string>> references,
                                 std::span<const std::string> answers);

}  // namespace tenon
