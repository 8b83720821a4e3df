// From a graph to C, and from C to code.
#pragma once

#include <string>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/plugin/graph.h"

namespace compiler {

// The function that a module defines. in, out: the buffers of the inputs that are no scalars, and of the results, one row
// each. k: constants. s: scalars, 8 bytes each. a: arena_bytes of memory, undefined.
using Step = void (*)(uint8_t* const* in, uint8_t* const* out, const uint8_t* k, const uint64_t* s, uint8_t* a);

struct Module {
  std::string source;
  std::vector<uint8_t> constants;
  uint64_t arena_bytes = 0;
};

// Throws plugin::Error UNSUPPORTED, which names the node, unless every node is taken.
Module emit(const tenon::plugin::GraphView& graph);

// Throws plugin::Error UNAVAILABLE unless there is a C compiler.
void check_compiler();

// A loaded module: from the host's cache, or compiled now.
class Code {
 public:
  // Throws plugin::Error.
  Code(const tenon_host& host, const std::string& source);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  Step step = nullptr;
  uint64_t bytes = 0;

 private:
  void* library_ = nullptr;
};

}  // namespace compiler
