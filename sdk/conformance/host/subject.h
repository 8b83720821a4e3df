// The backend under test, as suites see it: loaded into a child process, with a host table of the suite's own.
//
// Everything here throws Failure, Unsupported or Unavailable (harness.h). One thread at a time, but where a
// member says otherwise: buffers, queues and programs of one subject may be made and used on several threads.
// Split into subject.cc (Subject), host.cc (its host table), handles.cc (owners) and session.cc (runs).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/host/harness.h"
#include "conformance/reference/reference.h"
#include "tenon/abi/plugin.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::conformance {

// "INVALID"
std::string code_name(int32_t code);
// Throws: `text` as a failure, unless the status is OK; UNSUPPORTED and UNAVAILABLE become what they are.
void expect_ok(const tenon_status& status, const std::string& what);
// Throws a failure unless the status has this code and, being an error, a message of one line.
void expect_code(const tenon_status& status, int32_t code, const std::string& what);
// A backend's text as one line of printable characters; null is empty.
std::string one_line(const char* text);
[[noreturn]] void fail(const std::string& text);
inline void expect(bool condition, const std::string& text) {
  if (!condition) fail(text);
}

// What the host saw; a host table whose gang runs on real threads.
struct HostLog {
  uint64_t gangs = 0, logs = 0, cache_gets = 0, cache_puts = 0;
  std::vector<std::string> lines;
};

class Host;
class Cache;

class Subject {
 public:
  // Checks the ELF note, loads, initialises, and has malloc hand out rubbish. `threads`: cores that the backend may
  // use, and the largest gang. `spec`: of the units, empty for the default. Throws. A second subject of one
  // library in one process initialises it again.
  Subject(std::string path, uint64_t seed, uint32_t threads = 2, std::string spec = {});
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const std::string& path() const { return path_; }
  uint64_t seed() const { return seed_; }
  const char* spec() const { return spec_.empty() ? nullptr : spec_.c_str(); }
  const tenon_backend& backend() const { return *backend_; }
  const HostLog& log() const;
  Cache& cache();  // what the host keeps for the backend
  // The largest gang from now on; 0: all threads again. Any thread.
  void limit_gang(uint32_t threads);
  const std::vector<tenon_unit>& units();  // of the spec
  // The device of unit 0, opened at first use and shared by the tests of one process.
  tenon_device* device();
  // One more device on `n` units; close it with backend().device_close.
  tenon_device* open_device(uint32_t n_units = 1);
  // Closes that device, with what the suite keeps on it; device() then opens another.
  void close_device();
  // Notes that a HOST buffer of device() was had, or refused; a device does one of the two, and the other is a failure. Any
  // thread.
  void note_host_memory(const tenon_device* device, bool had);
  // Leaves a run's worth of NaN in `bytes` of what programs of device() share as workspace, if the backend can.
  void poison(uint64_t bytes);

 private:
  struct Poison;
  std::string path_, spec_;
  uint64_t seed_;
  Host* host_;  // lives for ever, as the backend's table does
  std::unique_ptr<tenon_backend> backend_;
  std::vector<tenon_unit> units_;
  tenon_device* device_ = nullptr;
  std::atomic<int> host_memory_{0};                      // 1: device() has HOST buffers, -1: it refuses them
  std::map<uint64_t, std::unique_ptr<Poison>> poisons_;  // by bytes; null: the backend cannot
};

// ---- owners of handles ----

struct BufferOptions {
  bool host = false;  // a HOST buffer, or where the backend has none, one that is filled and read by copies
  int32_t placement = TENON_REPLICATED;
};

// What rubbish is made of: NaN in every float format, in no integer format -1.
constexpr uint8_t kRubbish[2] = {0xFD, 0xFF};

// A buffer of dtype[dims]. Its first contents are rubbish where the suite can write them without a queue.
class Buffer {
 public:
  Buffer(Subject& subject, tenon_device* device, int32_t dtype, const std::vector<int64_t>& dims,
         BufferOptions options = {});
  Buffer(Buffer&&) noexcept;
  ~Buffer();
  tenon_buffer* handle() const { return handle_; }
  uint8_t* host() const { return host_; }  // nullptr: none that the host sees
  uint64_t bytes() const { return bytes_; }
  int32_t dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  // Throws a failure that names the first byte that was written behind the contents of memory that the host sees.
  void check_end(const std::string& what) const;

 private:
  // As `desc` asks, or without the memory of the host that the backend refuses.
  tenon_status allocate(Subject& subject, tenon_device* device, tenon_desc& desc);

  uint64_t host_bytes() const;  // of its memory of the host: the contents and what is behind them

  const tenon_backend* backend_;
  tenon_buffer* handle_ = nullptr;
  uint8_t* host_ = nullptr;
  uint64_t bytes_ = 0;
  int32_t dtype_ = 0;
  std::vector<int64_t> dims_;
};

// Its bytes, its NaN in many forms: whatever the payload or sign, it is one.
std::vector<uint8_t> bytes_of(const reference::Tensor& x);

class Queue {
 public:
  Queue(Subject& subject, tenon_device* device);
  Queue(Queue&&) noexcept;
  ~Queue();
  tenon_queue* handle() const { return handle_; }
  // Submits and waits.
  void write(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset = 0);
  void read(const Buffer& from, void* to, uint64_t bytes, uint64_t offset = 0);
  // These from and to memory that is not aligned; a bool read that is neither 0 nor 1 is a failure.
  void write(const Buffer& to, const reference::Tensor& from);
  reference::Tensor read(const Buffer& from);
  void write_rubbish(const Buffer& to);
  // Submits without waiting; the ticket.
  uint64_t submit(tenon_run run, uint32_t* done = nullptr);
  void wait(uint64_t ticket);

 private:
  const tenon_backend* backend_;
  tenon_queue* handle_ = nullptr;
};

class Program {
 public:
  // Throws Unsupported with the backend's reason where it says so. The graph is a copy that is gone afterwards.
  Program(Subject& subject, tenon_device* device, const tenon_graph& graph, tenon_options options = {});
  Program(Program&&) noexcept;
  ~Program();
  tenon_program* handle() const { return handle_; }
  const tenon_info& info() const { return info_; }  // its pointers live as long as the program

 private:
  const tenon_backend* backend_;
  tenon_program* handle_ = nullptr;
  tenon_info info_{};
};

// ---- whole runs ----

enum class Place {
  kDevice,  // buffers of the device
  kHost     // HOST buffers
};

// The backend's answer for each node of a graph.
struct Answer {
  int32_t answer = TENON_REFUSE;
  std::string reason;
};
std::vector<Answer> answers(Subject& subject, tenon_device* device, const tenon_graph& graph);

// Compiles a graph without states and runs it once on inputs; `inputs` in the order of the graph's inputs,
// scalars among them. Results begin as rubbish, and before the run another program leaves NaN in whatever
// workspace the backend shares among programs. Guards are checked, inputs are compared with what they were.
std::vector<reference::Tensor> run_graph(Subject& subject, const tenon_graph& graph,
                                         const std::vector<reference::Tensor>& inputs, Place place = Place::kDevice,
                                         tenon_options options = {});

}  // namespace tenon::conformance
