// A whole backend in ordinary memory that takes whole graphs: it answers which nodes it takes, and makes of a graph a
// program that computes one iteration on the calling thread (TENON_UNIT_INLINE).
//
// Supplies every entry of the ABI but `trace`: enumeration of one unit, buffers, queues, the checks and the binding of
// a run's arguments, batches, scalars, rows of results and the end of a run. As host_backend.h, with a compiler in the
// place of the kernel table. C++17.
#pragma once

#include <memory>

#include "tenon/plugin/graph.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

class InlineProgram {
 public:
  virtual ~InlineProgram() = default;
  // One iteration. in: of each input that is no scalar; out: of each result, this iteration's row; scalars: in order,
  // each in its dtype at the start of its 8 bytes; workspace: 64-byte aligned, undefined. A state and the result that
  // updates it in place are the same memory. Called by one thread at a time.
  virtual void step(uint8_t* const* in, uint8_t* const* out, const uint64_t* scalars, uint8_t* workspace) const = 0;

  uint64_t workspace_bytes = 0;
  uint64_t code_bytes = 0;  // of code and constants, to be told
};

struct InlineBackend {
  const char* name;
  const char* version;
  const char* unit_name;
  // What the backend answers for a node; pure.
  Verdict (*verdict_of)(const NodeView& node) = nullptr;
  // Compiles a graph all of whose nodes are taken. Keeps no pointer into it. Throws Error.
  std::unique_ptr<InlineProgram> (*compile)(const GraphView& graph, const tenon_options& options,
                                            const tenon_host& host) = nullptr;
  // Throws UNAVAILABLE where the machine lacks what `compile` needs; may be NULL.
  void (*check_available)() = nullptr;
};

// As init_host_backend (tenon/plugin/host_backend.h).
tenon_status init_inline_backend(const InlineBackend& backend, const tenon_host* host, tenon_backend* out);

}  // namespace tenon::plugin
