// Where the values of a step lie in its arena.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::plugin {

inline uint64_t align_up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// A stretch of the arena that is alive from step `first` to step `last`.
struct Block {
  uint32_t first, last;
  uint64_t bytes;
  uint64_t offset = 0;
};

// Gives each block its offset; returns the bytes that all take up.
uint64_t place_blocks(std::vector<Block>& blocks);

}  // namespace tenon::plugin
