// What a backend says of a program's plan (tenon_backend.describe), by its own numbers.
#pragma once

#include <string>
#include <vector>

#include "backend/device.h"

namespace tenon {

struct ProgramStep {
  std::string op, algorithm;
  int64_t node = -1;  // of the image; -1: a copy to a result's place
  uint32_t unit = 0;
  std::vector<uint32_t> nodes;  // that it does
  uint64_t scratch_bytes = 0;
};

struct ProgramBuffer {
  enum class Memory : uint8_t { kWorkspace, kInput, kResult, kConstant };
  Memory memory = Memory::kWorkspace;
  int64_t index = -1;  // of the input or result; -1: none
  uint32_t first = 0, last = 0;
  uint64_t bytes = 0, offset = 0;
};

struct ProgramValue {
  uint32_t node = 0, unit = 0, buffer = 0;
  int64_t result = -1;  // of the node; -1: a value that the graph does not have
  uint64_t bytes = 0, offset = 0;
};

// All numbers of steps, buffers and nodes are in range.
struct ProgramDescription {
  std::vector<ProgramStep> steps;
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramValue> values;
};

// `nodes`: of the image that the program was compiled from. kUnsupported: the backend does not say.
Result<ProgramDescription> describe(const Device& device, const Program& program, uint32_t nodes);

}  // namespace tenon
