#include "unit/runtime/far_device.h"

#include <chrono>
#include <cstring>

namespace tenon::plugin::testing {

void Far::set_gate(bool open) {
  const std::lock_guard lock(mutex_);
  open_ = open;
  passes_ = 0;
  changed_.notify_all();
}

void Far::pass_gate() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return open_ || passes_ > 0; });
  if (!open_) --passes_;
}

void Far::let_one_pass() {
  const std::lock_guard lock(mutex_);
  ++passes_;
  changed_.notify_all();
}

namespace {

// What an address names: no pointer that a kernel could follow by mistake.
struct FarMemory {
  std::vector<uint8_t> bytes;
};

uint8_t* at(DeviceAddress a) { return static_cast<FarMemory*>(a.memory)->bytes.data() + a.offset; }

class FarMark : public DeviceMark {
 public:
  explicit FarMark(Far& far) : far_(far) {}
  void reach() {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    changed_.notify_all();
  }
  bool reached(uint64_t timeout_ns) override {
    if (timeout_ns > 0) ++far_.waits;
    if (timeout_ns > 0 && far_.opens_for_waiters) far_.open_gate();
    return wait(timeout_ns);
  }
  bool wait(uint64_t timeout_ns) {
    if (far_.lost) throw Error(TENON_DEVICE_LOST, "the far device fell off");
    std::unique_lock lock(mutex_);
    const auto most = std::chrono::nanoseconds(std::min<uint64_t>(timeout_ns, uint64_t{1} << 60));
    return changed_.wait_for(lock, most, [&] { return reached_; });
  }

 private:
  Far& far_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

class FarStream : public DeviceStream {
 public:
  explicit FarStream(Far& far) : far_(far), thread_([this] { loop(); }) {}
  ~FarStream() override {
    enqueue(nullptr);
    thread_.join();
  }

  void enqueue(std::function<void()> work) {
    if (far_.lost) throw_lost(work == nullptr);
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) override {
    check(bytes);
    enqueue([=] { std::memcpy(at(to), at(from), bytes); });
  }
  void write(DeviceAddress to, const void* from, uint64_t bytes) override {
    check(bytes);
    enqueue([=] { std::memcpy(at(to), from, bytes); });
  }
  void read(void* to, DeviceAddress from, uint64_t bytes) override {
    check(bytes);
    enqueue([=] { std::memcpy(to, at(from), bytes); });
  }
  void set(DeviceAddress to, const void* element, uint32_t width) override {
    uint64_t kept = 0;
    std::memcpy(&kept, element, width);
    enqueue([=] { std::memcpy(at(to), &kept, width); });
  }
  void after(DeviceMark& mark) override {
    auto& other = static_cast<FarMark&>(mark);
    enqueue([&other] { other.wait(UINT64_MAX); });
  }
  std::shared_ptr<DeviceMark> submit() override {
    auto mark = std::make_shared<FarMark>(far_);
    enqueue([mark] { mark->reach(); });
    kept_.push_back(mark);  // `after` of another stream may still look at it
    return mark;
  }

 private:
  static void check(uint64_t bytes) {
    if (bytes == 0) throw Error(TENON_INTERNAL, "the far device copies no empty memory");
  }
  static void throw_lost(bool ending) {
    if (!ending) throw Error(TENON_DEVICE_LOST, "the far device fell off");
  }
  void loop() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !work_.empty(); });
        work = std::move(work_.front());
        work_.pop_front();
      }
      if (!work) return;
      if (!far_.lost) work();
    }
  }

  Far& far_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::vector<std::shared_ptr<DeviceMark>> kept_;
  std::thread thread_;
};

class FarDriver : public DeviceDriver {
 public:
  explicit FarDriver(Far& far) : far_(far) {}
  void* allocate(uint64_t bytes) override {
    if (far_.lost) throw Error(TENON_DEVICE_LOST, "the far device fell off");
    if (bytes == 0 || bytes > far_.largest_buffer) return nullptr;
    if ((far_.bytes_left -= static_cast<int64_t>(bytes)) < 0) {
      far_.bytes_left += static_cast<int64_t>(bytes);
      return nullptr;
    }
    ++far_.allocations;
    return new FarMemory{std::vector<uint8_t>(bytes, 0xCD)};
  }
  void release(void* memory, uint64_t bytes) override {
    if (far_.kernels < far_.enqueued) ++far_.early;
    --far_.allocations;
    far_.bytes_left += static_cast<int64_t>(bytes);
    delete static_cast<FarMemory*>(memory);
  }
  void* allocate_host(uint64_t bytes) override {
    ++far_.of_host;
    return std::aligned_alloc(64, bytes);
  }
  void release_host(void* memory, uint64_t) override {
    --far_.of_host;
    std::free(memory);
  }
  std::unique_ptr<DeviceStream> open_stream() override { return std::make_unique<FarStream>(far_); }
  uint64_t memory_bytes() const override { return 1 << 20; }
  uint64_t largest_buffer() const override { return far_.largest_buffer; }
  std::string refusal(const NodeView& node) const override {
    return node.out(0).dtype() == TENON_F64 ? "the far device has no f64" : "";
  }

 private:
  Far& far_;
};

void add(const Call& call, int64_t n) {
  const DeviceAddress a = call.in_address(0), b = call.in_address(1), y = call.out_address(0);
  ++far_device().enqueued;
  static_cast<FarStream*>(call.stream)->enqueue([=] {
    far_device().pass_gate();
    for (int64_t i = 0; i < n; ++i)
      reinterpret_cast<float*>(at(y))[i] = reinterpret_cast<float*>(at(a))[i] + reinterpret_cast<float*>(at(b))[i];
    ++far_device().kernels;
  });
}

void fill_far(KernelTable& table) {
  table.add(
      "add", [](const NodeView&) { return take(); },
      [](const NodeView& node, const Env&) {
        Kernel kernel;
        kernel.in_place = {{0, 0}};
        kernel.run = [n = node.out(0).elements()](const Call& call) { add(call, n); };
        return kernel;
      });
  table.add(
      "far.fail", [](const NodeView&) { return take(); },
      [](const NodeView&, const Env&) {
        Kernel kernel;
        kernel.run = [](const Call&) { throw Error(TENON_INTERNAL, "the far device has no such kernel", 7); };
        return kernel;
      });
  table.add(
      "far.triple", [](const NodeView&) { return take(); },
      [](const NodeView&, const Env&) { return Kernel(); });  // it is rewritten
}

Rewritten write_triples(const GraphView& graph, const Env&) {
  Rewrite rewrite(graph);
  bool any = false;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    if (node.op() != "far.triple") {
      rewrite.copy(node);
      continue;
    }
    any = true;
    const uint32_t x = rewrite.value(node.operand_id(0)),
                   twice = rewrite.fresh(node.in(0).dtype(), node.in(0).dims().vec());
    rewrite.add("add", {x, x}, {twice}, node);
    rewrite.add("add", {twice, x}, {rewrite.value(node.result_id(0))}, node);
  }
  return any ? rewrite.finish() : Rewritten{};
}

std::vector<tenon_unit> far_units(const std::string&) {
  tenon_unit unit{};
  unit.kind = TENON_ACCELERATOR;
  unit.memory_bytes = unit.max_buffer_bytes = 1 << 20;
  std::strcpy(unit.name, "far");
  return {unit};
}

std::unique_ptr<DeviceDriver> open_far(const std::string&, uint32_t, const tenon_host&) {
  return std::make_unique<FarDriver>(far_device());
}

}  // namespace

Far& far_device() {
  static Far far;
  return far;
}

const DeviceBackend& far_backend() {
  static const DeviceBackend backend{"far", "1", fill_far, far_units, open_far, write_triples};
  return backend;
}

}  // namespace tenon::plugin::testing
