// tenon answer: answers to questions about texts, by a model that `tenon train reader` made.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "data/pairs.h"
#include "model/model_run.h"
#include "process.h"
#include "tenon/answers.h"
#include "tenon/atomic_file.h"
#include "tenon/strategy.h"
#include "tenon/text.h"
#include "tenon/text_metrics.h"
#include "text/trained.h"

namespace tenon::runner {
namespace {

void declare_answer(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  add_trained_flags(flags);
  flags.text("vocab_file", "", "subtoken vocabulary; empty: that of the model directory");
  flags.text("file", "", "questions in SQuAD's JSON");
  flags.text("question", "", "one question, in place of --file");
  flags.text("context", "", "the text that has its answer");
  flags.text("output", "",
             "file for the answers to --file's questions, a JSON object of id and text; empty: standard output");
  flags.integer("max_answer_length", 30, "tokens of an answer", 1, 1 << 16);
  flags.integer("n_best", 5, "with --json: answers to each question", 1, 1000);
  flags.boolean(
      "allow_empty", false,
      "answer nothing where that is more likely than any answer; unless given, where --file has questions that "
      "cannot be answered");
  flags.integer("answer_batch_size", 32, "windows of texts at a time", 1, 1 << 14);
  add_device_flags(flags);
}

// A part of a text, and how likely it is the answer.
struct Found {
  std::string text;
  double score = 0;
};

// One question on its way.
struct Asked {
  Question question;
  std::shared_ptr<const std::string> context;
  std::vector<Found> found;     // best first
  double no_answer = INFINITY;  // the least score of "none" of all its windows

  std::string answer(bool may_be_empty) const {
    return found.empty() || (may_be_empty && no_answer > found[0].score) ? "" : found[0].text;
  }
};

// Windows of one question and one context, waiting for the model.
struct Waiting {
  AnswerWindow window;
  Asked* asked;
  std::shared_ptr<const LocatedTokens> context;
};

class Reader {
 public:
  Reader(const Flags& flags, const ModelRun& model)
      : strategy_(device_of(flags), strategy_options(flags, model.params())),
        params_(model.params()),
        words_(trained_vocabulary(vocabulary_path(flags), params_)),
        windows_{params_.get<int64_t>("max_length"), params_.get<int64_t>("doc_stride")},
        max_answer_(static_cast<size_t>(flags.integer("max_answer_length"))),
        n_best_(static_cast<size_t>(flags.boolean("json") ? flags.integer("n_best") : 1)),
        batch_(flags.integer("answer_batch_size")),
        scores_(strategy_.function([this](const Features& in) { return scores(in); },
                                   {.name = "answer", .remainder = Remainder::kWhole})) {
    strategy_.warm_start({.ckpt_to_initialize_from = trained_checkpoint(flags)});
  }

  // Gives each question of a context what was found.
  void answer(std::vector<Asked>& all) {
    std::vector<Waiting> waiting;
    std::shared_ptr<const LocatedTokens> context;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || all[i].context != all[i - 1].context)
        context = std::make_shared<LocatedTokens>(good("context", locate_tokens(words_, *all[i].context)));
      std::vector<int32_t> question;
      good("question", words_.encode(all[i].question.text, question));
      for (AnswerWindow& window : answer_windows(question, context->ids, windows_)) {
        waiting.push_back({std::move(window), &all[i], context});
        if (static_cast<int64_t>(waiting.size()) == batch_) run(waiting);
      }
    }
    if (!waiting.empty()) run(waiting);
  }

 private:
  // Those of files are UTF-8: what is not was given by a flag.
  static void good(const char* flag, const Status& status) {
    if (!status.ok()) throw Error(Status(status.code(), std::string("--") + flag + ": " + status.message()));
  }
  static LocatedTokens good(const char* flag, Result<LocatedTokens> tokens) {
    good(flag, tokens.status());
    return std::move(tokens).take();
  }

  Outputs scores(const Features& in) const {
    const EstimatorSpec spec = models::reader(in, {}, Mode::kPredict, params_);
    return Outputs{{"start", spec.predictions[0].second}, {"end", spec.predictions[1].second}};
  }

  // All batches are of one size, and so one program.
  void run(std::vector<Waiting>& waiting) {
    if (interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
    const auto length = static_cast<size_t>(windows_.max_length);
    std::vector<int32_t> ids(static_cast<size_t>(batch_) * length, 0);
    for (size_t i = 0; i < static_cast<size_t>(batch_); ++i) {
      const std::vector<int32_t>& inputs = waiting[std::min(i, waiting.size() - 1)].window.inputs;
      std::copy(inputs.begin(), inputs.end(), ids.begin() + static_cast<std::ptrdiff_t>(i * length));
    }
    const Results results = scores_({{"inputs", Array(ids, {batch_, windows_.max_length})}});
    check_weights(strategy_);
    const std::vector<float> start = results["start"].to<float>(), end = results["end"].to<float>();
    for (size_t i = 0; i < waiting.size(); ++i)
      take(waiting[i], std::span(start).subspan(i * length, length), std::span(end).subspan(i * length, length));
    waiting.clear();
  }

  void take(const Waiting& w, std::span<const float> start, std::span<const float> end) const {
    const size_t from = w.window.context_at, to = from + w.window.end - w.window.begin;
    w.asked->no_answer = std::min(w.asked->no_answer, static_cast<double>(start[0]) + static_cast<double>(end[0]));
    std::vector<Found>& found = w.asked->found;
    for (const ScoredSpan& best : best_spans(start.first(to), end.first(to), from, to, max_answer_, n_best_)) {
      const std::string text = text_of(w, best.span);
      const auto same = std::find_if(found.begin(), found.end(), [&](const Found& f) { return f.text == text; });
      if (same == found.end())
        found.push_back({text, best.score});
      else
        same->score = std::max(same->score, best.score);
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
    if (found.size() > n_best_) found.resize(n_best_);
  }

  // As it stands in the context, without blanks around it.
  static std::string text_of(const Waiting& w, const TokenSpan& span) {
    const auto& parts = w.context->parts;
    const size_t offset = w.window.begin - w.window.context_at;  // of a token's number; may wrap around
    const size_t begin = parts[span.first + offset].begin, end = parts[span.last + offset].end;
    std::string text = w.asked->context->substr(begin, end - begin);
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && is_blank(text.back())) text.pop_back();
    text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_blank));
    return text;
  }

  Strategy strategy_;
  Params params_;
  Subtokenizer words_;
  WindowOptions windows_;
  size_t max_answer_, n_best_;
  int64_t batch_;
  Function scores_;
};

std::string json_of(const Asked& asked, bool may_be_empty) {
  return Json("answer")
      .add("id", asked.question.id)
      .add("answer", asked.answer(may_be_empty))
      .add("no_answer_score", asked.no_answer)
      .raw("n_best",
           json_list_of(asked.found,
                        [](const Found& f) { return Json().add("text", f.text).add("score", f.score).str(); }))
      .str();
}

// A file of questions, answered by so many paragraphs at a time.
class FileAnswers {
 public:
  FileAnswers(const Flags& flags, Reader& reader)
      : path_(flags.required("file")), json_(flags.boolean("json")), reader_(reader) {
    // A first time through it, so that nothing is half done when it turns out to be damaged.
    check(read_squad(path_, [&](const Passage& passage) -> Status {
      for (const Question& q : passage.questions) {
        has_impossible_ |= q.is_impossible;
        ++questions_;
        if (!ids_.insert(q.id).second)
          return Status(Code::kInvalid, path_ + ": " + passage.where + ": the id '" + q.id + "' stands there twice");
      }
      return {};
    }));
    if (questions_ == 0) throw Error(Status(Code::kInvalid, path_ + ": expected questions, found none"));
    may_be_empty_ = flags.given("allow_empty") ? flags.boolean("allow_empty") : has_impossible_;
    if (!flags.text("output").empty()) output_ = AtomicFile::create_or_write(flags.text("output")).take();
  }

  void run() {
    write_line("{");
    check(read_squad(path_, [&](Passage& passage) -> Status {
      const auto context = std::make_shared<const std::string>(std::move(passage.context));
      for (Question& q : passage.questions) asked_.push_back({std::move(q), context, {}});
      if (asked_.size() >= kQuestions) flush();
      return {};
    }));
    flush();
    write_line(pending_);
    write_line("}");
    if (output_) check(output_->commit());
    score();
  }

 private:
  static constexpr size_t kQuestions = 256;  // at a time

  void flush() {
    reader_.answer(asked_);
    for (Asked& asked : asked_) {
      const std::string answer = asked.answer(may_be_empty_);
      if (json_) print_line(json_of(asked, may_be_empty_));
      if (!pending_.empty()) write_line(pending_ + ",");
      pending_ = json_string(asked.question.id) + ": " + json_string(answer);
      std::vector<std::string> right;
      for (tenon::Answer& a : asked.question.answers) right.push_back(std::move(a.text));
      has_answers_ |= !right.empty() || asked.question.is_impossible;
      if (right.empty()) right.emplace_back();
      references_.push_back(std::move(right));
      answers_.push_back(answer);
    }
    asked_.clear();
  }
  // Lines of JSON and an object of answers are not mixed on standard output.
  void write_line(const std::string& line) {
    if (output_)
      check(output_->write(line + "\n"));
    else if (!json_)
      print_data(line);
  }
  // Not among answers on standard output.
  void say(const std::string& line) const { output_ ? print_line(line) : print_error(line); }
  void score() const {
    if (!has_answers_) return;
    const AnswerScore found = answer_score(references_, answers_).take();
    if (json_)
      print_line(
          Json("result").add("exact_match", found.exact_match).add("f1", found.f1).add("questions", questions_).str());
    else
      say(format("exact match %.2f %%, F1 %.2f %% of %s", found.exact_match, found.f1,
                 counted(questions_, "question").c_str()));
  }

  std::string path_;
  bool json_;
  Reader& reader_;
  std::set<std::string> ids_;
  bool has_impossible_ = false, may_be_empty_ = false, has_answers_ = false;
  int64_t questions_ = 0;
  std::optional<AtomicFile> output_;
  std::string pending_;  // the last line, without what goes behind it
  std::vector<Asked> asked_;
  std::vector<std::vector<std::string>> references_;
  std::vector<std::string> answers_;
};

void answer_one(const Flags& flags, Reader& reader) {
  Asked one{
      {{}, flags.required("question"), {}, false}, std::make_shared<const std::string>(flags.required("context")), {}};
  std::vector<Asked> asked{one};
  reader.answer(asked);
  const bool may_be_empty = flags.boolean("allow_empty");
  flags.boolean("json") ? print_line(json_of(asked[0], may_be_empty)) : print_data(asked[0].answer(may_be_empty));
}

int run_answer(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  if (&model.kind() != &kAnswers)
    throw UsageError{format("the model %s does not answer questions; reader does", model.info().name)};
  const bool file = !flags.text("file").empty();
  for (const char* other : {"question", "context"})
    if (file && flags.given(other)) throw UsageError{format("--file and --%s exclude each other", other)};
  if (!file && flags.given("output")) throw UsageError{"--output is for the answers to --file's questions"};
  if (!flags.boolean("json") && flags.given("n_best")) throw UsageError{"--n_best is for --json"};
  if (!file) flags.required("question"), flags.required("context");
  watch_interrupts();
  Reader reader(flags, model);
  file ? FileAnswers(flags, reader).run() : answer_one(flags, reader);
  return 0;
}

}  // namespace

const Command kAnswer{
    .name = "answer",
    .arguments = "--model_dir DIR --file FILE.json|--question TEXT --context TEXT [--output FILE.json] [FLAGS]",
    .summary = "Answers questions about texts",
    .declare = declare_answer,
    .run = run_answer,
};

}  // namespace tenon::runner
