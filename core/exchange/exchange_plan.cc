#include "exchange/exchange_plan.h"

#include <algorithm>
#include <utility>

#include "exchange/shared_room.h"

namespace tenon {
namespace {

constexpr size_t kLittleBytes = 16 << 10;  // of all arrays: the rounds of messages cost more than the bytes
constexpr size_t kLeastShared = 2 << 10;   // a piece in memory that many processes see: less is all waiting

// Arrays in pieces of about one size: parts of large ones, several small ones.
std::vector<ExchangePiece> cut_into(size_t piece_bytes, std::span<const size_t> bytes_of) {
  std::vector<ExchangePiece> pieces;
  ExchangePiece small;
  const auto flush = [&] {
    if (small.bytes > 0) pieces.push_back(std::move(small));
    small = {};
  };
  for (size_t a = 0; a < bytes_of.size(); ++a) {
    const size_t bytes = bytes_of[a];
    if (bytes == 0) continue;
    if (bytes <= piece_bytes / 4) {
      if (small.bytes + bytes > piece_bytes) flush();
      small.spans.push_back({a, 0, bytes});
      small.bytes += bytes;
      continue;
    }
    for (size_t at = 0; at < bytes; at += piece_bytes) {
      const size_t size = std::min(piece_bytes, bytes - at);
      pieces.push_back({{{a, at, size}}, size});
    }
  }
  flush();
  return pieces;
}

// The same of each process's share in turn.
std::vector<ExchangePiece> cut_shares(size_t piece_bytes, std::span<const size_t> bytes_of, size_t processes) {
  std::vector<size_t> shares(bytes_of.begin(), bytes_of.end());
  for (size_t& share : shares) share /= processes;
  std::vector<ExchangePiece> out;
  for (const ExchangePiece& piece : cut_into(piece_bytes, shares))
    for (size_t owner = 0; owner < processes; ++owner) {
      out.push_back(piece);
      for (ExchangePiece::Span& s : out.back().spans) s.offset += owner * shares[s.array];
    }
  return out;
}

}  // namespace

size_t shared_piece_bytes(size_t processes, size_t units) {
  return SharedRoom::kSlotBytes / (processes * units + 1) / 64 * 64;
}

bool goes_in_rounds(size_t bytes) { return bytes <= kLittleBytes; }

ExchangePlan plan_exchange(ExchangeWork work, std::span<const size_t> bytes, size_t processes, size_t units,
                           bool shared) {
  const size_t slot = shared_piece_bytes(processes, units);
  const bool in_memory = shared && slot >= kLeastShared;
  const size_t piece_bytes = in_memory ? std::min(kMostPieceBytes, slot) : kMostPieceBytes;
  ExchangePlan out;
  out.pieces =
      work == ExchangeWork::kAllReduce ? cut_into(piece_bytes, bytes) : cut_shares(piece_bytes, bytes, processes);
  out.rounds = (out.pieces.size() + processes - 1) / processes;
  size_t total = 0;
  for (const ExchangePiece& piece : out.pieces) total += piece.bytes;
  if (total > 0)
    out.way = goes_in_rounds(total * units) ? ExchangeWay::kRounds
              : in_memory                   ? ExchangeWay::kMemory
                                            : ExchangeWay::kMessages;
  return out;
}

}  // namespace tenon
