// Devices as the core sees them: C++ over the C ABI, which no other folder includes.
//
// Handles own what they name and free it. Devices and programs are thread safe; a queue has one
// submitter at a time. Every error of a backend arrives as a Status whose message starts with the
// backend's name and the entry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/devices.h"
#include "tenon/types.h"

struct tenon_backend;
struct tenon_device;
struct tenon_buffer;
struct tenon_queue;
struct tenon_program;
struct tenon_graph;
struct tenon_status;

namespace tenon {

// A graph on its way to a backend. The numbers of roles, modes and attribute enums are the ABI's.
class GraphImage {
 public:
  enum class Role { kState = 1, kFeed = 2, kScalar = 3 };
  enum class Mode { kLast = 0, kEach = 1, kUntil = 2 };

  GraphImage();
  ~GraphImage();
  GraphImage(GraphImage&&) noexcept;
  GraphImage& operator=(GraphImage&&) noexcept;

  uint32_t input(const Type& type, Role role, bool split, std::string_view name);
  uint32_t value(const Type& type);
  uint32_t constant(const Type& type, std::string_view bytes);
  // Ids of -1 are absent optional operands. Attributes that follow belong to this node.
  void node(std::string_view op, int version, std::string_view name, std::string_view origin,
            std::span<const int64_t> operands, std::span<const int64_t> results);
  void attr(std::string_view name, int64_t value);
  void attr(std::string_view name, double value);
  void attr(std::string_view name, bool value);
  void attr(std::string_view name, DType value);
  void attr(std::string_view name, const std::string& bytes);
  void attr(std::string_view name, const std::vector<int64_t>& list);
  void attr_enum(std::string_view name, int32_t number);
  // alias: index of the state input that it updates in place, or -1.
  void result(uint32_t value, Mode mode, int alias, bool split);
  // Fixes the graph; nothing is added after it.
  void finish();
  // The flat graph, valid as long as this lives. REQUIRED: finish() was called.
  const tenon_graph* flat() const;

 private:
  friend class Device;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct NodeVerdict {
  enum class Answer { kRefuse = 0, kDecompose = 1, kTake = 2 };
  Answer answer = Answer::kRefuse;
  std::string reason;
};

struct ProgramOptions {
  bool deterministic = false;
  bool trace = false;          // runs of the program can be traced
  bool forecast_only = false;  // it is looked at (backend/forecast.h), never run
  int max_iterations = 1;
  bool soft_placement = false;  // of compile(): what the device refuses runs on cpu.so. Backends are not told
};

struct ProgramAllocation {
  uint32_t node, first, last;
  uint64_t bytes, dense_bytes, offset;
};

// What compile says of a program, for one unit.
struct ProgramInfo {
  uint64_t argument_bytes = 0, result_bytes = 0, workspace_bytes = 0, code_bytes = 0, reserved_bytes = 0;
  uint64_t peak_bytes = 0, capacity_bytes = 0;
  uint64_t flops = 0, bytes_moved = 0;  // of an iteration; 0: unknown
  uint64_t device_ns = 0, feed_ns = 0, host_ns = 0;
  std::string warnings;  // lines of the core's: what soft placement moved
  std::vector<ProgramAllocation> allocations;
};

// When a node of a program ran on one thread or core of a unit. `name` lives for the call that passes the event.
struct TraceEvent {
  const char* name;
  uint32_t node;  // of the graph that was compiled; -1: a part of none
  uint32_t unit, lane;
  uint64_t start_ps, duration_ps, flops, bytes;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // On any thread, one at a time. Throws nothing.
  virtual void emit(const TraceEvent& event) = 0;
};

class Device;

// What a queue says of its work that failed; -1: unknown.
struct QueueFailure {
  int32_t native = 0;
  int64_t iteration = -1;  // of the run
  int64_t node = -1;       // of the graph that was compiled
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  const Type& type() const { return type_; }
  // Memory of a HOST buffer; else nullptr. Where the device has no such memory it is plain memory, and what a feed gives
  // is copied.
  void* host() const { return host_; }
  // Whether the device sees that memory.
  bool is_shared() const { return host_ && !staging_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  friend class Device;
  friend class Queue;
  friend class Launch;
  friend class FeedBridge;
  std::shared_ptr<Device> device_;
  tenon_buffer* handle_ = nullptr;
  void* host_ = nullptr;
  std::shared_ptr<void> staging_;  // what host_ points to, where the device does not see it
  Type type_;
};

class Program {
 public:
  Program() = default;
  Program(Program&& other) noexcept { *this = std::move(other); }
  Program& operator=(Program&& other) noexcept;
  ~Program();
  const ProgramInfo& info() const { return info_; }
  const tenon_program* handle() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  friend class Device;
  friend class Launch;
  std::shared_ptr<Device> device_;
  tenon_program* handle_ = nullptr;
  ProgramInfo info_;
};

// Gives batches to a run, on the run's own thread and only inside it.
class Feed {
 public:
  virtual ~Feed() = default;
  // Fills one buffer a FEED input for iteration i; false: stop here.
  virtual bool next(uint64_t i, std::span<Buffer*> feeds) = 0;
  virtual void release(uint64_t i) = 0;
};

class Queue;

// The arguments of a run, laid out once and changed in place: running allocates nothing.
class Launch {
 public:
  Launch(const Program& program, int n_inputs, int n_results, int n_scalars, int max_iterations, int n_feeds = 0);
  Launch(Launch&&) = default;
  // Buffers are borrowed. An input left unset is fed.
  void set_input(int i, const Buffer& buffer) { inputs_[i] = buffer.handle_; }
  void set_result(int i, const Buffer& buffer) { results_[i] = buffer.handle_; }
  void set_scalar(int iteration, int scalar, double value) { scalars_[iteration * n_scalars_ + scalar].f = value; }
  void set_scalar(int iteration, int scalar, int64_t value) { scalars_[iteration * n_scalars_ + scalar].i = value; }

 private:
  friend class Queue;
  union Number {
    double f;
    int64_t i;
  };
  tenon_program* program_;
  int n_scalars_;
  std::vector<tenon_buffer*> inputs_, results_;
  std::vector<Number> scalars_;
  std::vector<Buffer*> feeds_;
};

class Queue {
 public:
  Queue() = default;
  Queue(Queue&& other) noexcept { *this = std::move(other); }
  Queue& operator=(Queue&& other) noexcept;
  ~Queue();

  // Copies dense row-major contents and waits for it.
  Status write(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset = 0);
  Status read(const Buffer& from, void* to, uint64_t bytes, uint64_t offset = 0);
  Status copy(const Buffer& to, uint64_t to_offset, const Buffer& from, uint64_t from_offset, uint64_t bytes);
  // Runs 1..max_iterations steps and waits; the result is how many were done (fewer when the feed
  // stopped or an UNTIL result came true).
  Result<uint32_t> run(Launch& launch, uint32_t iterations, Feed* feed = nullptr);
  // What the backend says of the failure that the last call met.
  const QueueFailure& failure() const { return failure_; }

 private:
  friend class Device;
  friend class FeedBridge;
  Status wait(uint64_t ticket, const char* entry, const tenon_program* program = nullptr);
  void ask_failure(const tenon_status& status, const tenon_program* program);
  Status stage(const Buffer& buffer, uint64_t* ticket);
  std::shared_ptr<Device> device_;
  tenon_queue* handle_ = nullptr;
  uint64_t last_ticket_ = 0;
  QueueFailure failure_;
  std::unique_ptr<Queue> feeder_;  // copies batches of a device that has no HOST memory
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Use open_device (backend/registry.h).
  Device(const tenon_backend& backend, tenon_device* handle, std::string name, std::vector<UnitInfo> units);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }  // "cpu", "tpu-emulator:v3-8"
  const std::vector<UnitInfo>& units() const { return units_; }
  // Those units, of all processes of the job (tenon/processes.h), which each have as many of their own; a step's replicas.
  int replicas() const { return static_cast<int>(units_.size()) * processes_; }
  int processes() const { return processes_; }
  int rank() const { return rank_; }  // of this one

  // host: memory of the host that both sides see. split: of a type of all replicas, of which this process has its share, which the
  // buffer's type says.
  Result<Buffer> allocate(const Type& type, bool host = false, bool split = false);
  Result<Queue> create_queue();
  // One answer a node. `graph` is finished.
  Result<std::vector<NodeVerdict>> supports(const GraphImage& graph, std::span<const uint32_t> nodes,
                                            const ProgramOptions& options);
  // On kOutOfMemory, *info (when given) tells what would be needed.
  Result<Program> compile(const GraphImage& graph, const ProgramOptions& options, ProgramInfo* info = nullptr);
  // Passes events of programs compiled with `trace` to the sink until end_trace, which flushes. One trace at a time.
  // kUnsupported: the backend does not trace.
  Status begin_trace(TraceSink& sink);
  Status end_trace();
  // `refused`; where that is for lack of memory, with what was asked for (bytes; 0: unknown) and what the memory holds. A
  // report of several lines has told it.
  Status with_memory(const Status& refused, uint64_t asked) const;
  uint64_t bytes_in_use() const;
  uint64_t bytes_peak() const;
  // As far as the backend tells.
  DeviceFacts facts() const;

  const tenon_backend& backend() const { return backend_; }

 private:
  friend class Queue;
  struct Trace;
  // nullptr: to nobody. False: there is somebody else.
  bool send_trace_to(TraceSink* sink);
  const tenon_backend& backend_;
  tenon_device* handle_;
  std::string name_;
  std::vector<UnitInfo> units_;
  int rank_, processes_;
  std::unique_ptr<Trace> trace_;  // from the first on
};

}  // namespace tenon
