#include "server/text/text_batcher.h"

#include <iterator>
#include <utility>
#include <vector>

namespace tenon::server {
namespace {

class TextJob : public Job {
 public:
  explicit TextJob(TextRequest&& from) : request(std::move(from)) {
    rows = std::ssize(request.lines);
    deadline = request.deadline;
    alone = static_cast<bool>(request.takes);
  }
  void answer() override {
    if (std::exchange(answered_, true)) return;
    if (alone) return request.ended(error);
    error.ok() ? request.done(std::move(texts)) : request.done(error);
  }
  bool is_gone() const override { return request.gone && request.gone(); }
  // Whether somebody waits for it. Where its time is over that is told at once: those beside it may take longer.
  bool is_wanted() {
    if (!error.ok()) return false;
    if (deadline < Clock::now())
      error = Status(Code::kTimeout, "Deadline exceeded while the text was written");
    else if (is_gone())
      error = Status(Code::kInterrupted, "who asked has gone");
    if (!error.ok()) answer();
    return error.ok();
  }
  void fail(const Status& status) {
    if (error.ok()) error = status;  // the first one
  }

  TextRequest request;
  Lines texts;

 private:
  bool answered_ = false;
};

// A JobPart of a text that somebody waits for.
struct Portion {
  TextJob* job;
  int64_t count;
};

void stream_text(TextModel& model, TextJob& job) {
  const TextRequest& request = job.request;
  const auto takes = [&](std::string_view so_far) { return job.is_wanted() && request.takes(so_far); };
  job.fail(without_throwing([&] { return model.stream(request.lines[0], takes); }));
}

void write_texts(TextModel& model, std::span<const Portion> portions) {
  Lines all;
  for (const auto& [job, count] : portions) {
    const auto begin = job->request.lines.begin() + job->taken;
    all.insert(all.end(), begin, begin + count);
  }
  const auto interrupted = [&] {
    bool wanted = false;
    for (const Portion& portion : portions) wanted |= portion.job->is_wanted();  // all are asked
    return !wanted;
  };
  Result<Lines> texts = without_throwing([&] { return model.write(all, portions[0].job->taken, interrupted); });
  if (texts.ok() && texts->size() != all.size())
    texts = Status(Code::kInternal, "the model did not write a text for each line");
  if (!texts.ok() && portions.size() > 1) {  // the fault of one is not the others'
    for (const Portion& portion : portions)
      if (portion.job->is_wanted()) write_texts(model, {&portion, 1});
    return;
  }
  if (!texts.ok()) return portions[0].job->fail(texts.status());
  auto text = std::make_move_iterator(texts->begin());
  for (const auto& [job, count] : portions) {
    job->texts.insert(job->texts.end(), text, text + count);
    text += count;
  }
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

TextBatcher::TextBatcher(std::unique_ptr<TextModel> model, const BatchOptions& options,
                         std::shared_ptr<VersionMetrics> metrics)
    : model_(std::move(model)), metrics_(metrics), queue_(this, 1, options, metrics) {
  metrics_->tokens = 0;
}

bool TextBatcher::submit(TextRequest&& request) { return queue_.submit(std::make_unique<TextJob>(std::move(request))); }

void TextBatcher::work(std::span<JobPart> parts) {
  const Clock::time_point start = Clock::now();
  std::vector<Portion> wanted;
  int64_t lines = 0;
  for (const JobPart& part : parts) {
    TextJob& job = static_cast<TextJob&>(*part.job);
    if (!job.is_wanted()) continue;
    wanted.push_back({&job, part.count});
    lines += part.count;
  }
  if (wanted.empty()) return;
  wanted[0].job->alone ? stream_text(*model_, *wanted[0].job) : write_texts(*model_, wanted);
  metrics_->count_batch(lines, seconds_since(start));
  metrics_->tokens = model_->tokens();
}

}  // namespace tenon::server
