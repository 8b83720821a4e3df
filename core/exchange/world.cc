#include "exchange/world.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "backend/registry.h"
#include "base/caught.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "exchange/program_build.h"
#include "exchange/transport_library.h"
#include "tenon/interrupts.h"
#include "tenon/processes.h"

namespace tenon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kBetweenLooks{50};             // at the others, while there is nothing to do
constexpr milliseconds kForLastWord{3000};            // of process 0, when another one ends with an error
constexpr milliseconds kForOthers{24 * 3600 * 1000};  // which end in order; a lost one is noticed before

// Until the processes have met nobody knows who is missing. A normal start takes a second; where programs load slowly, as from a
// disk of a cluster, this one was slow to come so far itself, and others may be slower.
constexpr seconds kToMeet{5};
constexpr int kTimesOwnStart = 4;
constexpr seconds kMostOwnStart{60};
constexpr milliseconds kForFirst{3000};  // process 0 speaks for all; then mpirun needs a second or two to end them

std::atomic<World*> the_world{nullptr};

std::string transport_name() {
  const char* const name = ::secure_getenv("TENON_TRANSPORT");
  return name && *name ? name : "mpi";
}

// How long ago this process began; 0 where that cannot be told.
milliseconds own_age() {
  unsigned long long began = 0;  // ticks after the machine's start: field 22, where the name in field 2 may have spaces
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  for (int field = 3; field < 22; ++field) fields >> text;
  timespec now;
  if (!(fields >> began) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return {};
  const int64_t ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
  const auto ticks = static_cast<unsigned long long>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return std::clamp<milliseconds>(milliseconds(ms - static_cast<int64_t>(began * 1000 / ticks)), milliseconds(0),
                                  kMostOwnStart);
}

// How long to wait for the others, or why what the user said of it is no time.
Result<milliseconds> time_to_meet() {
  const milliseconds first = job().rank > 0 ? kForFirst : milliseconds(0);
  const char* const said = ::secure_getenv("TENON_MEET_SECONDS");
  if (!said || !*said) return kToMeet + kTimesOwnStart * own_age() + first;
  const std::string_view all(said);
  int value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size() || value < 1 || value > 86400)
    return invalid("TENON_MEET_SECONDS is '", all, "', expected whole seconds from 1 to 86400");
  return seconds(value) + first;
}

}  // namespace

Result<World*> World::join() {
  static std::mutex mutex;
  static Status failed;
  const std::lock_guard lock(mutex);
  if (job().count == 1 || the_world || !failed.ok())
    return failed.ok() ? Result<World*>(the_world.load()) : Result<World*>(failed);
  auto* const world = new World;  // lives until the process ends
  failed = world->open();
  if (!failed.ok()) return failed;
  the_world = world;
  set_meeting({[](bool value) { return the_world.load()->first_says(value).take() != 0; },
               [](const std::function<Status()>& work) { return the_world.load()->first_does(work); }});
  ::on_exit(at_exit, world);
  failed = world->expect_same("the program of build", program_build());
  return failed.ok() ? Result<World*>(world) : Result<World*>(failed);
}

World* World::joined() { return the_world; }

Status World::open() {
  TENON_ASSIGN(const milliseconds most, time_to_meet());
  thread_ = std::thread([this] { work(); });
  std::unique_lock lock(mutex_);
  const auto unmet_at = std::chrono::steady_clock::now() + most;
  while (!done_.wait_for(lock, kBetweenLooks, [&] { return opened_ || ended_; })) {
    if (InterruptWatch::interrupted())
      std::_Exit(128 + InterruptWatch::signal());  // mpirun ends all so where one has failed
    if (std::chrono::steady_clock::now() >= unmet_at) end_unmet(most);
  }
  if (!opened_) thread_.join();
  if (!opened_)
    return Status(failed_.code(), cat("this is process ", job().rank, " of ", job().count, " that ", job().launcher,
                                      " started: ", failed_.message()));
  return {};
}

// The thread may never come back from the transport: nothing can be called in it, nor be destroyed beside it.
void World::end_unmet(milliseconds waited) {
  char host[256] = "?";
  (void)::gethostname(host, sizeof host - 1);
  (void)std::fputs(
      cat("tenon: process ", job().rank, " of ", job().count, " that ", job().launcher, " started, on ", host,
          ", has not met the others for ", std::chrono::duration_cast<seconds>(waited).count(),
          " s: one of them is stopped or its network is lost, or it starts slower (TENON_MEET_SECONDS); the job ends\n")
          .c_str(),
      stderr);
  std::_Exit(1);
}

// ---- the thread ----

void World::work() {
  Result<tenon_transport> transport = caught([] { return load_transport(transport_name()); });
  std::unique_lock lock(mutex_);
  if (transport.ok() && static_cast<int>(transport->count) != job().count)
    transport = invalid(transport->name, " knows ", transport->count, " processes; is it the one of the launcher?");
  if (!transport.ok()) {
    failed_ = transport.status();
    ended_ = true;
    return done_.notify_all();
  }
  wire_ = std::make_unique<Wire>(*transport);
  Result<std::unique_ptr<SharedRoom>> room(nullptr);
  if (failed_ = watch_others(); failed_.ok()) {
    room = SharedRoom::open(*wire_);
    failed_ = room.status();
  }
  if (!failed_.ok()) {
    ended_ = true;
    return done_.notify_all();
  }
  shares_memory_ = *room != nullptr;
  reducer_ = std::make_unique<Reducer>(*wire_, std::move(*room));
  rank_ = wire_->rank();
  count_ = wire_->count();
  hosts_ = wire_->hosts();
  opened_ = true;
  done_.notify_all();
  while (!ending_) {
    if (!work_once(lock)) posted_.wait_for(lock, kBetweenLooks, [&] { return !exchanges_.empty() || ending_; });
  }
  lock.unlock();
  end();
}

Status World::watch_others() {
  const int64_t own = ::getpid();
  std::vector<int64_t> all(static_cast<size_t>(wire_->count()));
  TENON_TRY(all_gather(*wire_, &own, all.data(), sizeof own));
  wire_->watch(all[static_cast<size_t>((wire_->rank() + wire_->count() - 1) % wire_->count())]);
  return {};
}

// One exchange, or a look at the others.
bool World::work_once(std::unique_lock<std::mutex>& lock) {
  const bool some = !exchanges_.empty(), good = failed_.ok();
  Exchange exchange;
  if (some) exchange = std::move(exchanges_.front());
  lock.unlock();
  Status status;
  if (good) status = some ? caught([&] { return exchange(*wire_, *reducer_); }) : wire_->tend();
  if (status.code() == Code::kDeviceLost) {  // whoever computes, or waits for it, would go on for ever
    (void)std::fputs(cat("tenon: ", status.message(), "; the job ends\n").c_str(), stderr);
    wire_->abort(1);
  }
  lock.lock();
  if (failed_.ok()) failed_ = status;
  if (some) exchanges_.pop_front(), ++last_done_;
  done_.notify_all();
  return some;
}

// Says the last word to the others, and hears theirs.
void World::end() {
  wire_->leave(error_);
  const bool all = wire_->meet_leaving(error_.empty() ? kForOthers : kForLastWord);
  const std::optional<std::string>& first = rank_ == 0 ? std::nullopt : wire_->first_left();
  const bool silent = first && !first->empty();  // one line is enough, whatever else went wrong here
  std::unique_lock lock(mutex_);
  silent_ = silent;
  all_left_ = all;
  ended_ = true;
  done_.notify_all();
  if (!all) return;
  posted_.wait(lock, [&] { return exits_; });
  lock.unlock();
  wire_->close();
}

// ---- for other threads ----

World::Ticket World::post(Exchange exchange) {
  const std::lock_guard lock(mutex_);
  exchanges_.push_back(std::move(exchange));
  posted_.notify_all();
  return ++last_posted_;
}

Status World::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return last_done_ >= ticket || ended_; });
  if (failed_.ok() && last_done_ < ticket) return Status(Code::kUnavailable, "this process has left its job");
  return failed_;
}

Result<int64_t> World::first_says(int64_t value) {
  TENON_TRY(run([&](Wire& wire, Reducer&) { return broadcast(wire, 0, &value, sizeof value); }));
  return value;
}

Result<int64_t> World::largest(int64_t value) {
  std::vector<int64_t> all(static_cast<size_t>(count_));
  TENON_TRY(gather(&value, all.data(), sizeof value));
  return *std::max_element(all.begin(), all.end());
}

Status World::meet() { return largest(0).status(); }

Status World::gather(const void* from, void* out, size_t bytes) {
  return run([=](Wire& wire, Reducer&) { return all_gather(wire, from, out, bytes); });
}

Result<std::string> World::first_tells(const std::string& text) {
  std::array<char, 4096> told{};
  text.copy(told.data(), told.size() - 1);
  TENON_TRY(run([&](Wire& wire, Reducer&) { return broadcast(wire, 0, told.data(), told.size()); }));
  return std::string(told.data());
}

Status World::first_does(const std::function<Status()>& work) {
  const bool gives = has_parts();
  works_alone_ = rank_ == 0;
  const Status own = rank_ == 0 ? caught([&] { return work(); }) : gives ? give_parts() : Status();
  works_alone_ = false;
  if (rank_ == 0 && gives) TENON_TRY(want_no_more());
  if (rank_ > 0) TENON_TRY(own);
  TENON_ASSIGN(const int64_t code, first_says(static_cast<int64_t>(own.code())));
  if (code == 0) return {};
  TENON_ASSIGN(const std::string message, first_tells(own.message()));
  return Status(static_cast<Code>(code), message);
}

Status World::expect_same(std::string_view what, const std::string& value) {
  constexpr size_t kMost = 1024;
  std::vector<char> own(kMost), all(kMost * static_cast<size_t>(count_));
  value.copy(own.data(), kMost - 1);
  TENON_TRY(gather(own.data(), all.data(), kMost));
  for (int r = 1; r < count_; ++r)
    if (const char* const other = all.data() + kMost * static_cast<size_t>(r); std::strcmp(other, all.data()) != 0)
      return invalid("process ", r, " on ", host(r), " has ", what, " ", other, ", process 0 on ", host(0), " has ",
                     all.data());
  return {};
}

bool World::leave(const std::string& error) {
  std::unique_lock lock(mutex_);
  if (!ending_) {
    error_ = error;
    ending_ = true;
    posted_.notify_all();
  }
  done_.wait(lock, [&] { return ended_; });
  return !silent_;
}

// What did not say why it ends ends the job with it. A launcher ends all when one has ended with an error, so a process that
// another one speaks for ends after that one: it waits for it as it closes the transport, or here.
void World::at_exit(int code, void* self) {
  auto& world = *static_cast<World*>(self);
  (void)world.leave(code == 0 ? "" : cat("ended with exit code ", code));
  {
    const std::lock_guard lock(world.mutex_);
    world.exits_ = true;
    world.posted_.notify_all();
  }
  world.thread_.join();
  if (world.all_left_) return;
  if (world.silent_) std::this_thread::sleep_for(2 * kForLastWord);
  world.wire_->abort(code == 0 ? 1 : code);
}

Result<std::shared_ptr<Device>> open_joined_device(std::string_view name) {
  TENON_ASSIGN(World* const world, World::join());
  Result<std::shared_ptr<Device>> device = open_device(name);
  if (!world || !device.ok()) return device;
  const std::vector<UnitInfo>& units = (*device)->units();
  TENON_TRY(world->expect_same("the device", cat((*device)->name(), " with ", units.size(), " units of ", units[0].name,
                                                 ", ", units[0].version)));
  return device;
}

// ---- processes.h ----

Status join_processes() { return World::join().status(); }

std::string process_host(int rank) {
  const World* const world = World::joined();
  return world ? world->host(rank) : std::string();
}

Status expect_same_in_processes(std::string_view what, const std::string& value) {
  World* const world = World::joined();
  return world ? world->expect_same(what, value) : Status();
}

Result<std::vector<std::string>> gather_from_processes(const std::string& text) {
  World* const world = World::joined();
  if (!world) return std::vector<std::string>{text};
  constexpr size_t kMost = 4001;
  std::vector<char> own(kMost), all(kMost * static_cast<size_t>(world->count()));
  text.copy(own.data(), kMost - 1);
  TENON_TRY(world->gather(own.data(), all.data(), kMost));
  std::vector<std::string> out;
  for (int r = 0; r < world->count(); ++r) out.emplace_back(all.data() + kMost * static_cast<size_t>(r));
  return out;
}

namespace {

// As backends allocate what is large.
std::unique_ptr<std::byte, void (*)(void*)> large_memory(size_t bytes) {
  constexpr size_t kPage = 2 << 20;
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPage, whole));
  if (memory) {
    ::madvise(memory, whole, MADV_HUGEPAGE);
    std::memset(memory, 0, whole);
  }
  return {memory, std::free};
}

}  // namespace

bool processes_share_memory() {
  const World* const world = World::joined();
  return world && world->shares_memory();
}

Result<std::vector<double>> time_exchange(uint64_t bytes, int times) {
  World* const world = World::joined();
  if (!world) return Status(Code::kUnavailable, "there are no other processes");
  const auto from = large_memory(bytes), to = large_memory(bytes);
  if (!from || !to) return Status(Code::kOutOfMemory, cat("no memory for two arrays of ", bytes, " bytes"));
  const ReducedArray array{{from.get()}, to.get(), bytes};
  std::vector<double> out;
  for (int i = 0; i <= times; ++i) {
    TENON_TRY(world->meet());
    const auto begin = std::chrono::steady_clock::now();
    TENON_TRY(world->run([&](Wire&, Reducer& reducer) {
      return reducer.all_reduce(ReduceKind::kSum, DType::kF32, std::span(&array, 1));
    }));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i > 0) out.push_back(taken.count());  // the first makes what is kept
  }
  return out;
}

bool leave_processes(const std::string& error) {
  if (World* const world = World::joined()) return world->leave(error);
  if (is_first_process() || error.empty()) return is_first_process();
  // The others wait for this one, and have to be told; or what is wrong here is wrong with all, of which process 0 says it.
  if (World::join().ok() || World::joined()) return World::joined()->leave(error);
  const auto speaks_at = std::chrono::steady_clock::now() + kForFirst;
  while (!InterruptWatch::interrupted() && std::chrono::steady_clock::now() < speaks_at)
    std::this_thread::sleep_for(kBetweenLooks);
  return !InterruptWatch::interrupted();
}

}  // namespace tenon
