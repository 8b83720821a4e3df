#include "server/models/batcher.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace tenon::server {
namespace {

Shape with_rows(const Shape& shape, int64_t rows) {
  Shape out = shape;
  out.set(0, rows);
  return out;
}

// Rows [begin, begin + count) of `from`, behind those that are there.
void append_rows(std::vector<std::byte>* to, const Array& from, int64_t begin, int64_t count) {
  const size_t row = from.bytes().size() / static_cast<size_t>(from.dim(0));
  const auto part = from.bytes().subspan(static_cast<size_t>(begin) * row, static_cast<size_t>(count) * row);
  to->insert(to->end(), part.begin(), part.end());
}

void append_outputs(Arrays* all, Arrays&& part) {
  for (auto& [name, array] : part) {
    const auto [at, first] = all->try_emplace(name, std::move(array));
    if (first) continue;
    const Type type{array.dtype(), with_rows(array.shape(), at->second.dim(0) + array.dim(0))};
    std::vector<std::byte> bytes = std::move(at->second).take_bytes();
    append_rows(&bytes, array, 0, array.dim(0));
    at->second = Array(type, std::move(bytes));
  }
}

}  // namespace

Batcher::Batcher(std::unique_ptr<ServedModel> model, const BatchOptions& options,
                 std::shared_ptr<VersionMetrics> metrics)
    : model_(std::move(model)),
      options_(options),
      metrics_(std::move(metrics)),
      queues_(model_->signatures().size()),
      thread_([this] { run(); }) {
  metrics_->loaded = true;
}

Batcher::~Batcher() { end(); }

void Batcher::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::vector<Queue> left;
  {
    const std::lock_guard lock(mutex_);
    for (Queue& queue : queues_) {
      left.push_back(std::exchange(queue, {}));
      add_rows(&queue, -left.back().rows);
    }
  }
  for (Queue& queue : left)
    for (Waiting& w : queue.waiting) w.request.done(Status(Code::kUnavailable, "the server is ending"));
  metrics_->loaded = false;
}

void Batcher::add_rows(Queue* queue, int64_t rows) {
  queue->rows += rows;
  queued_rows_ += rows;
  metrics_->queued_rows += rows;
}

bool Batcher::submit(BatchRequest&& request) {
  const auto index = static_cast<size_t>(request.signature - model_->signatures().data());
  {
    std::unique_lock lock(mutex_);
    if (ending_) {
      lock.unlock();
      request.done(Status(Code::kUnavailable, "the server is ending"));
      return true;
    }
    if (queued_rows_ > 0 && queued_rows_ + request.rows > options_.max_queued_rows) return false;
    Queue& queue = queues_.at(index);
    add_rows(&queue, request.rows);
    queue.waiting.push_back({std::move(request), Clock::now(), !computing_});
  }
  changed_.notify_one();
  return true;
}

// The one whose first request waits longest.
Batcher::Queue* Batcher::next_queue() {
  Queue* oldest = nullptr;
  for (Queue& q : queues_)
    if (!q.waiting.empty() && (!oldest || q.waiting.front().arrival < oldest->waiting.front().arrival)) oldest = &q;
  return oldest;
}

// Whether it waited: then things may have changed.
bool Batcher::wait_for_more(std::unique_lock<std::mutex>* lock, Queue* queue) {
  const Waiting& first = queue->waiting.front();
  if (options_.timeout.count() == 0 || first.met_idle || first.taken > 0 || queue->rows >= model_->max_rows())
    return false;
  const Clock::time_point end = first.arrival + options_.timeout;
  if (Clock::now() >= end) return false;
  changed_.wait_until(*lock, end);
  return true;
}

std::vector<Batcher::Part> Batcher::take(Queue* queue, std::vector<Waiting>* expired) {
  std::vector<Part> parts;
  const Clock::time_point now = Clock::now();
  int64_t room = model_->max_rows();
  while (room > 0 && !queue->waiting.empty()) {
    Waiting& first = queue->waiting.front();
    const int64_t left = first.request.rows - first.taken;
    const bool late = first.request.deadline < now;
    if (!late && left > room && (left <= model_->max_rows() || !parts.empty())) break;
    const int64_t count = late ? left : std::min(left, room);
    add_rows(queue, -count);
    if (late)
      expired->push_back(std::move(first));
    else
      parts.push_back({std::move(first), count}), room -= count;
    queue->waiting.pop_front();
  }
  return parts;
}

void Batcher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    Queue* queue = nullptr;
    changed_.wait(lock, [&] { return ending_ || (queue = next_queue()) != nullptr; });
    if (ending_) return;
    if (wait_for_more(&lock, queue)) continue;
    std::vector<Waiting> expired;
    std::vector<Part> parts = take(queue, &expired);
    computing_ = true;
    lock.unlock();
    for (Waiting& w : expired)
      w.request.done(Status(Code::kTimeout, "Deadline exceeded while the request waited for a batch"));
    expired.clear();
    if (!parts.empty()) compute(&parts);
    lock.lock();
    computing_ = false;
    // What has rows left goes to the end: others have their turn.
    for (Part& part : parts)
      if (part.waiting.request.done) queue->waiting.push_back(std::move(part.waiting));
  }
}

void Batcher::compute(std::vector<Part>* parts) {
  const Part& first = parts->front();
  const ServingSignature& signature = *first.waiting.request.signature;
  const bool whole = parts->size() == 1 && first.count == first.waiting.request.rows;
  if (whole) return deliver(parts, call(signature, first.waiting.request.inputs, first.count));
  int64_t rows = 0;
  for (const Part& p : *parts) rows += p.count;
  Arrays inputs;
  for (const auto& [name, array] : first.waiting.request.inputs) {
    std::vector<std::byte> bytes;
    bytes.reserve(array.bytes().size() / static_cast<size_t>(array.dim(0)) * static_cast<size_t>(rows));
    for (const Part& p : *parts) append_rows(&bytes, p.waiting.request.inputs.at(name), p.waiting.taken, p.count);
    inputs.emplace(name, Array(Type{array.dtype(), with_rows(array.shape(), rows)}, std::move(bytes)));
  }
  deliver(parts, call(signature, inputs, rows));
}

Result<Arrays> Batcher::call(const ServingSignature& signature, const Arrays& inputs, int64_t rows) {
  const Clock::time_point start = Clock::now();
  Result<Arrays> result = Status(Code::kInternal, "no result");
  try {
    result = model_->predict(signature.key, inputs);
    if (result.ok())
      for (const ServingValue& output : signature.outputs) {
        const auto it = result->find(output.tensor);
        if (it == result->end() || it->second.shape().rank() == 0 || it->second.dim(0) != rows)
          return Status(Code::kInternal, "the model gave no output '" + output.tensor + "' with a row an example");
      }
  } catch (const Error& e) {
    result = e.status();
  } catch (const std::exception& e) {
    result = Status(Code::kInternal, e.what());
  }
  metrics_->batch_rows.add(static_cast<double>(rows));
  metrics_->batch_seconds.add(std::chrono::duration<double>(Clock::now() - start).count());
  return result;
}

void Batcher::deliver(std::vector<Part>* parts, Result<Arrays> result) {
  const bool alone = parts->size() == 1;
  int64_t row = 0;
  for (Part& part : *parts) {
    Waiting& w = part.waiting;
    const int64_t begin = std::exchange(row, row + part.count);
    w.taken += part.count;
    if (result.ok()) {
      Arrays rows;
      if (alone)
        rows = std::move(*result);
      else
        for (const auto& [name, array] : *result) rows.emplace(name, array.rows(begin, part.count));
      append_outputs(&w.outputs, std::move(rows));
      if (w.taken < w.request.rows) continue;
    } else if (w.taken < w.request.rows) {  // it failed: no need of the others
      const std::lock_guard lock(mutex_);
      const auto index = static_cast<size_t>(w.request.signature - model_->signatures().data());
      add_rows(&queues_[index], w.taken - w.request.rows);
    }
    const auto done = std::exchange(w.request.done, nullptr);
    result.ok() ? done(std::move(w.outputs)) : done(result.status());
  }
}

}  // namespace tenon::server
