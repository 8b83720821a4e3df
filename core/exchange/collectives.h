// What processes do together, by messages. Each is called by every process, in the same order, with the same sizes; sums are
// taken in the order of the replicas, whatever arrives first, so that they have the bits of one process with all the units.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "exchange/wire.h"
#include "tenon/ops.h"
#include "tenon/types.h"

namespace tenon {

// An array that is added up: a part of each unit of this process, in their order, and where the sum over the units of all
// processes goes, which is none of them.
struct ReducedArray {
  std::vector<const std::byte*> from;
  std::byte* to = nullptr;
  size_t bytes = 0;
};

// Reduces arrays of one dtype. Small ones travel together; what is little goes to everybody, who adds it up in log2(processes)
// rounds; of more, each process adds up a share and sends it round, in pieces, so that adding and sending overlap.
// A piece of `piece_bytes` has to be whole elements. REQUIRED: folds(dtype).
class Reducer {
 public:
  explicit Reducer(Wire& wire);
  ~Reducer();
  Status all_reduce(ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays);

 private:
  struct Span {  // of one array
    size_t array, offset, bytes;
  };
  struct Piece {
    std::vector<Span> spans;
    size_t bytes = 0;
  };
  struct Round;
  void cut(std::span<const ReducedArray> arrays);
  Status gather_and_fold();
  Status begin(Round& round, size_t first_piece);
  Status fold_own(Round& round);
  Status end(Round& round);
  const std::byte* gathered(const Piece& piece, size_t unit, std::byte* room) const;
  void scatter(const Piece& piece, const std::byte* from) const;
  bool is_direct(const Piece& piece) const { return piece.spans.size() == 1; }
  std::byte* place(const Piece& piece) const;
  size_t units() const { return arrays_[0].from.size(); }

  Wire& wire_;
  ReduceKind kind_ = ReduceKind::kSum;
  DType dtype_ = DType::kF32;
  std::span<const ReducedArray> arrays_;
  std::vector<Piece> pieces_;
  std::vector<Round> rounds_;  // their memory is kept
  std::vector<std::byte> room_;
};

// out[r * bytes ..] = what process r gave. `bytes` are the same in all processes.
Status all_gather(Wire& wire, const void* from, void* out, size_t bytes);
// What process `root` has goes to all.
Status broadcast(Wire& wire, int root, void* data, size_t bytes);

}  // namespace tenon
