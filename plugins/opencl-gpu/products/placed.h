// A kernel as a part of another: its operands and results are places in what the whole one has.
#pragma once

#include <array>

#include "products/products.h"

namespace opencl_gpu {

struct Spot {
  enum Kind { kAbsent, kOperand, kResult, kScratch } kind = kAbsent;
  int index = 0;
  uint64_t offset = 0;  // bytes

  Spot plus(uint64_t bytes) const { return {kind, index, offset + bytes}; }
};
inline Spot operand_at(int i) { return {Spot::kOperand, i, 0}; }
inline Spot result_at(int i) { return {Spot::kResult, i, 0}; }
inline Spot scratch_spot(uint64_t offset) { return {Spot::kScratch, 0, offset}; }

constexpr size_t kMostSpots = 8;
using Spots = std::array<Spot, kMostSpots>;

// Runs `kernel` with these as its operands and results, and its scratch at `scratch` of the whole kernel's.
void run_placed(const Kernel& kernel, const Call& call, const Spots& operands, const Spots& results, uint64_t scratch);

}  // namespace opencl_gpu
