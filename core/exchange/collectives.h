// What processes do together, by messages. Each is called by every process, in the same order, with the same sizes; sums are
// taken in the order of the replicas, whatever arrives first, so that they have the bits of one process with all the units.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "exchange/exchange_plan.h"
#include "exchange/shared_room.h"
#include "exchange/wire.h"
#include "tenon/ops.h"
#include "tenon/types.h"

namespace tenon {

// An array that is exchanged: a part of each unit of this process, in their order, and where the result goes, which is none of
// them. `bytes` are those of what is added up or put together.
struct ReducedArray {
  std::vector<const std::byte*> from;
  std::byte* to = nullptr;
  size_t bytes = 0;
};

// Arrays of one dtype. Small ones travel together; what is little goes to everybody, who adds it up in log2(processes)
// rounds; of more, each process adds up a share and sends it round, in pieces, so that adding and sending overlap: through memory
// that all processes see, where there is some, else by messages.
// REQUIRED: folds(dtype).
class Reducer {
 public:
  explicit Reducer(Wire& wire, std::unique_ptr<SharedRoom> room = nullptr);
  ~Reducer();
  // The sum over the units of all processes, in each.
  Status all_reduce(ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays);
  // In each the share of the sum that is its own: `bytes` are in equal shares, by rank.
  Status reduce_scatter(ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays);
  // All shares in each: `from` is one part, the own share. The dtype is of no matter.
  Status all_gather(std::span<const ReducedArray> arrays);

 private:
  using Work = ExchangeWork;
  using Piece = ExchangePiece;
  using Span = ExchangePiece::Span;
  struct Round;
  Status exchange(Work work, ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays);
  bool sums() const { return tenon::sums(work_); }
  bool spreads() const { return tenon::spreads(work_); }
  bool is_own(size_t piece) const;
  size_t share(size_t array) const;
  const std::byte* source(const Span& span, size_t unit) const;
  std::byte* target(const Span& span) const;
  Status gather_and_fold();
  Status gather_little();
  Status reduce_shared();
  Status exchange_messages();
  size_t shared_piece() const { return shared_piece_bytes(static_cast<size_t>(wire_.count()), units()); }
  uint64_t number_of(size_t round) const { return shared_rounds_ + round + 1; }
  const Piece* piece_of(int owner, size_t round) const;
  std::byte* shared_part(int owner, size_t round, size_t replica) const;
  void give_parts(size_t round);
  Status sum_own(size_t round);
  Status take_sums(size_t round);
  Status begin(Round& round, size_t first_piece);
  Status fold_own(Round& round);
  Status end(Round& round);
  const std::byte* gathered(const Piece& piece, size_t unit, std::byte* room) const;
  void scatter(const Piece& piece, const std::byte* from) const;
  bool is_direct(const Piece& piece) const { return piece.spans.size() == 1; }
  std::byte* place(const Piece& piece) const;
  size_t units() const { return arrays_[0].from.size(); }

  Wire& wire_;
  Work work_ = Work::kAllReduce;
  ReduceKind kind_ = ReduceKind::kSum;
  DType dtype_ = DType::kF32;
  std::span<const ReducedArray> arrays_;
  ExchangePlan plan_;
  std::vector<Round> rounds_;  // their memory is kept
  std::vector<std::byte> room_;
  const std::unique_ptr<SharedRoom> room_of_all_;
  uint64_t shared_rounds_ = 0;                            // in the room of all, so far
  std::array<uint64_t, SharedRoom::kSlots> slot_used_{};  // the last round of each own slot
  std::vector<const std::byte*> shared_parts_;
};

// out[r * bytes ..] = what process r gave. `bytes` are the same in all processes.
Status all_gather(Wire& wire, const void* from, void* out, size_t bytes);
// What process `root` has goes to all.
Status broadcast(Wire& wire, int root, void* data, size_t bytes);

}  // namespace tenon
