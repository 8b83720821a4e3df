#include "server/text/text_queue.h"

#include <utility>

namespace tenon::server {
namespace {

using Clock = std::chrono::steady_clock;

void refuse(TextRequest& request, const Status& why) { request.done ? request.done(why) : request.ended(why); }

// What a model throws is its error.
template <class Call>
auto called(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const Error& e) {
    return e.status();
  } catch (const std::exception& e) {
    return Status(Code::kInternal, e.what());
  }
}

}  // namespace

TextQueue::~TextQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (TextRequest& request : waiting_) refuse(request, Status(Code::kUnavailable, "the server ends"));
}

bool TextQueue::full() {
  const std::lock_guard lock(mutex_);
  return lines_ >= max_lines_;
}

bool TextQueue::submit(TextRequest&& request) {
  {
    const std::lock_guard lock(mutex_);
    if (lines_ + request.lines.size() > max_lines_) return false;
    lines_ += request.lines.size();
    waiting_.push_back(std::move(request));
  }
  changed_.notify_all();
  return true;
}

// Requests that are written together, or one that is streamed; none at the end.
std::vector<TextRequest> TextQueue::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
  std::vector<TextRequest> out;
  size_t lines = 0;
  while (!ending_ && !waiting_.empty()) {
    TextRequest& first = waiting_.front();
    if (!out.empty() && (first.takes || lines + first.lines.size() > model_->max_lines())) break;
    lines += first.lines.size();
    out.push_back(std::move(first));
    waiting_.pop_front();
    if (out.back().takes) break;
  }
  lines_ -= lines;
  return out;
}

void TextQueue::run() {
  for (std::vector<TextRequest> requests; !(requests = next()).empty();) {
    const auto now = Clock::now();
    std::vector<TextRequest> timely;
    for (TextRequest& request : requests)
      if (request.deadline < now)
        refuse(request, Status(Code::kTimeout, "the request waited too long"));
      else
        timely.push_back(std::move(request));
    if (timely.empty()) continue;
    timely[0].takes ? stream(timely[0]) : write(timely);
  }
}

void TextQueue::write(std::vector<TextRequest>& requests) {
  std::vector<std::string> lines;
  for (const TextRequest& request : requests) lines.insert(lines.end(), request.lines.begin(), request.lines.end());
  Result<std::vector<std::string>> texts =
      called([&]() -> Result<std::vector<std::string>> { return model_->write(lines); });
  if (!texts.ok() && requests.size() > 1) {  // the fault of one is not the others'
    for (TextRequest& request : requests) {
      std::vector<TextRequest> alone;
      alone.push_back(std::move(request));
      write(alone);
    }
    return;
  }
  if (!texts.ok()) return refuse(requests[0], texts.status());
  auto text = texts->begin();
  for (TextRequest& request : requests) {
    const auto end = text + static_cast<std::ptrdiff_t>(request.lines.size());
    request.done(std::vector<std::string>(std::make_move_iterator(text), std::make_move_iterator(end)));
    text = end;
  }
}

void TextQueue::stream(TextRequest& request) {
  request.ended(called([&] { return model_->stream(request.lines[0], request.takes); }));
}

}  // namespace tenon::server
