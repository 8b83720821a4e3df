// Elements one after the other, made ahead by a pool's threads.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/caught.h"
#include "base/process/thread_pool.h"
#include "base/strings.h"
#include "data/chain/verbs/map_nodes.h"

namespace tenon {
namespace {

constexpr int kAheadOfThread = 4;  // elements
constexpr int kMostThreads = 1024;

}  // namespace

// The consumer's thread asks the stream; tasks make the elements.
struct ElementIterator::Impl {
  struct Item {
    ElementRef ref;
    Result<Element> made = Status();
    bool ready = false;
  };

  Impl(Node n, int threads, uint64_t epoch)
      : node(std::move(n)), pool(make_thread_pool(threads)), stream(node->open(epoch, pool.get())) {}
  ~Impl() {
    for (const auto& item : items) wait(*item);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void advance() {
    read_ahead();
    if (items.empty()) {
      ended = true;
      check(failed);
      return;
    }
    wait(*items.front());
    const std::unique_ptr<Item> item = std::move(items.front());
    items.pop_front();
    current = item->made.take();
  }

  // An error of the order comes behind the elements before it.
  void read_ahead() {
    const size_t most = pool->threads() > 1 ? static_cast<size_t>(kAheadOfThread * pool->threads()) : 1;
    while (failed.ok() && !stream_ended && items.size() < most) {
      auto item = std::make_unique<Item>();
      failed = caught([&]() -> Status {
        stream_ended = !stream->next(item->ref);
        return {};
      });
      if (!failed.ok() || stream_ended) break;
      items.push_back(std::move(item));
      start(*items.back());
    }
  }
  void start(Item& item) {
    if (pool->threads() == 1) return make(item);
    pool->submit([this, &item] { make(item); });
  }
  void make(Item& item) {
    Result<Element> made = caught([&]() -> Result<Element> { return value_at(*node, item.ref); });
    const std::lock_guard lock(mutex);
    item.made = std::move(made);
    item.ready = true;
    done.notify_all();
  }
  void wait(Item& item) {
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (item.ready) return;
      }
      if (pool->help()) continue;
      std::unique_lock lock(mutex);
      done.wait(lock, [&] { return item.ready; });
    }
  }

  Node node;
  std::mutex mutex;
  std::condition_variable done;
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<ElementStream> stream;
  bool stream_ended = false, ended = false;
  Status failed;
  std::deque<std::unique_ptr<Item>> items;
  Element current;
};

ElementIterator::ElementIterator() = default;
ElementIterator::ElementIterator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->advance(); }
ElementIterator::ElementIterator(ElementIterator&&) noexcept = default;
ElementIterator& ElementIterator::operator=(ElementIterator&&) noexcept = default;
ElementIterator::~ElementIterator() = default;

Element& ElementIterator::operator*() const { return impl_->current; }

ElementIterator& ElementIterator::operator++() {
  impl_->advance();
  return *this;
}

bool ElementIterator::operator==(std::default_sentinel_t) const { return !impl_ || impl_->ended; }

ElementIterator Dataset::elements(int threads, uint64_t epoch) const {
  if (threads < 0 || threads > kMostThreads)
    fail("elements: threads is ", threads, ", expected 0 for those of the machine, or 1 to ", kMostThreads);
  const int used = threads > 0 ? threads : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  return ElementIterator(std::make_unique<ElementIterator::Impl>(ChainNode::of(*this), used, epoch));
}

}  // namespace tenon
