// What can train here: the backends that were found, their units, and what was refused and why.
//
// Backends are shared libraries NAME.so in these directories, in order; the first of a name wins:
//   1. those of TENON_PLUGIN_PATH: absolute, separated by ':' (ignored in set-uid programs);
//   2. the user's: $XDG_DATA_HOME/tenon/plugins, or ~/.local/share/tenon/plugins;
//   3. lib/tenon and lib64/tenon beside the running program's directory;
//   4. where Tenon was installed: as find_package(Tenon) or pkg-config found it (directories named "tenon" of the program's
//      RUNPATH), then as it was built for.
// Never the current directory, never a directory or file that others than root and the user may write or exchange,
// itself or what lies above it; a group that has its owner's number counts as the owner's own.
//
// A device is named NAME[:SPEC]: a backend and what it makes of SPEC ("cpu", "tpu-emulator:v3-8"), or
// "auto": the best unit that is not emulated (accelerator, then GPU, then CPU), or "tpu": the same, for those who ask
// for a TPU and are told what they got instead.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// A core or a card. All the strings here are printable, whatever the backend said.
struct UnitInfo {
  std::string name, version;
  std::string kind;                                 // "cpu", "gpu", "accelerator"
  uint64_t memory_bytes = 0, max_buffer_bytes = 0;  // the largest value that it can hold; 0: unknown
  int feed_depth = 1;                               // batches that it may hold at a time
  int host = 0;                                     // which machine of the device it is in
  int domain = 0;                                   // units of one domain train together
  bool emulated = false;                            // never chosen by "auto"
};

// What a device tells of itself once it is open; empty: nothing.
struct DeviceFacts {
  std::string kind;  // as profiles call it: "CPU", "GPU", "TPU"
  std::string vendor, driver;
  std::string topology;  // of its units: "2x2x1"
  // What the times of its traces are: of a clock of its own, of the host's, or predicted.
  enum class Clock : uint8_t { kOwn, kMonotonic, kPredicted } trace_clock = Clock::kOwn;
};

struct BackendInfo {
  std::string name, version, path;
  std::vector<UnitInfo> units;  // of the default SPEC
  Status status;                // why it has no units now, or ok
  // What is listed beside the units, for people: "TPU_SYSTEM:0 of a v3-8, emulated".
  std::vector<std::string> beside = {};
  DeviceFacts facts = {};  // of its device, where that was opened
};

struct Refusal {
  std::string path;   // a file or directory
  std::string cause;  // one line
  // True where passing it over is no fault: the machine lacks the device, or the one that was taken is as good.
  bool expected = false;
};

struct Discovery {
  std::vector<std::string> directories;  // searched, in order, whether they exist or not
  std::vector<BackendInfo> backends;
  std::vector<Refusal> refusals;
};

// Everything that can be found. Each backend is looked at in a child process of its own, all at once, so that one which
// crashes or hangs costs its own line alone, and some seconds; none is loaded into this process. The device is opened
// there too, unless it is emulated, which may take long, and not asked for by name: what is listed can be opened.
// Thread safe. With a device, NAME[:SPEC], backends of that name only, and their units of SPEC; refusals are all there
// all the same.
Discovery discover_backends(std::string_view device = "auto");

// What a device's name stands for here, without opening it.
struct ResolvedDevice {
  std::string device;  // NAME[:SPEC] of a backend
  std::string kind;    // of its units
  int replicas = 1;    // units that train in sync, each on its part of the batch; those of all processes of a job
  bool emulated = false;
  // One line: "looked for a TPU, a GPU, a CPU; found cpu (cpu), tpu-emulator (emulated: only by name)".
  std::string searched;
  std::vector<Refusal> passed_over = {};  // what "auto" and "tpu" tried and did not take
};

// Loads what it has to. kUnavailable: there is nothing of that name, or nothing at all. Thread safe.
Result<ResolvedDevice> resolve_device(std::string_view device = "auto");

// The first of these that is here: kinds, "tpu" (any accelerator), "gpu", "cpu", of which the best that is not emulated
// is taken, or devices by name. What was passed over says why.
//   Strategy strategy(resolve_device({"tpu", "gpu", "cpu"}).take().device);
// Errors: kUnavailable where none of them is here.
Result<ResolvedDevice> resolve_device(std::initializer_list<std::string_view> wanted);

}  // namespace tenon
