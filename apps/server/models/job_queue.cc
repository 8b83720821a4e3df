#include "server/models/job_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenon::server {
namespace {

void refuse(Job& job, Code code, const char* why) {
  job.error = Status(code, why);
  job.answer();
}

}  // namespace

// What goes now, and what is not worth it any more.
struct JobQueue::Turn {
  std::vector<JobPart> parts;
  std::vector<Clock::time_point> arrivals;  // of the parts' jobs
  std::vector<std::unique_ptr<Job>> late;
};

JobQueue::JobQueue(JobWorker* worker, size_t groups, const BatchOptions& options,
                   std::shared_ptr<VersionMetrics> metrics)
    : worker_(worker), options_(options), metrics_(std::move(metrics)), groups_(groups), thread_([this] { run(); }) {
  ++metrics_->loaded;
}

JobQueue::~JobQueue() { end(); }

void JobQueue::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  std::vector<Waiting> left;
  {
    const std::lock_guard lock(mutex_);
    for (Group& group : groups_) {
      std::move(group.waiting.begin(), group.waiting.end(), std::back_inserter(left));
      group.waiting.clear();
      add_rows(&group, -group.rows);
    }
  }
  for (Waiting& w : left) refuse(*w.job, Code::kUnavailable, "the server is ending");
  --metrics_->loaded;
}

void JobQueue::add_rows(Group* group, int64_t rows) {
  group->rows += rows;
  queued_rows_ += rows;
  metrics_->queued_rows += rows;
}

// Has rows that nobody waits for leave where there is no room; they are answered without the lock.
bool JobQueue::make_room(std::unique_lock<std::mutex>& lock, int64_t rows) {
  if (has_room(rows)) return true;
  std::vector<std::unique_ptr<Job>> gone;
  for (Group& group : groups_)
    std::erase_if(group.waiting, [&](Waiting& w) {
      if (!w.job->is_gone()) return false;
      add_rows(&group, w.job->taken - w.job->rows);
      gone.push_back(std::move(w.job));
      return true;
    });
  if (!gone.empty()) {
    lock.unlock();
    for (const auto& job : gone) refuse(*job, Code::kInterrupted, "who asked has gone");
    lock.lock();
  }
  return has_room(rows);
}

bool JobQueue::full() {
  if (queued_rows_ < options_.max_queued_rows) return false;
  std::unique_lock lock(mutex_);
  return !make_room(lock, 1);
}

bool JobQueue::submit(std::unique_ptr<Job>&& job) {
  {
    std::unique_lock lock(mutex_);
    const bool room = make_room(lock, job->rows);
    if (ending_) {
      lock.unlock();
      refuse(*job, Code::kUnavailable, "the server is ending");
      return true;
    }
    if (!room) return false;
    Group& group = groups_.at(job->group);
    add_rows(&group, job->rows);
    group.waiting.push_back({std::move(job), Clock::now(), !working_});
  }
  changed_.notify_one();
  return true;
}

// The one whose first job waits longest.
JobQueue::Group* JobQueue::next_group() {
  Group* oldest = nullptr;
  for (Group& g : groups_)
    if (!g.waiting.empty() && (!oldest || g.waiting.front().arrival < oldest->waiting.front().arrival)) oldest = &g;
  return oldest;
}

// Whether it waited: then things may have changed.
bool JobQueue::wait_for_more(std::unique_lock<std::mutex>* lock, const Group& group) {
  const Waiting& first = group.waiting.front();
  if (options_.timeout.count() == 0 || first.met_idle || first.job->alone || first.job->taken > 0 ||
      group.rows >= worker_->max_rows())
    return false;
  const Clock::time_point end = first.arrival + options_.timeout;
  if (Clock::now() >= end) return false;
  changed_.wait_until(*lock, end);
  return true;
}

JobQueue::Turn JobQueue::take(Group* group) {
  Turn turn;
  const Clock::time_point now = Clock::now();
  const int64_t most = worker_->max_rows();
  int64_t room = worker_->rows_of(group->rows);
  while (room > 0 && !group->waiting.empty()) {
    Waiting& first = group->waiting.front();
    const int64_t left = first.job->rows - first.job->taken;
    const bool late = first.job->deadline < now, others = !turn.parts.empty();
    if (!late && others && (left > room || first.job->alone)) break;  // a job that need not be cut is not cut
    const int64_t count = late ? left : std::min(left, most);
    add_rows(group, -count);
    const bool alone = first.job->alone && !late;
    if (late) {
      turn.late.push_back(std::move(first.job));
    } else {
      turn.parts.push_back({std::move(first.job), count});
      turn.arrivals.push_back(first.arrival);
      room -= count;
    }
    group->waiting.pop_front();
    if (alone) break;
  }
  return turn;
}

void JobQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    Group* group = nullptr;
    changed_.wait(lock, [&] { return ending_ || (group = next_group()) != nullptr; });
    if (ending_) return;
    if (wait_for_more(&lock, *group)) continue;
    Turn turn = take(group);
    working_ = true;
    lock.unlock();
    for (const auto& job : turn.late)
      refuse(*job, Code::kTimeout, "Deadline exceeded while the request waited for a batch");
    turn.late.clear();
    if (!turn.parts.empty()) worker_->work(turn.parts);
    lock.lock();
    working_ = false;
    std::vector<std::unique_ptr<Job>> ended = take_back(group, &turn);
    lock.unlock();
    for (const auto& job : ended) job->answer();
    ended.clear();
    lock.lock();
  }
}

// Those that have ended; the others wait again.
std::vector<std::unique_ptr<Job>> JobQueue::take_back(Group* group, Turn* turn) {
  std::vector<std::unique_ptr<Job>> ended;
  for (size_t i = 0; i < turn->parts.size(); ++i) {
    auto& [job, count] = turn->parts[i];
    job->taken += count;
    const int64_t left = job->rows - job->taken;
    if (left > 0 && job->error.ok()) {  // to the end: others have their turn
      group->waiting.push_back({std::move(job), turn->arrivals[i], false});
      continue;
    }
    add_rows(group, -left);
    ended.push_back(std::move(job));
  }
  return ended;
}

}  // namespace tenon::server
