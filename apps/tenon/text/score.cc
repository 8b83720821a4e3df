// tenon score: how good generated text is beside what people wrote.
#include "command.h"
#include "tenon/text_metrics.h"
#include "text/lines.h"

namespace tenon::runner {
namespace {

struct Texts {
  std::string names;  // in errors
  TextLines references, hypotheses;

  template <class T>
  T score(Result<T> result) const {
    if (!result.ok()) throw Error(Status(result.status().code(), names + ": " + result.status().message()));
    return result.take();
  }
  double bleu(BleuTokenizer tokenizer, bool lowercase) const {
    return score(tenon::bleu(references, hypotheses, {tokenizer, lowercase})).score;
  }
};

void score_bleu(const Texts& texts, bool json) {
  const double uncased = texts.bleu(BleuTokenizer::kMteval14, true),
               cased = texts.bleu(BleuTokenizer::kMteval14, false);
  const double sacrebleu = texts.bleu(BleuTokenizer::k13a, false);
  const std::string signature = bleu_signature({.tokenizer = BleuTokenizer::k13a});
  if (json) {
    print_line(Json("result")
                   .add("bleu_uncased", uncased)
                   .add("bleu_cased", cased)
                   .add("sacrebleu", sacrebleu)
                   .add("signature", signature)
                   .add("lines", static_cast<int64_t>(texts.references.size()))
                   .str());
    return;
  }
  print("BLEU %.2f uncased, %.2f cased\n", uncased, cased);
  print("sacreBLEU %.2f (%s)\n", sacrebleu, signature.c_str());
}

void score_rouge(const Texts& texts, bool json) {
  const Rouge rouge = texts.score(rouge_l(texts.references, texts.hypotheses));
  if (json)
    print_line(Json("result")
                   .add("rouge_l_precision", rouge.precision)
                   .add("rouge_l_recall", rouge.recall)
                   .add("rouge_l_f1", rouge.f1)
                   .add("lines", static_cast<int64_t>(texts.references.size()))
                   .str());
  else
    print("ROUGE-L precision %.4f, recall %.4f, F1 %.4f\n", rouge.precision, rouge.recall, rouge.f1);
}

// A line of the reference has all answers that are right, with tabs between them.
void score_answers(const Texts& texts, bool json) {
  std::vector<TextLines> references;
  for (const std::string& line : texts.references) {
    TextLines& out = references.emplace_back();
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find('\t', at), line.size());
      out.push_back(line.substr(at, end - at));
      at = end + 1;
    }
  }
  const AnswerScore found = texts.score(answer_score(references, texts.hypotheses));
  if (json)
    print_line(Json("result")
                   .add("exact_match", found.exact_match)
                   .add("f1", found.f1)
                   .add("lines", static_cast<int64_t>(references.size()))
                   .str());
  else
    print("exact match %.2f %%, F1 %.2f %%\n", found.exact_match, found.f1);
}

void declare_score(Flags& flags, const std::vector<std::string>&) {
  flags.leave_out({"device", "verbose", "threads", "seed"});
  flags.text("reference", "", "text file: what a person wrote, a line each");
  flags.text("hypothesis", "", "text file: what is scored, line for line");
  flags.text("metric", "bleu",
             "bleu of translations, rouge_l of summaries, answer: exact match and F1, with tabs between the right ones",
             {"bleu", "rouge_l", "answer"});
}

int run_score(const Flags& flags, const std::vector<std::string>& words) {
  expect_words(words, 0, 0, "no argument");
  const std::string &reference = flags.required("reference"), &hypothesis = flags.required("hypothesis");
  const Texts texts{reference + ", " + hypothesis, read_lines(reference), read_lines(hypothesis)};
  const std::string& metric = flags.text("metric");
  const auto score = metric == "bleu" ? score_bleu : metric == "rouge_l" ? score_rouge : score_answers;
  score(texts, flags.boolean("json"));
  return 0;
}

}  // namespace

const Command kScore{"score", "--reference FILE --hypothesis FILE [--metric bleu|rouge_l|answer]",
                     "Scores generated text beside what people wrote", declare_score, run_score};

}  // namespace tenon::runner
