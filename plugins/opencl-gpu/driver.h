// One OpenCL device, open: the hooks of the SDK runtime over a context and its command queues.
#pragma once

#include <map>
#include <mutex>

#include "api.h"
#include "devices.h"
#include "tenon/plugin/device_driver.h"

namespace opencl_gpu {

// What kernels are written for.
enum class Shape {
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
  cl_command_queue queue() const { return queue_.get(); }

 private:
  CommandQueue queue_;
};

// What stays of a device when it is closed, as long as the process lives: drivers do not give all of a context or a program
// back, and who opens it again has its programs at once.
struct OpenDevice {
  static OpenDevice& of(const Found& found);

  Context context;
  std::mutex mutex;  // of the programs
  std::map<std::string, Program> programs;
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
  std::string refusal(const tenon::plugin::NodeView& node) const override;

  Shape shape() const { return shape_; }
  uint32_t compute_units() const { return compute_units_; }
  uint64_t local_bytes() const { return local_bytes_; }
  uint32_t float_width() const { return float_width_; }  // floats in a native vector

  // A kernel object of its own for who asks, from the text of kernels/FILE.cl or from `text`; programs are made once for each
  // text and options, and kept in the host's cache. Throws INTERNAL with the build's log.
  KernelObject kernel(const std::string& file, const std::string& name, const std::string& options);
  KernelObject kernel_of_text(const std::string& text, const std::string& name, const std::string& options);

 private:
  cl_program program(const std::string& text, const std::string& name, const std::string& options);
  Program build(const std::string& text, const std::string& name, const std::string& options, const std::string& key);
  Program load(const std::string& key, const std::string& options);
  void save(cl_program program, const std::string& key);
  bool is_there(cl_mem memory);

  Found found_;
  tenon_host host_;
  Shape shape_;
  OpenDevice* device_;
  uint64_t memory_, max_buffer_, local_bytes_;
  uint32_t compute_units_, float_width_;
  bool has_f64_;
  bool keeps_programs_;  // in the host's cache
  std::mutex mutex_;     // of what follows
  CommandQueue side_;    // for what is no work of a stream
  std::map<void*, cl_mem> pinned_;
};

inline Driver& driver_of(tenon::plugin::DeviceDriver& d) { return static_cast<Driver&>(d); }

}  // namespace opencl_gpu
