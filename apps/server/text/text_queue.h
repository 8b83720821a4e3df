// Requests for a model of text: those that come while it writes wait, and go together.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/text/text_model.h"

namespace tenon::server {

struct TextRequest {
  std::vector<std::string> lines;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Called once, by the queue's thread: a text for each line, or why not; kTimeout where the deadline passed while it waited.
  std::function<void(Result<std::vector<std::string>>)> done = {};
  // In place of it, of one line: as TextModel::stream() has it, and how it ended.
  TextModel::TakesText takes = {};
  std::function<void(Status)> ended = {};
};

class TextQueue {
 public:
  TextQueue(std::unique_ptr<TextModel> model, size_t max_lines)
      : model_(std::move(model)), max_lines_(max_lines), thread_([this] { run(); }) {}
  ~TextQueue();  // what waits is refused with kUnavailable
  TextQueue(const TextQueue&) = delete;
  TextQueue& operator=(const TextQueue&) = delete;

  bool streams() const { return model_->streams(); }
  size_t max_lines() const { return max_lines_; }
  // Whether submit() would refuse a line now. Thread safe.
  bool full();
  // Thread safe. False, and nothing was taken, where as many lines wait as may.
  bool submit(TextRequest&& request);

 private:
  void run();
  std::vector<TextRequest> next();
  void write(std::vector<TextRequest>& requests);
  void stream(TextRequest& request);

  std::unique_ptr<TextModel> model_;
  const size_t max_lines_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TextRequest> waiting_;
  size_t lines_ = 0;  // that wait
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tenon::server
