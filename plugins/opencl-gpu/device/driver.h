// One OpenCL device, open: the hooks of the SDK runtime over a context and its command queues.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/api.h"
#include "device/devices.h"
#include "tenon/plugin/device_driver.h"

namespace opencl_gpu {

// What kernels are written for.
enum class KernelStyle {
  kGpu,  // many work items, local memory
  kCpu   // few work items, each with a loop of its own; work-groups of one
};

// In order.
class Stream : public tenon::plugin::DeviceStream {
 public:
  Stream(cl_context context, cl_device_id device);
  ~Stream() override;
  void copy(tenon::plugin::DeviceAddress to, tenon::plugin::DeviceAddress from, uint64_t bytes) override;
  void write(tenon::plugin::DeviceAddress to, const void* from, uint64_t bytes) override;
  void read(void* to, tenon::plugin::DeviceAddress from, uint64_t bytes) override;
  void set(tenon::plugin::DeviceAddress to, const void* element, uint32_t width) override;
  void after(tenon::plugin::DeviceMark& mark) override;
  std::shared_ptr<tenon::plugin::DeviceMark> submit() override;
  void clear(tenon::plugin::DeviceAddress to, uint64_t bytes);  // zeros
  cl_command_queue queue() const { return queue_.get(); }

 private:
  CommandQueue queue_;
};

// What stays of a device when it is closed, as long as the process lives: drivers do not give all of a context or a
// program back, and who opens it again has its programs at once.
struct OpenDevice {
  static OpenDevice& of(const Found& found);

  Context context;
  std::mutex mutex;  // of what follows
  std::map<std::string, Program> programs;
  std::map<std::string, std::string> choices;
};

// Since the host was last told.
struct Counts {
  std::atomic<uint64_t> built{0}, loaded{0};         // programs: by the driver's compiler, from the host's cache
  std::atomic<uint64_t> measured{0}, remembered{0};  // choices of kernels
};

class Driver : public tenon::plugin::DeviceDriver {
 public:
  Driver(const Found& found, const tenon_host& host);

  void* allocate(uint64_t bytes) override;
  void release(void* memory, uint64_t bytes) override;
  void* allocate_host(uint64_t bytes) override;
  void release_host(void* memory, uint64_t bytes) override;
  std::unique_ptr<tenon::plugin::DeviceStream> open_stream() override;
  uint64_t memory_bytes() const override { return memory_; }
  uint64_t largest_buffer() const override { return max_buffer_; }
  std::string refusal(const tenon::plugin::NodeView& node) const override;
  void compiled() override;  // tells the host what it took
  tenon::plugin::DeviceFacts facts() const override;

  KernelStyle style() const { return style_; }
  uint32_t compute_units() const { return compute_units_; }
  // Into how many parts kernels for CPUs cut long sums: not by compute units, so that bits do not depend on these.
  int64_t sum_parts() const { return 8; }
  uint64_t local_bytes() const { return local_bytes_; }
  uint64_t registers() const { return registers_; }  // of a work-group, of 32 bits; 0: the device does not say
  // Throws TooLarge where work-groups of so many items of a kernel cannot be had.
  void check_group(cl_kernel kernel, const std::string& name, size_t items) const;
  uint32_t float_width() const { return float_width_; }  // floats in a native vector

  // A kernel object of its own for who asks, from the text of kernels/FILE.cl or from `text`; programs are made once
  // for each text and options, and kept in the host's cache. Throws INTERNAL with the build's log.
  KernelObject kernel(const std::string& file, const std::string& name, const std::string& options);
  KernelObject kernel_of_text(const std::string& text, const std::string& name, const std::string& options);

  // What was chosen under a key, in this process or any; empty: nothing. And whether that can be kept.
  std::string choice_key(const std::string& text) const;
  std::string choice(const std::string& key);
  bool choose(const std::string& key, const std::string& name);
  bool remembers() const { return host_.cache_get && host_.cache_put && !forgets_; }
  Counts& counts() { return counts_; }
  void tell(const std::string& detail) const;  // who looks closely

 private:
  std::vector<unsigned char> cached(const std::string& key) const;  // empty: no such entry
  cl_program program(const std::string& text, const std::string& name, const std::string& options);
  Program build(const std::string& text, const std::string& name, const std::string& options, const std::string& key);
  Program load(const std::string& key, const std::string& options);
  void save(cl_program program, const std::string& key);
  bool is_there(cl_mem memory);

  Found found_;
  tenon_host host_;
  KernelStyle style_;
  OpenDevice* device_;
  uint64_t memory_, max_buffer_, local_bytes_, registers_;
  uint32_t compute_units_, float_width_;
  bool has_f64_;
  bool keeps_programs_;               // in the host's cache
  std::atomic<bool> forgets_{false};  // the host's cache takes nothing
  Counts counts_;
  std::mutex mutex_;   // of what follows
  CommandQueue side_;  // for what is no work of a stream
  std::map<void*, cl_mem> pinned_;
};

inline Driver& driver_of(tenon::plugin::DeviceDriver& d) { return static_cast<Driver&>(d); }

}  // namespace opencl_gpu
