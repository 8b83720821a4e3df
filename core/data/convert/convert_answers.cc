#include <algorithm>
#include <optional>

#include "base/caught.h"
#include "base/strings.h"
#include "data/convert/text_records.h"
#include "data/items.h"
#include "tenon/answers.h"

namespace tenon {
namespace {

constexpr size_t kBlockPassages = 256, kBlockPassageBytes = 2 << 20;  // encoded at once

// A paragraph on its way: what was read, and what becomes of it.
struct PassageItem {
  Passage passage;
  bool held_out = false;
  std::vector<std::string> records;
  std::vector<std::pair<const char*, size_t>> left_out;  // why, and which question
};

// Where the answer is; nothing where it is not at its place.
std::optional<TokenSpan> span_of(const Passage& passage, const LocatedTokens& context, const Answer& answer) {
  const bool at_its_place = std::string_view(passage.context).substr(answer.begin).starts_with(answer.text);
  return at_its_place ? tokens_of(context, answer.begin, answer.begin + answer.text.size()) : std::nullopt;
}

class AnswerEncoder {
 public:
  AnswerEncoder(const ConvertAnswersOptions& options, const Subtokenizer& words)
      : options_(options), windows_{options.max_length, options.doc_stride}, words_(words) {}

  Status encode(PassageItem& item) const {
    item.held_out = is_held_out(options_, item.passage.context);
    TENON_ASSIGN(const LocatedTokens context, locate_tokens(words_, item.passage.context));
    for (size_t i = 0; i < item.passage.questions.size(); ++i) {
      TENON_ASSIGN(const char* const why, add_question(item, item.passage.questions[i], context));
      if (why) item.left_out.emplace_back(why, i);
    }
    return {};
  }

 private:
  // Why it is left out, or null.
  Result<const char*> add_question(PassageItem& item, const Question& question, const LocatedTokens& context) const {
    std::vector<int32_t> ids;
    TENON_TRY(words_.encode(question.text, ids));
    if (ids.empty() || context.ids.empty()) return "empty";
    std::optional<TokenSpan> answer;
    for (size_t i = 0; i < question.answers.size() && !answer && !question.is_impossible; ++i)
      answer = span_of(item.passage, context, question.answers[i]);
    const bool has_answer = !question.is_impossible && !question.answers.empty();
    if (has_answer && !answer) return "misplaced";
    const std::vector<AnswerWindow> windows = answer_windows(ids, context.ids, windows_);
    const auto holds = [&](const AnswerWindow& window) { return window.place_of(*answer).has_value(); };
    if (answer && std::none_of(windows.begin(), windows.end(), holds)) return "cut";
    for (const AnswerWindow& window : windows)
      item.records.push_back(record_of(window, answer ? window.place_of(*answer) : std::nullopt));
    return nullptr;
  }

  static std::string record_of(const AnswerWindow& window, const std::optional<TokenSpan>& answer) {
    const TokenSpan span = answer.value_or(TokenSpan{});
    const std::vector<int64_t> wide(window.inputs.begin(), window.inputs.end());
    ExampleBuilder builder;
    builder.add_int64s("inputs", wide);
    builder.add_int64("start", static_cast<int64_t>(span.first));
    builder.add_int64("end", static_cast<int64_t>(span.last));
    return std::string(builder.finish());
  }

  const ConvertAnswersOptions& options_;
  const WindowOptions windows_;
  const Subtokenizer& words_;
};

// Encodes paragraphs by blocks, on all threads, and gives them to their splits in order.
class AnswerConversion {
 public:
  AnswerConversion(const ConvertAnswersOptions& options, const Subtokenizer& words, TextUnits& units, ThreadPool& pool)
      : options_(options), encoder_(options, words), units_(units), pool_(pool) {}

  // `held_out`, if any, gets the paragraphs that are held out.
  Status encode(const std::vector<std::string>& files, SplitWriter& to, SplitWriter* held_out) {
    for (const std::string& file : files) {
      TENON_TRY(read_squad(file, [&](Passage& passage) -> Status {
        TENON_TRY(check_interrupted(options_));
        bytes_ += passage.context.size() * (1 + passage.questions.size());
        items_.push_back({std::move(passage), false, {}, {}});
        return items_.size() < kBlockPassages && bytes_ < kBlockPassageBytes ? Status() : flush(file, to, held_out);
      }));
      TENON_TRY(flush(file, to, held_out));
    }
    return {};
  }

 private:
  Status flush(const std::string& file, SplitWriter& to, SplitWriter* held_out) {
    if (items_.empty()) return {};
    TENON_ASSIGN(const bool makes, units_.begin_block(bytes_));
    if (makes) TENON_TRY(make_records(file, to, held_out));
    items_.clear();
    bytes_ = 0;
    return {};
  }

  Status make_records(const std::string& file, SplitWriter& to, SplitWriter* held_out) {
    for (const Status& made :
         for_each_item(&pool_, items_.size(), [&](size_t i) { return encoder_.encode(items_[i]); }))
      TENON_TRY(made);
    for (const PassageItem& item : items_) {
      SplitWriter& split = held_out && item.held_out ? *held_out : to;
      for (const auto& [why, question] : item.left_out)
        split.leave_out(why, [&, q = question] { return cat(file, ": ", item.passage.where, ".qas[", q, "]"); });
      for (const std::string& record : item.records) TENON_TRY(split.add(record));
    }
    return {};
  }

  const ConvertAnswersOptions& options_;
  AnswerEncoder encoder_;
  TextUnits& units_;
  ThreadPool& pool_;
  std::vector<PassageItem> items_;
  size_t bytes_ = 0;
};

// Contexts and questions, each as if they were a file of their own.
Status sample_file(const std::string& file, const ConvertAnswersOptions& o, TokenCounts& counts) {
  int64_t context_bytes = 0, question_bytes = 0;
  TENON_TRY(read_squad(file, [&](const Passage& passage) -> Status {
    context_bytes += static_cast<int64_t>(passage.context.size()) + 1;
    for (const Question& q : passage.questions) question_bytes += static_cast<int64_t>(q.text.size()) + 1;
    return check_interrupted(o);
  }));
  LineSampler contexts(counts, context_bytes, o.vocab_sample), questions(counts, question_bytes, o.vocab_sample);
  return read_squad(file, [&](const Passage& passage) -> Status {
    TENON_TRY(contexts.add(passage.context));
    for (const Question& q : passage.questions) TENON_TRY(questions.add(q.text));
    return check_interrupted(o);
  });
}

Status check_answer_options(const ConvertAnswersOptions& o) {
  if (o.train.empty()) return invalid("convert: there are no questions, expected files to train on");
  if (o.max_length < 8) return invalid("convert: max_length is ", o.max_length, ", expected at least 8");
  if (o.doc_stride < 1) return invalid("convert: doc_stride is ", o.doc_stride, ", expected at least 1");
  return check_text_options(o);
}

JobText job_of(const ConvertAnswersOptions& o) {
  JobText job = text_job("answers", o);
  job.add_files("train", o.train).add_files("dev", o.dev).add("doc_stride", o.doc_stride);
  return job;
}

Result<ConvertSummary> convert_files(const ConvertAnswersOptions& options, ThreadPool& pool) {
  TENON_TRY(check_answer_options(options));
  TENON_ASSIGN(OutputSet output, OutputSet::create(options, [&] { return job_of(options); }));
  TENON_ASSIGN(const Subtokenizer words, text_vocabulary(output, options, [&](TokenCounts& counts) -> Status {
                 for (const std::string& file : options.train) TENON_TRY(sample_file(file, options, counts));
                 return {};
               }));
  ConvertSummary summary;
  summary.vocab_size = words.size();
  TENON_ASSIGN(summary.vocab_file, vocabulary_name(options, "answers", words));
  TENON_ASSIGN(SplitWriter train,
               SplitWriter::create({"train", "train", "question", options.train_shards, true}, output, options));
  TENON_ASSIGN(SplitWriter dev, SplitWriter::create({"dev", "validation", "question", 1, false}, output, options));
  TextUnits units(output, train, dev);
  AnswerConversion conversion(options, words, units, pool);
  TENON_TRY(output.failed(conversion.encode(options.train, train, options.dev.empty() ? &dev : nullptr)));
  TENON_TRY(output.failed(conversion.encode(options.dev, dev, nullptr)));
  TENON_TRY(units.end());
  TENON_TRY(write_text_records(output, {&train, &dev}, words, "answers",
                               {{"max_length", options.max_length}, {"doc_stride", options.doc_stride}}, options,
                               &summary));
  return summary;
}

}  // namespace

Result<ConvertSummary> convert_answers(const ConvertAnswersOptions& options, ThreadPool& pool) {
  return caught([&] { return convert_files(options, pool); });
}

}  // namespace tenon
