// Requests for a model of text meet as those of tensors do (server/models/job_queue.h): lines are its rows. One that is streamed goes alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/models/job_queue.h"
#include "server/text/text_model.h"

namespace tenon::server {

struct TextRequest {
  Lines lines;  // at least one
  Clock::time_point deadline = Clock::time_point::max();
  // Whether who asked has gone: asked by any thread, until it is answered. It must not throw.
  std::function<bool()> gone = {};
  // Called once, by the batcher's thread: a text for each line, or why not, as BatchRequest::done; kTimeout also where the deadline
  // passes while the text is written; kInterrupted where who asked has gone, then maybe by a thread that submits. It must not throw.
  std::function<void(Result<Lines>)> done = {};
  // In place of it, of one line: as TextModel::stream() has it, and how it ended.
  TextModel::TakesText takes = {};
  std::function<void(Status)> ended = {};
};

class TextBatcher : private JobWorker {
 public:
  TextBatcher(std::unique_ptr<TextModel> model, const BatchOptions& options, std::shared_ptr<VersionMetrics> metrics);

  bool streams() const { return model_->streams(); }
  VersionMetrics& metrics() const { return *metrics_; }
  // As those of JobQueue.
  int64_t max_queued_lines() const { return queue_.max_queued_rows(); }
  bool submit(TextRequest&& request);
  bool full() { return queue_.full(); }

 private:
  int64_t max_rows() const override { return model_->max_lines(); }
  void work(std::span<JobPart> parts) override;

  const std::unique_ptr<TextModel> model_;
  const std::shared_ptr<VersionMetrics> metrics_;
  JobQueue queue_;  // the last: its thread uses the others
};

// A server's models of text by their names. Each has one version, 1.
using TextModels = std::map<std::string, std::unique_ptr<TextBatcher>, std::less<>>;
inline constexpr int64_t kTextVersion = 1;
// What their only signature calls a request's lines, and its texts.
inline constexpr const char* kTextInput = "inputs";
inline constexpr const char* kTextOutput = "outputs";

}  // namespace tenon::server
