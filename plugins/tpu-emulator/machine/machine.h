// A TPU as the emulator models it: read from share/tpu/NAME.json (share/doc/tpu-emulator.md describes the file).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tpu {

struct Machine {
  std::string name;        // "v3-8"
  std::string generation;  // "v3"
  std::string software;    // whose speed the constants were fitted to: "TensorFlow 1.12"
  bool validated = false;  // against measurements of real machines; its own file says so, not that of one it is like
  // TensorFlow's ops that this software has kernels for and older software had not: "ImageProjectiveTransformV3".
  std::vector<std::string> kernels;

  // ---- the slice ----
  int cores = 8;  // all hosts together
  int hosts = 1;
  int cores_per_chip = 2;
  uint64_t reported_memory_bytes = 17179869184;  // what TensorFlow lists for a core

  // ---- a core ----
  double clock_hz = 0;
  int matrix_units = 1;             // of 128 x 128
  uint64_t hbm_bytes = 0;           // of a core
  uint64_t hbm_reserved_bytes = 0;  // of those, not usable by programs
  double hbm_bytes_per_s = 0;       // what programs reach
  double hbm_peak_bytes_per_s = 0;  // as published; 0: unknown

  // ---- how well it does: fitted constants, within the bounds of machine.cc; share/doc/tpu-emulator.md says what each was
  // fitted to ----
  double matrix_efficiency = 0.86;
  double vector_ops_per_cycle = 2048;  // 8 x 128 lanes, two operations each
  double overlap_loss = 0;          // of a kernel's transfers and products, the share of the shorter that is not hidden
  double launch_s = 1.5e-6;         // of a kernel
  double update_extra_bytes = 8;    // an optimizer moves for each parameter beside its operands and results
  double rmsprop_extra_bytes = 14;  // RMSProp moves beside that
  double collective_bytes_per_s = 0;    // all-reduce, of one core
  double collective_launch_s = 5e-6;    // of a gradient's all-reduce
  double collective_fill_s = 25e-6;     // until its pieces travel on all links, reached at
  double collective_piece_bytes = 1e6;  // this size and less for smaller ones
  double collective_slowdown_beyond_host = 0.6;
  double infeed_bytes_per_s = 5.35e9;  // of a host
  double infeed_one_hot_bytes_per_s =
      5.35e9;  // of a host: labels that are widened to one row of floats for each example
  double infeed_one_hot_element_s =
      60e-9;  // of such labels while they are too few to be dealt over the host's threads:
  double infeed_one_hot_serial_elements = 65536;  // up to this number of floats, then fading
  double infeed_example_s = 0.22e-6;
  double infeed_step_s = 2e-3;  // of a batch, whatever its size
  double infeed_jitter = 0.4;   // standard deviation of a batch's time, relative: an empty queue stalls the device
  double infeed_jitter_most_s = 8e-3;  // up to this
  double outfeed_bytes_per_s = 5.35e9;
  double host_step_s = 2.2e-3;  // of a step at 100 iterations a loop: the device waits
  bool sharded_update = false;  // the optimizer's work is dealt over the replicas

  uint64_t usable_bytes() const { return hbm_bytes - hbm_reserved_bytes; }
  double peak_flops() const { return 2.0 * 128 * 128 * matrix_units * clock_hz; }  // bf16, of a core
};

// Where machine files are looked for, in order: TENON_TPU_PATH (folders, parted by colons), share/tpu beside the
// library's directory or one above it, where Tenon was installed. Names are those of files without ".json", sorted with
// numbers as such: v2-8, v2-32.
std::vector<std::string> machine_names();

// Throws tenon::plugin::Error: UNAVAILABLE naming the known machines for an unknown name; INVALID naming file and field for
// a file that cannot be read, misses a field, or contradicts itself.
Machine load_machine(const std::string& name);

// The same of a file's text; `file` is for messages.
Machine parse_machine(const std::string& text, const std::string& name, const std::string& file);

}  // namespace tpu
