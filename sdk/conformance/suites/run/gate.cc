#include "conformance/suites/run/gate.h"

#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>

namespace tenon::conformance {

struct Gate::Slot {
  std::atomic<bool> taken{false};
  // Handlers read all slots, also while another gate comes into one or leaves it: size and owner change only while there
  // is no memory.
  std::atomic<uint8_t*> memory{nullptr};
  std::atomic<size_t> size{0};
  std::atomic<pthread_t> owner{};
  std::atomic<int> open{0};  // a futex

  bool holds(const void* address) const {
    const uint8_t* begin = memory.load();
    return begin && begin <= address && address < begin + size.load() && memory.load() == begin;
  }

  // Called by the handler of a signal too.
  void let_go() {
    mprotect(memory.load(), size, PROT_READ | PROT_WRITE);
    open.store(1);
    syscall(SYS_futex, &open, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  void wait() {
    while (open.load() == 0) syscall(SYS_futex, &open, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }

  static Slot all[kMost];
  static struct sigaction before;
  static std::mutex installing;  // for `users`, which gates in several threads count
  static int users;

  // The handler is there while gates are.
  static void enter() {
    const std::lock_guard lock(installing);
    if (users++ > 0) return;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
  }
  static void leave() {
    const std::lock_guard lock(installing);
    if (--users == 0) sigaction(SIGSEGV, &before, nullptr);
  }

  static void on_fault(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    for (Slot& slot : all)
      if (slot.holds(info->si_addr)) {
        if (pthread_equal(pthread_self(), slot.owner.load()))
          slot.let_go();
        else
          slot.wait();
        errno = error;
        return;
      }
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction) return before.sa_sigaction(signal, info, context);
    sigaction(SIGSEGV, &before, nullptr);  // another's fault: it comes again, to whom it would have come
  }
};

Gate::Slot Gate::Slot::all[Gate::kMost];
struct sigaction Gate::Slot::before;
std::mutex Gate::Slot::installing;
int Gate::Slot::users = 0;

namespace {

// What a thread is doing, and how often it has been put to sleep.
struct ThreadState {
  bool waits = false;
  uint64_t switches = 0;
};

ThreadState thread_state(const std::string& id) {
  std::ifstream in("/proc/self/task/" + id + "/status");
  ThreadState state;
  for (std::string word; in >> word;) {
    if (word == "State:") state.waits = in >> word && word == "S";
    if (word == "voluntary_ctxt_switches:" || word == "nonvoluntary_ctxt_switches:") {
      uint64_t n = 0;
      in >> n;
      state.switches += n;
    }
  }
  return state;
}

// The sum of all switches of the threads that are no watchers, or 0 unless each of them waits.
uint64_t switches_if_all_wait() {
  uint64_t sum = 1;
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::string(entry->d_name) + "/comm"), name);
    if (name == "gate-watch") continue;
    const ThreadState state = thread_state(entry->d_name);
    if (!state.waits) {
      closedir(tasks);
      return 0;
    }
    sum += state.switches;
  }
  closedir(tasks);
  return sum;
}

}  // namespace

struct Gate::Watch {
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  std::thread thread;

  ~Watch() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    thread.join();
  }
  // Whether it was stopped within this time.
  bool pause(double seconds) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stop; });
  }
  // A backend whose threads never rest is let go after a while: its faults are then found by luck alone.
  void until_all_wait(const std::atomic<int>& open) {
    constexpr int kLooks = 3000;
    uint64_t last = 0;
    for (int i = 0; i < kLooks && open.load() == 0; ++i) {
      const uint64_t now = switches_if_all_wait();
      if (now != 0 && now == last) return;
      last = now;
      if (pause(0.001)) return;
    }
  }
};

Gate::Gate(const Floats& values) : slot_(nullptr), bytes_(values.size() * sizeof(float)) {
  for (Slot& slot : Slot::all)
    if (!slot.taken.exchange(true)) {
      slot_ = &slot;
      break;
    }
  expect(slot_ != nullptr, "a test has more gates than there are");
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes_ + page - 1) / page * page;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    slot_->taken = false;
    throw Unavailable{"no memory for a test's gate"};
  }
  std::memcpy(memory, values.data(), bytes_);
  slot_->size = size;
  slot_->owner = pthread_self();
  slot_->open = 0;
  slot_->memory = static_cast<uint8_t*>(memory);
  Slot::enter();
  mprotect(memory, size, PROT_NONE);
}

Gate::~Gate() {
  watch_.reset();
  open();
  Slot::leave();
  munmap(slot_->memory.exchange(nullptr), slot_->size);
  slot_->taken = false;
}

const void* Gate::memory() const { return slot_->memory.load(); }
uint64_t Gate::bytes() const { return bytes_; }
void Gate::open() {
  if (!is_open()) slot_->let_go();
}
bool Gate::is_open() const { return slot_->open.load() != 0; }

void Gate::open_when_all_wait() {
  watch_ = std::make_unique<Watch>();
  watch_->thread = std::thread([this, watch = watch_.get()] {
    pthread_setname_np(pthread_self(), "gate-watch");
    watch->until_all_wait(slot_->open);
    open();
  });
}

void Gate::open_after(double seconds) {
  watch_ = std::make_unique<Watch>();
  watch_->thread = std::thread([this, seconds, watch = watch_.get()] {
    pthread_setname_np(pthread_self(), "gate-watch");
    if (!watch->pause(seconds)) open();
  });
}

}  // namespace tenon::conformance
