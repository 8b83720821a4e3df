// Jobs that wait for a model's one thread: bounds, deadlines, turns and the end. What a job is, and how several are done together, is
// its worker's affair: tensors (batcher.h) and texts (server/text/text_batcher.h).
//
// A job that comes while nothing is done is done at once, alone. Those that come meanwhile wait for the thread and go together, those
// of one group, at most as many rows as the worker takes; with `timeout` the thread waits for more until the first of them is as old. A
// job with more rows is done in parts, between which other jobs have their turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "server/server_metrics.h"
#include "tenon/status.h"

namespace tenon::server {

using Clock = std::chrono::steady_clock;

struct BatchOptions {
  std::chrono::microseconds timeout{0};
  int64_t max_queued_rows = 512;  // of all groups together
};

class Job {
 public:
  virtual ~Job() = default;
  // Called once, by the queue's thread: all rows are done, or `error` says why not: kTimeout where the deadline passed while it waited,
  // kUnavailable where the queue ended; or by a thread that submits, kInterrupted, where it is gone. It must not throw.
  virtual void answer() = 0;
  // Whether nobody waits for it any more. Asked by any thread, while it waits; it must not throw.
  virtual bool is_gone() const { return false; }

  size_t group = 0;  // jobs of one may go together
  int64_t rows = 1;  // at least 1
  Clock::time_point deadline = Clock::time_point::max();
  bool alone = false;  // goes with no other
  int64_t taken = 0;   // rows that are done
  Status error = {};
};

// Rows of a job that are done now: `count` behind those that it has `taken`.
struct JobPart {
  std::unique_ptr<Job> job;
  int64_t count;
};

class JobWorker {
 public:
  virtual ~JobWorker() = default;
  virtual int64_t max_rows() const = 0;  // of a call of work()
  // How many of so many rows that wait go now: from 1 to max_rows().
  virtual int64_t rows_of(int64_t waiting) const { return std::min(waiting, max_rows()); }
  // Does these parts, of one group. What comes of them stays in the jobs; of one that fails, its error. It must not throw.
  virtual void work(std::span<JobPart> parts) = 0;
};

class JobQueue {
 public:
  // `worker` outlives it, and works on its thread alone.
  JobQueue(JobWorker* worker, size_t groups, const BatchOptions& options, std::shared_ptr<VersionMetrics> metrics);
  ~JobQueue();  // end()
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  int64_t max_queued_rows() const { return options_.max_queued_rows; }
  // Thread safe. False, and nothing was taken, where as many rows wait as may: a job with more of them is only taken when none waits.
  // Jobs that are gone make room.
  bool submit(std::unique_ptr<Job>&& job);
  // Whether submit() would refuse any job now. Thread safe.
  bool full();
  // Ends the thread; what still waits, and what comes then, is refused with kUnavailable. One thread at a time.
  void end();

 private:
  struct Waiting {
    std::unique_ptr<Job> job;
    Clock::time_point arrival;
    bool met_idle;  // nothing was done when it came
  };
  struct Group {
    std::deque<Waiting> waiting;
    int64_t rows = 0;
  };
  struct Turn;

  void run();
  void add_rows(Group* group, int64_t rows);
  bool has_room(int64_t rows) const { return queued_rows_ == 0 || queued_rows_ + rows <= options_.max_queued_rows; }
  bool make_room(std::unique_lock<std::mutex>& lock, int64_t rows);
  Group* next_group();
  bool wait_for_more(std::unique_lock<std::mutex>* lock, const Group& group);
  Turn take(Group* group);
  std::vector<std::unique_ptr<Job>> take_back(Group* group, Turn* turn);

  JobWorker* const worker_;
  const BatchOptions options_;
  const std::shared_ptr<VersionMetrics> metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Group> groups_;
  std::atomic<int64_t> queued_rows_ = 0;
  bool working_ = false;
  bool ending_ = false;
  std::thread thread_;
};

// What a worker calls throws no more: that is the call's error.
template <class Call>
auto without_throwing(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const Error& e) {
    return e.status();
  } catch (const std::exception& e) {
    return Status(Code::kInternal, e.what());
  }
}

}  // namespace tenon::server
