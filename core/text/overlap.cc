// ROUGE-L and SQuAD's scores: how many words two texts share.
#include <algorithm>
#include <map>

#include "base/caught.h"
#include "tenon/text_metrics.h"
#include "text/score_lines.h"

namespace tenon {
namespace {

using Words = std::vector<std::string>;

Rouge scores_of(double common, size_t hypothesis_words, size_t reference_words) {
  if (common == 0) return {};
  const double p = common / static_cast<double>(hypothesis_words), r = common / static_cast<double>(reference_words);
  return {p, r, 2 * p * r / (p + r)};
}

// Runs of a-z and 0-9 in the text's lower case.
Words rouge_words(std::u32string_view text) {
  std::u32string out = unicode::lower(text);
  const auto in_word = [](char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'0' && c <= U'9'); };
  std::replace_if(
      out.begin(), out.end(), [&](char32_t c) { return !in_word(c); }, U' ');
  return unicode::words_of(out);
}

int64_t longest_common_subsequence(const Words& a, const Words& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (const std::string& word : a) {
    int64_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t above = row[j];
      row[j] = word == b[j - 1] ? diagonal + 1 : std::max(row[j - 1], above);
      diagonal = above;
    }
  }
  return row.back();
}

bool is_article(std::u32string_view word) { return word == U"a" || word == U"an" || word == U"the"; }
bool is_ascii_punctuation(char32_t c) { return c < 0x80 && (unicode::is_punctuation(c) || unicode::is_symbol(c)); }

// Articles become blanks where they stand between characters that are neither letters nor numbers.
std::u32string without_articles(std::u32string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const size_t run =
        static_cast<size_t>(std::find_if_not(text.begin(), text.end(), unicode::is_alphanumeric) - text.begin());
    out += is_article(text.substr(0, run)) ? U" " : text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

// In lower case, without ASCII's punctuation and articles.
Words answer_words(std::u32string_view text) {
  std::u32string out = unicode::lower(text);
  std::erase_if(out, is_ascii_punctuation);
  return unicode::words_of(without_articles(out));
}

double f1_of(const Words& reference, const Words& answer) {
  if (reference.empty() || answer.empty()) return reference.empty() == answer.empty();
  std::map<std::string, int64_t> left;
  for (const std::string& w : reference) ++left[w];
  double common = 0;
  for (const std::string& w : answer) common += left[w]-- > 0;
  return scores_of(common, answer.size(), reference.size()).f1;
}

}  // namespace

Result<Rouge> rouge_l(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  return caught([&]() -> Result<Rouge> {
    TENON_TRY(check_counts(references.size(), hypotheses.size()));
    Rouge sum;
    for (size_t i = 0; i < references.size(); ++i) {
      TENON_ASSIGN(const std::u32string reference, characters_of(references[i], "reference", i));
      TENON_ASSIGN(const std::u32string hypothesis, characters_of(hypotheses[i], "hypothesis", i));
      const Words ref = rouge_words(reference), hyp = rouge_words(hypothesis);
      const Rouge one = scores_of(static_cast<double>(longest_common_subsequence(ref, hyp)), hyp.size(), ref.size());
      sum.precision += one.precision, sum.recall += one.recall, sum.f1 += one.f1;
    }
    const auto n = static_cast<double>(references.size());
    return Rouge{sum.precision / n, sum.recall / n, sum.f1 / n};
  });
}

Result<AnswerScore> answer_score(std::span<const std::vector<std::string>> references,
                                 std::span<const std::string> answers) {
  return caught([&]() -> Result<AnswerScore> {
    TENON_TRY(check_counts(references.size(), answers.size()));
    AnswerScore sum;
    for (size_t i = 0; i < answers.size(); ++i) {
      TENON_ASSIGN(const std::u32string text, characters_of(answers[i], "answer", i));
      const Words answer = answer_words(text);
      double exact = 0, f1 = 0;
      for (const std::string& reference : references[i]) {
        TENON_ASSIGN(const std::u32string expected, characters_of(reference, "reference", i));
        const Words ref = answer_words(expected);
        exact = std::max(exact, ref == answer ? 1.0 : 0.0);
        f1 = std::max(f1, f1_of(ref, answer));
      }
      sum.exact_match += exact, sum.f1 += f1;
    }
    const double percent = 100 / static_cast<double>(answers.size());
    return AnswerScore{sum.exact_match * percent, sum.f1 * percent};
  });
}

}  // namespace tenon
