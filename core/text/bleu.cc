#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/caught.h"
#include "base/strings.h"
#include "tenon/text_metrics.h"
#include "text/bleu_words.h"
#include "text/score_lines.h"

namespace tenon {
namespace {

constexpr int kOrders = 4;

using WordNumbers = std::vector<uint32_t>;  // from 1; equal words have equal numbers

class Lexicon {
 public:
  WordNumbers numbers_of(const std::u32string& text, const BleuOptions& options) {
    WordNumbers out;
    for (const std::string& word : bleu_words(options.lowercase ? unicode::lower(text) : text, options.tokenizer))
      out.push_back(numbers_.emplace(word, numbers_.size() + 1).first->second);
    return out;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

using Ngram = std::array<uint32_t, kOrders>;  // zeros behind its end

// Sorted, each as often as it is there.
std::vector<Ngram> ngrams_of(const WordNumbers& words, int order) {
  std::vector<Ngram> out;
  for (size_t at = 0; at + static_cast<size_t>(order) <= words.size(); ++at) {
    Ngram ngram{};
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(at), order, ngram.begin());
    out.push_back(ngram);
  }
  std::sort(out.begin(), out.end());
  return out;
}

int64_t common(const std::vector<Ngram>& a, const std::vector<Ngram>& b) {
  std::vector<Ngram> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<int64_t>(both.size());
}

struct Totals {
  int64_t right[kOrders] = {}, possible[kOrders] = {};
  int64_t hypothesis = 0, reference = 0;

  void add(const WordNumbers& ref, const WordNumbers& hyp) {
    reference += static_cast<int64_t>(ref.size());
    hypothesis += static_cast<int64_t>(hyp.size());
    for (int order = 1; order <= kOrders; ++order) {
      const std::vector<Ngram> mine = ngrams_of(hyp, order);
      possible[order - 1] += static_cast<int64_t>(mine.size());
      right[order - 1] += common(mine, ngrams_of(ref, order));
    }
  }
};

double brevity_penalty(double hypothesis, double reference) {
  if (hypothesis >= reference) return 1;
  return hypothesis > 0 ? std::exp(1 - reference / hypothesis) : 0;
}

// `strict`: the score is 0 where the hypotheses lack an order, or have no word right.
Bleu score_of(const Totals& t, bool strict) {
  Bleu out{.brevity_penalty = brevity_penalty(static_cast<double>(t.hypothesis), static_cast<double>(t.reference)),
           .hypothesis_words = t.hypothesis,
           .reference_words = t.reference};
  if (strict && t.right[0] == 0) return out;
  double smooth = 1, log_sum = 0;
  bool some = false, all = true;
  for (int n = 0; n < kOrders; ++n) {
    const auto possible = static_cast<double>(t.possible[n]);
    double p = 0;
    if (possible > 0) p = t.right[n] > 0 ? static_cast<double>(t.right[n]) / possible : 1 / ((smooth *= 2) * possible);
    if (p > 0)
      log_sum += std::log(p), some = true;
    else
      all = false;
    out.precisions[n] = 100 * p;
  }
  if (strict ? all : some) out.score = 100 * std::exp(log_sum / kOrders) * out.brevity_penalty;
  return out;
}

}  // namespace

Result<Bleu> bleu(std::span<const std::string> references, std::span<const std::string> hypotheses,
                  const BleuOptions& options) {
  return caught([&]() -> Result<Bleu> {
    TENON_TRY(check_counts(references.size(), hypotheses.size()));
    Lexicon lexicon;
    Totals totals;
    for (size_t i = 0; i < references.size(); ++i) {
      TENON_ASSIGN(const std::u32string reference, characters_of(references[i], "reference", i));
      TENON_ASSIGN(const std::u32string hypothesis, characters_of(hypotheses[i], "hypothesis", i));
      totals.add(lexicon.numbers_of(reference, options), lexicon.numbers_of(hypothesis, options));
    }
    return score_of(totals, options.tokenizer == BleuTokenizer::k13a);
  });
}

std::string bleu_signature(const BleuOptions& options) {
  return cat("nrefs:1|case:", options.lowercase ? "lc" : "mixed",
             "|eff:no|tok:", options.tokenizer == BleuTokenizer::k13a ? "13a" : "mteval-v14", "|smooth:exp");
}

}  // namespace tenon
