// The processes of a job, met: exchanges run on a thread of their own, in the order in which they are posted, while devices
// compute. Every process posts the same exchanges in the same order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/device.h"
#include "exchange/collectives.h"
#include "exchange/process_parts.h"

namespace tenon {

// Told, on the thread of exchanges, of each that a step makes. Times are picoseconds of the clock that never goes back.
class ExchangeWatch {
 public:
  virtual ~ExchangeWatch() = default;
  virtual void exchanged(const std::string& name, uint64_t bytes, uint64_t start_ps, uint64_t end_ps) = 0;
};

class World {
 public:
  // The job that a launcher started this process for, joined by the first call; nullptr where there is none.
  static Result<World*> join();
  // The same once it was joined; nullptr before, and alone.
  static World* joined();

  int rank() const { return rank_; }
  int count() const { return count_; }
  const std::string& host(int rank) const { return hosts_[static_cast<size_t>(rank)]; }
  bool shares_memory() const { return shares_memory_; }  // for exchanges, with all others

  // Begins an exchange. Memory that it names has to stay until wait() of its ticket, or a later one.
  using Ticket = uint64_t;
  using Exchange = std::function<Status(Wire&, Reducer&)>;
  Ticket post(Exchange exchange);
  // Until it and all before it are done. The first error stays: no later exchange is done. Any thread.
  Status wait(Ticket ticket);
  Status run(Exchange exchange) { return wait(post(std::move(exchange))); }

  // What process 0 has: decisions that hang on the clock, on files or on signals are its alone.
  Result<int64_t> first_says(int64_t value);
  // The largest of all processes' values.
  Result<int64_t> largest(int64_t value);
  // Waits for all.
  Status meet();
  // out[rank], of as many bytes each.
  Status gather(const void* from, void* out, size_t bytes);
  // What process 0 has, of up to 4,000 bytes.
  Result<std::string> first_tells(const std::string& text);
  // The status of what process 0 does. Meanwhile the others give it what it reads of ProcessParts.
  Status first_does(const std::function<Status()>& work);
  bool works_alone() const { return works_alone_; }  // whether this is process 0 in it
  // An error, the same in all processes, where one has another value than process 0: "process 2 on b has the flags ..".
  Status expect_same(std::string_view what, const std::string& value);

  // Borrowed, nullptr: nobody. Set while no exchange of a step is under way.
  void set_watch(ExchangeWatch* watch) { watch_ = watch; }
  ExchangeWatch* watch() const { return watch_; }

  // Ends this process's part: see leave_processes().
  bool leave(const std::string& error);

 private:
  friend class ProcessParts;
  World() = default;
  uint64_t add(const ProcessParts& parts);  // its number, the same in all processes
  void remove(const ProcessParts& parts);
  bool has_parts() const;
  Status want_no_more();
  Status give_parts();
  Status open();
  [[noreturn]] static void end_unmet(std::chrono::milliseconds waited);
  void work();
  Status watch_others();
  bool work_once(std::unique_lock<std::mutex>& lock);
  void end();
  static void at_exit(int code, void* world);

  int rank_ = 0, count_ = 1;
  std::vector<std::string> hosts_;
  std::unique_ptr<Wire> wire_;        // the thread's
  std::unique_ptr<Reducer> reducer_;  // the thread's
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable posted_, done_;
  std::deque<Exchange> exchanges_;
  Ticket last_posted_ = 0, last_done_ = 0;
  Status failed_;
  bool opened_ = false, ending_ = false, ended_ = false;
  bool shares_memory_ = false;
  bool all_left_ = false, silent_ = false;  // of end()
  bool exits_ = false;                      // this process has said what it had to say
  std::atomic<bool> works_alone_ = false;
  std::atomic<ExchangeWatch*> watch_ = nullptr;
  mutable std::mutex parts_mutex_;
  std::map<uint64_t, const ProcessParts*> parts_;
  uint64_t last_parts_ = 0;
  std::string error_;                       // that this process ends with
};

// open_device(), by all processes, which must have like devices.
Result<std::shared_ptr<Device>> open_joined_device(std::string_view device);

}  // namespace tenon
