#include "server/text/text_batcher.h"

#include <iterator>
#include <utility>

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
    if (alone) return request.ended(error);
    error.ok() ? request.done(std::move(texts)) : request.done(error);
  }

  TextRequest request;
  Lines texts;
};

TextJob& text_of(const JobPart& part) { return static_cast<TextJob&>(*part.job); }

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
  int64_t lines = 0;
  for (const JobPart& part : parts) lines += part.count;
  if (TextJob& first = text_of(parts[0]); first.alone)
    first.error = without_throwing([&] { return model_->stream(first.request.lines[0], first.request.takes); });
  else
    write(parts, lines);
  metrics_->count_batch(lines, seconds_since(start));
  metrics_->tokens = model_->tokens();
}

void TextBatcher::write(std::span<JobPart> parts, int64_t lines) {
  Lines all;
  for (const JobPart& part : parts) {
    const auto begin = text_of(part).request.lines.begin() + part.job->taken;
    all.insert(all.end(), begin, begin + part.count);
  }
  Result<Lines> texts = without_throwing([&] { return model_->write(all, parts[0].job->taken); });
  if (texts.ok() && std::ssize(*texts) != lines)
    texts = Status(Code::kInternal, "the model did not write a text for each line");
  if (!texts.ok() && parts.size() > 1) {  // the fault of one is not the others'
    for (JobPart& part : parts) write({&part, 1}, part.count);
    return;
  }
  if (!texts.ok()) return void(parts[0].job->error = texts.status());
  auto text = std::make_move_iterator(texts->begin());
  for (JobPart& part : parts) {
    Lines& own = text_of(part).texts;
    own.insert(own.end(), text, text + part.count);
    text += part.count;
  }
}

}  // namespace tenon::server
