// A kernel's enqueue: an OpenCL kernel object with its arguments, made when a node is compiled.
//
//   Launch add(driver, "reduce", "reduce_rows", "-D T=f32");
//   add.out(0).in(0).value<cl_ulong>(rows).items(rows);
//   kernel.run = [add](const Call& call) { add(call); };
//
// The kernel's parameters are those calls in their order: an operand, a result or scratch is a MEM(name) of
// kernels/common/prelude.cl (memory and bytes from its start), a value is what it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/driver.h"
#include "tenon/plugin/kernel.h"

namespace opencl_gpu {

using tenon::plugin::Call;
using tenon::plugin::Env;
using tenon::plugin::Kernel;
using tenon::plugin::NodeView;
using tenon::plugin::ValueView;

class Launch {
 public:
  Launch(Driver& driver, const std::string& file, const std::string& name, const std::string& options = {});
  static Launch of_text(Driver& driver, const std::string& text, const std::string& name,
                        const std::string& options = {});

  Launch& in(int operand) { return memory(kOperand, operand, 0); }
  Launch& out(int result) { return memory(kResult, result, 0); }
  Launch& scratch(uint64_t offset = 0) { return memory(kScratch, 0, offset); }
  template <class T>
  Launch& value(const T& v) {
    return bytes(&v, sizeof v);
  }
  // A struct of the kernel's, or an element of memory.
  Launch& bytes(const void* data, size_t size);

  // The kernel goes over n things by EACH (prelude.cl), `grain` or more in one work item.
  Launch& items(uint64_t n, uint64_t grain = 1);
  // n work-groups of `local` work items along each axis.
  Launch& groups(std::vector<size_t> n, std::vector<size_t> local = {});

  void operator()(const Call& call) const;

 private:
  enum Kind { kOperand, kResult, kScratch };
  struct Memory {
    Kind kind;
    int index;
    cl_uint argument;
    uint64_t offset;
    mutable uint64_t set_offset = UINT64_MAX;  // what the argument is now
  };
  struct State {
    KernelObject kernel;
    std::string name;
    std::vector<Memory> memory;
    std::vector<size_t> global, local;
    cl_uint arguments = 0;
  };
  Launch(Driver& driver, KernelObject kernel, const std::string& name);
  Launch& memory(Kind kind, int index, uint64_t offset);

  Driver* driver_;
  std::shared_ptr<State> state_;
};

// A kernel that enqueues these, one after the other.
Kernel kernel_of(std::vector<Launch> launches, uint64_t scratch_bytes = 0);

}  // namespace opencl_gpu
