// The layer's memory of one backend: every handle that is alive, what it is and who uses it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "validation/graph_check.h"
#include "validation/report.h"
#include "validation/thread_state.h"

namespace tenon::plugin::validation {

enum class Kind : uint8_t { kDevice = 1, kBuffer, kQueue, kProgram };
const char* kind_name(Kind kind);

// A submission that may not be complete.
struct Use {
  uint64_t queue;  // serial
  uint64_t ticket;
};

struct Device;
struct Layer;

struct Object {
  Object(Kind k, void* backends, Device* of) : kind(k), inner(backends), device(of) {}
  virtual ~Object() = default;
  Kind kind;
  uint64_t serial = 0;
  void* inner;
  Device* device;         // nullptr for devices
  uint32_t users = 0;     // calls in progress; under the layer's mutex
  std::vector<Use> uses;  // likewise; empty on INLINE units
};

// Passes a backend's events on as long as the host's sink is there.
struct Trace {
  Layer* layer = nullptr;
  std::mutex mutex;
  const tenon_sink* hosts = nullptr;
  tenon_sink backends{};
};

struct Device : Object {
  explicit Device(tenon_device* d) : Object(Kind::kDevice, d, nullptr) {}
  bool is_inline = true;
  uint32_t units = 1, feed_depth = 1;
  std::atomic<bool> lost{false};
  std::map<uintptr_t, Object*> host_memory;  // end of the memory of HOST buffers; under the layer's mutex
  Trace* trace = nullptr;                    // kept by the layer
};

struct Buffer : Object {
  Buffer(tenon_buffer* b, Device* d) : Object(Kind::kBuffer, b, d) {}
  TensorType type;
  int32_t placement = 0;
  uint64_t bytes = 0, row_bytes = 0;
  uintptr_t memory_end = 0;  // of a HOST buffer; else 0
};

struct Program : Object {
  Program(tenon_program* p, Device* d) : Object(Kind::kProgram, p, d) {}
  Signature signature;
  uint32_t max_iterations = 1;
  uint32_t nodes = 0, inputs = 0;  // of its graph
};

struct Queue;

// Between the host's feed and the backend, for the runs of one queue, one after the other.
struct FeedGuard {
  Layer* layer = nullptr;
  Queue* queue = nullptr;
  const Program* program = nullptr;
  const tenon_feed* feed = nullptr;  // set while run is in progress
  std::thread::id thread;
  uint64_t iterations = 0, given = 0, released = 0;
  bool stopped = false;
  std::vector<std::vector<Buffer*>> batches;  // by iteration, those that are unreleased
  std::vector<tenon_buffer*> handles;
  bool broken = false;
  Broken what{};  // the first violation; run answers with it
};

struct Queue : Object {
  Queue(tenon_queue* q, Device* d) : Object(Kind::kQueue, q, d) {}
  const char* submitting = nullptr;  // the entry in progress; under the layer's mutex, as all below but scratch
  std::thread::id submitter;
  uint64_t given = 0, completed = 0;
  uint64_t short_ticket = 0;  // a run that did less than it was told: its wait has to say why
  std::string failure;        // the first cause; sticks
  FeedGuard* feed = nullptr;  // kept by the layer
  std::vector<tenon_buffer*> inputs, results;
  std::vector<tenon_point> after;
};

struct Layer {
  tenon_backend inner{};
  std::string name;
  uint8_t slot = 0;
  std::mutex mutex;
  std::unordered_map<uint64_t, std::unique_ptr<Object>> objects;  // by serial
  uint64_t last_serial = 0;
  std::map<std::pair<Kind, const void*>, const Object*> by_inner;
  std::vector<std::shared_ptr<void>> kept;  // what a backend may still call when it should not any more

  template <class T>
  T* keep(T* made) {
    const std::lock_guard<std::mutex> lock(mutex);
    kept.push_back(std::shared_ptr<T>(made));
    return made;
  }

  // Gives the object a number. Throws when the backend gave the same handle before.
  void* add(std::unique_ptr<Object> object);
  void* handle_of(const Object& object) const;
  // The backend's events speak of its own programs.
  tenon_program* outer_program(const void* inner_program);

  // The live object of a handle; throws HOST violations. `what` names it for the line. Needs the mutex.
  Object& find(const void* handle, Kind kind, const std::string& what);
  // Whether a submission that uses it may not be complete; asks the backend. Needs the mutex.
  bool outstanding(Object& object);
  void note_use(Object& object, const Queue& queue, uint64_t ticket);
};

// One call of an entry: what it uses cannot be destroyed meanwhile.
class Call {
 public:
  Call(Layer& layer, const char* entry) : layer_(layer), entry_(entry) {}
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Device& device(tenon_device* handle);
  Buffer& buffer(tenon_buffer* handle, const std::string& what);
  Program& program(tenon_program* handle);
  Queue& queue(tenon_queue* handle, const std::string& what = "queue");
  // The queue, which nobody else submits to meanwhile.
  Queue& submit_to(tenon_queue* handle);

  // Removes the object that is destroyed next; nullptr for NULL. Throws where it is in use.
  std::unique_ptr<Object> take(const void* handle, Kind kind);

  // Calls the backend. Checks what must be as it was found, the code and the message; the status has a
  // message of the layer's. Every call of `device` fails once it is lost.
  template <class F>
  tenon_status forward(Device* device, F&& body) {
    const bool was_lost = device && device->lost;
    const tenon_status status = guarded(body);
    return check_status(status, device, was_lost);
  }
  // The same for entries without a status.
  template <class F>
  void forward_void(F&& body) {
    (void)guarded([&] { return body(), tenon_status{}; });
  }

  // Marks all that this call uses as used by the submission.
  void note_uses(const Queue& queue, uint64_t ticket);

  const char* entry() const { return entry_; }
  Layer& layer() { return layer_; }

 private:
  template <class F>
  tenon_status guarded(F&& body) {
    const ThreadState before;
    tenon_status status;
    {
      const struct Inside {
        Inside() { ++inside_backend(); }
        ~Inside() { --inside_backend(); }
      } inside;
      try {
        status = body();
      } catch (...) {
        backend_broke("threw an exception");
      }
    }
    if (const char* changed = before.restore()) backend_broke("left ", changed, " changed");
    return status;
  }
  tenon_status check_status(const tenon_status& status, Device* device, bool was_lost);
  Object& use(const void* handle, Kind kind, const std::string& what);

 public:
  // How deep this thread is in entries of backends and gangs: where the host may be called.
  static int& inside_backend();

 private:
  Layer& layer_;
  const char* entry_;
  std::vector<Object*> used_;
  Queue* submitting_ = nullptr;
};

// struct_size of what the host passes: at least that of version 1.0, and no garbage.
void check_size(uint64_t struct_size, uint64_t least, const char* type);
// Flags in bits 0-31 that this version does not define have to be refused.
void check_flags_refused(const Layer& layer, uint64_t flags, uint64_t known, const char* type);
// All bytes behind the first two fields are zero, as out structs are to be given.
void check_zeroed(const void* out, uint64_t bytes, const char* type);

#define TENON_VALIDATE_SIZE(p, type, last) \
  ((p) ? check_size((p)->struct_size, TENON_SIZE(type, last), #type) : host_broke("passes no " #type))

// ---- the entries, by file ----
tenon_status enumerate(Layer&, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count);
tenon_status device_open(Layer&, const tenon_open* open, tenon_device** out);
void device_close(Layer&, tenon_device*);
tenon_status stats(Layer&, tenon_device*, tenon_stats* out);
tenon_status trace(Layer&, tenon_device*, const tenon_sink* sink);
tenon_status supports(Layer&, tenon_device*, const tenon_graph*, const tenon_options*, const uint32_t* nodes,
                      uint32_t n, tenon_verdict* out, uint64_t stride);
tenon_status compile(Layer&, tenon_device*, const tenon_graph*, const tenon_options*, tenon_program** out,
                     tenon_info* info);
void program_destroy(Layer&, tenon_program*);
tenon_status describe(Layer&, const tenon_program*, tenon_plan* out);
tenon_status buffer_alloc(Layer&, tenon_device*, const tenon_desc*, tenon_buffer** out, void** host);
void buffer_free(Layer&, tenon_buffer*);
tenon_status queue_create(Layer&, tenon_device*, uint64_t flags, tenon_queue** out);
void queue_destroy(Layer&, tenon_queue*);
tenon_status copy(Layer&, tenon_queue*, const tenon_copy*, uint64_t* ticket);
tenon_status run(Layer&, tenon_queue*, const tenon_run*, uint64_t* ticket, uint32_t* done);
tenon_status wait(Layer&, tenon_queue*, uint64_t ticket, uint64_t timeout_ns);
tenon_status error_info(Layer&, tenon_queue*, tenon_error* out);
tenon_status facts(Layer&, tenon_device*, tenon_facts* out);

// What copy and run have in common.
void translate_after(Call&, Queue&, const tenon_point* after, uint32_t n);
tenon_status check_ticket(Call&, Queue&, const tenon_status& status, uint64_t given, uint64_t* ticket);

}  // namespace tenon::plugin::validation
