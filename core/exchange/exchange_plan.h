// How arrays go between processes: what their sizes decide, for a Reducer and for what is predicted of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

enum class ExchangeWork : uint8_t { kAllReduce, kReduceScatter, kAllGather };

enum class ExchangeWay : uint8_t {
  kNone,      // there is nothing
  kRounds,    // what is little goes to everybody, who adds it up, in log2(processes) rounds
  kMemory,    // pieces go to who adds them up, and their sums to all, through memory that all see
  kMessages,  // the same by messages
};

// About one size: a part of a large array, or several small ones.
struct ExchangePiece {
  struct Span {
    size_t array, offset, bytes;
  };
  std::vector<Span> spans;
  size_t bytes = 0;
};

struct ExchangePlan {
  ExchangeWay way = ExchangeWay::kNone;
  // Piece i is that of process i modulo their number: of any, where all get the whole; else of the share that is its own.
  std::vector<ExchangePiece> pieces;
  size_t rounds = 0;  // of a piece for each process
};

// What is gathered or dealt is of equal shares, by rank: `bytes` are those of the whole, for each array. `shared`: all see some memory.
// REQUIRED: processes >= 1, units >= 1.
ExchangePlan plan_exchange(ExchangeWork work, std::span<const size_t> bytes, size_t processes, size_t units, bool shared);

inline bool sums(ExchangeWork work) { return work != ExchangeWork::kAllGather; }
inline bool spreads(ExchangeWork work) { return work != ExchangeWork::kReduceScatter; }

constexpr size_t kRoundsAhead = 2;  // rounds of messages that are under way before one is added up
constexpr size_t kMostPieceBytes = 256 << 10;  // stays in the second cache between its arrival and its sum
// The size of a piece in memory that all see, of which a slot has a part of each replica, and the sum.
size_t shared_piece_bytes(size_t processes, size_t units);
// Whether so much, of one unit or all, goes in log2(processes) rounds.
bool goes_in_rounds(size_t bytes);

}  // namespace tenon
