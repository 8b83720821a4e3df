// A whole backend in ordinary memory, made of a kernel table.
//
// Supplies every entry of the ABI: enumeration, buffers, queues, supports, compile
// (by the planner) and run (by the executor). A backend is then its kernels and these few lines:
//
//   TENON_DECLARE_BACKEND
//   tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
//     static const tenon::plugin::HostBackend backend{"mine", "1.0", "My device", TENON_CPU, fill_table};
//     return tenon::plugin::init_host_backend(backend, host, out);
//   }
#pragma once

#include "tenon/plugin/graph_rewrite.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

struct HostBackend {
  const char* name;
  const char* version;
  const char* unit_name;
  tenon_unit_kind kind = TENON_CPU;
  void (*fill)(KernelTable&) = nullptr;  // called once, at init
  // false: one INLINE unit, whose kernels run on the host's gang of threads. true: each queue has a thread of its
  // own, submissions return at once, and a kernel runs on one thread (a gang may only be asked for inside an entry).
  bool worker_queues = false;
  // More than 1: `--device mine:units=N` is a device of N units, up to so many, that share the memory and the threads
  // (tenon/plugin/replicas.h): for trying what replicas do where there is one piece of hardware.
  uint32_t max_units = 1;
  // Called by compile for a graph all of whose nodes are taken: what is to be planned in its place, if anything.
  Rewritten (*rewrite)(const GraphView& graph, const Env& env) = nullptr;
  // Who made the machine that it computes on, if that is known; the text lives for ever.
  const char* (*vendor)() = nullptr;
  // What several units do alike is done once, for the rows of all: there is less to do, and sums have other last bits.
  // false: each unit computes what it would alone, and several have the bits of as many processes.
  bool unites_units = false;
};

// Fills `out`. `backend` must live for ever. Never throws. Refuses a table with an op that is neither one of Tenon's
// nor the backend's own, with a dot in its name or the backend's name in front: it would be misspelt.
tenon_status init_host_backend(const HostBackend& backend, const tenon_host* host, tenon_backend* out);

}  // namespace tenon::plugin

// The ELF note that the core reads before it loads the library: ABI major, minor, least host minor.
#define TENON_DECLARE_BACKEND                                                                                    \
  extern "C" __attribute__((used, section(TENON_NOTE_SECTION), aligned(4), visibility("hidden"))) const struct { \
    uint32_t owner_size, data_size, type;                                                                        \
    char owner[8];                                                                                               \
    uint32_t data[3];                                                                                            \
  } tenon_abi_note = {6, 12, TENON_NOTE_TYPE, TENON_NOTE_OWNER, {TENON_ABI_MAJOR, TENON_ABI_MINOR, 0}};
