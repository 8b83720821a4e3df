#include "data/items.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/caught.h"
#include "base/process/thread_pool.h"

namespace tenon {
namespace {

// The tasks that still run; whoever made it waits for them on every way out.
class Running {
 public:
  explicit Running(ThreadPool& pool) : pool_(pool) {}
  ~Running() {
    while (pool_.help()) {
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return count_ == 0; });
  }

  // False when there is no memory for one more task.
  bool start(const std::function<void()>& work) {
    add(1);
    const Status status = caught([&]() -> Status {
      pool_.submit([this, &work] {
        work();
        add(-1);
      });
      return {};
    });
    if (!status.ok()) add(-1);
    return status.ok();
  }

 private:
  void add(int tasks) {
    std::lock_guard lock(mutex_);
    count_ += tasks;
    if (count_ == 0) done_.notify_all();
  }

  ThreadPool& pool_;
  std::mutex mutex_;
  std::condition_variable done_;
  int count_ = 0;
};

}  // namespace

std::vector<Status> for_each_item(ThreadPool* pool, size_t n, const std::function<Status(size_t)>& work) {
  std::vector<Status> out(n);
  std::atomic<size_t> next{0};
  const std::function<void()> share = [&] {
    for (size_t i; (i = next.fetch_add(1)) < n;) out[i] = caught([&] { return work(i); });
  };
  {
    std::optional<Running> running;  // has ended before `out` is returned
    if (pool != nullptr) running.emplace(*pool);
    const size_t tasks = pool == nullptr ? 0 : std::min<size_t>(static_cast<size_t>(pool->threads() - 1), n);
    for (size_t i = 0; i < tasks && running->start(share); ++i) {
    }
    share();
  }
  return out;
}

}  // namespace tenon
