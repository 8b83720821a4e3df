#include "data/work_span.h"

#include <array>
#include <atomic>
#include <ctime>
#include <utility>

#include "tenon/input.h"

namespace tenon {
namespace {

std::atomic<int> counting{0};  // how many count
std::array<std::atomic<int64_t>, 3> nanoseconds;

struct ThreadWork {
  int part = -1;
  int64_t since = 0;
};
ThreadWork& thread_work() {
  thread_local ThreadWork work;
  return work;
}

int64_t thread_nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// What follows is of this part. Returns the one before.
int go_on_with(int part) {
  ThreadWork& work = thread_work();
  const int64_t now = thread_nanoseconds();
  if (work.part >= 0)
    nanoseconds[static_cast<size_t>(work.part)].fetch_add(now - work.since, std::memory_order_relaxed);
  work.since = now;
  return std::exchange(work.part, part);
}

double seconds_of(WorkPart part) {
  return static_cast<double>(nanoseconds[static_cast<size_t>(part)].load(std::memory_order_relaxed)) * 1e-9;
}

InputWork::Seconds all_seconds() {
  return {seconds_of(WorkPart::kRead), seconds_of(WorkPart::kDecode), seconds_of(WorkPart::kChange)};
}

}  // namespace

WorkSpan::WorkSpan(WorkPart part) : counts_(counting.load(std::memory_order_relaxed) > 0) {
  if (counts_) before_ = go_on_with(static_cast<int>(part));
}

WorkSpan::~WorkSpan() {
  if (counts_) go_on_with(before_);
}

InputWork::InputWork() : begun_(all_seconds()) { counting.fetch_add(1, std::memory_order_relaxed); }

InputWork::~InputWork() { counting.fetch_sub(1, std::memory_order_relaxed); }

InputWork::Seconds InputWork::seconds() const {
  const Seconds now = all_seconds();
  return {now.read - begun_.read, now.decode - begun_.decode, now.change - begun_.change};
}

}  // namespace tenon
