#include "exchange/collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exchange/sums.h"

namespace tenon {
// A piece for each process to add up: what comes, and what goes, for it.
struct Reducer::Round {
  size_t first = 0, pieces = 0;      // of plan_.pieces
  std::vector<std::byte> room = {};  // others' parts, and what was put together
  size_t used = 0;
  std::vector<const std::byte*> parts = {};  // of the own piece, in the order of the replicas
  std::vector<Wire::Request> coming = {};    // those parts
  std::vector<Wire::Request> others = {};    // all else
  std::vector<std::pair<size_t, std::byte*>> to_scatter = {};

  std::byte* take(size_t bytes) {
    std::byte* const at = room.data() + used;
    used += (bytes + 63) / 64 * 64;
    return at;
  }
};

Reducer::Reducer(Wire& wire, std::unique_ptr<SharedRoom> room) : wire_(wire), room_of_all_(std::move(room)) {}
Reducer::~Reducer() = default;

// ---- pieces ----

size_t Reducer::share(size_t array) const { return arrays_[array].bytes / static_cast<size_t>(wire_.count()); }

bool Reducer::is_own(size_t piece) const {
  return piece % static_cast<size_t>(wire_.count()) == static_cast<size_t>(wire_.rank());
}

// What is gathered comes from one share, and what is dealt goes into one.
const std::byte* Reducer::source(const Span& s, size_t unit) const {
  const size_t before = sums() ? 0 : static_cast<size_t>(wire_.rank()) * share(s.array);
  return arrays_[s.array].from[unit] + s.offset - before;
}

std::byte* Reducer::target(const Span& s) const {
  const size_t before = spreads() ? 0 : static_cast<size_t>(wire_.rank()) * share(s.array);
  return arrays_[s.array].to + s.offset - before;
}

// The unit's part of the piece in one place.
const std::byte* Reducer::gathered(const Piece& piece, size_t unit, std::byte* room) const {
  size_t at = 0;
  for (const Span& s : piece.spans) {
    std::memcpy(room + at, source(s, unit), s.bytes);
    at += s.bytes;
  }
  return room;
}

void Reducer::scatter(const Piece& piece, const std::byte* from) const {
  for (const Span& s : piece.spans) {
    std::memcpy(target(s), from, s.bytes);
    from += s.bytes;
  }
}

// Where a direct piece's result goes.
std::byte* Reducer::place(const Piece& piece) const { return target(piece.spans[0]); }

// ---- the three of them ----

Status Reducer::all_reduce(ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays) {
  return exchange(Work::kAllReduce, kind, dtype, arrays);
}
Status Reducer::reduce_scatter(ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays) {
  return exchange(Work::kReduceScatter, kind, dtype, arrays);
}
Status Reducer::all_gather(std::span<const ReducedArray> arrays) {
  return exchange(Work::kAllGather, ReduceKind::kSum, DType::kU8, arrays);
}

Status Reducer::exchange(Work work, ReduceKind kind, DType dtype, std::span<const ReducedArray> arrays) {
  work_ = work;
  kind_ = kind;
  dtype_ = dtype;
  arrays_ = arrays;
  if (arrays.empty()) return {};
  std::vector<size_t> bytes;
  for (const ReducedArray& array : arrays) bytes.push_back(array.bytes);
  const auto each = static_cast<size_t>(wire_.count());
  plan_ = plan_exchange(work, bytes, each, units(), room_of_all_ != nullptr);
  switch (plan_.way) {
    case ExchangeWay::kNone:
      return {};
    case ExchangeWay::kRounds:
      return sums() ? gather_and_fold() : gather_little();
    case ExchangeWay::kMemory:
      return reduce_shared();
    case ExchangeWay::kMessages:
      return exchange_messages();
  }
  return {};
}

// Everybody gets all parts of what is little, and adds them up.
Status Reducer::gather_and_fold() {
  const size_t n = static_cast<size_t>(wire_.count()), u = units();
  size_t total = 0;
  for (const Piece& piece : plan_.pieces) total += piece.bytes;
  room_.resize(total * u * (n + 1));
  std::byte* const own = room_.data();
  std::byte* const all = own + total * u;
  for (size_t unit = 0; unit < u; ++unit) {
    std::byte* at = own + unit * total;
    for (const Piece& piece : plan_.pieces) {
      gathered(piece, unit, at);
      at += piece.bytes;
    }
  }
  TENON_TRY(tenon::all_gather(wire_, own, all, total * u));
  std::vector<const std::byte*> parts;
  for (size_t replica = 0; replica < n * u; ++replica) parts.push_back(all + replica * total);
  fold(kind_, dtype_, parts, own, total);
  const std::byte* at = own;
  for (size_t i = 0; i < plan_.pieces.size(); ++i) {
    if (spreads() || is_own(i)) scatter(plan_.pieces[i], at);
    at += plan_.pieces[i].bytes;
  }
  return {};
}

// Shares, of all arrays, of each process in turn.
Status Reducer::gather_little() {
  size_t total = 0;
  for (size_t i = 0; i < plan_.pieces.size(); ++i)
    if (is_own(i)) total += plan_.pieces[i].bytes;
  const size_t n = static_cast<size_t>(wire_.count());
  room_.resize(total * (n + 1));
  std::byte* own = room_.data();
  for (size_t i = 0; i < plan_.pieces.size(); ++i)
    if (is_own(i)) {
      gathered(plan_.pieces[i], 0, own);
      own += plan_.pieces[i].bytes;
    }
  TENON_TRY(tenon::all_gather(wire_, room_.data(), own, total));
  for (size_t rank = 0; rank < n; ++rank)
    for (size_t i = rank; i < plan_.pieces.size(); i += n) {
      scatter(plan_.pieces[i], own);
      own += plan_.pieces[i].bytes;
    }
  return {};
}

// ---- by messages ----

Status Reducer::exchange_messages() {
  constexpr size_t kAhead = kRoundsAhead;
  const size_t each = static_cast<size_t>(wire_.count()), rounds = plan_.rounds;
  rounds_.resize(kAhead + 2);
  const auto round = [&](size_t i) -> Round& { return rounds_[i % rounds_.size()]; };
  for (size_t i = 0; i < rounds + kAhead + 1; ++i) {
    if (i < rounds) TENON_TRY(begin(round(i), i * each));
    if (i >= kAhead && i - kAhead < rounds) TENON_TRY(fold_own(round(i - kAhead)));
    if (i >= kAhead + 1) TENON_TRY(end(round(i - kAhead - 1)));
  }
  return {};
}

Status Reducer::begin(Round& round, size_t first_piece) {
  const size_t n = static_cast<size_t>(wire_.count()), u = units(), me = static_cast<size_t>(wire_.rank());
  round.first = first_piece;
  round.pieces = std::min(n, plan_.pieces.size() - first_piece);
  round.used = 0;
  round.room.resize((2 * n * u + n + 1) * (kMostPieceBytes + 64));
  round.parts.clear();
  round.coming.clear();
  round.others.clear();
  round.to_scatter.clear();
  for (size_t owner = 0; owner < round.pieces; ++owner) {
    const Piece& piece = plan_.pieces[first_piece + owner];
    if (owner == me) continue;
    for (size_t unit = 0; sums() && unit < u; ++unit) {
      const std::byte* const part =
          is_direct(piece) ? source(piece.spans[0], unit) : gathered(piece, unit, round.take(piece.bytes));
      TENON_ASSIGN(const Wire::Request sent, wire_.send(static_cast<int>(owner), MessageTag::kPart, part, piece.bytes));
      round.others.push_back(sent);
    }
    if (!spreads()) continue;
    std::byte* const to = is_direct(piece) ? place(piece) : round.take(piece.bytes);
    TENON_ASSIGN(const Wire::Request result,
                 wire_.receive(static_cast<int>(owner), MessageTag::kResult, to, piece.bytes));
    round.others.push_back(result);
    if (!is_direct(piece)) round.to_scatter.emplace_back(first_piece + owner, to);
  }
  if (me >= round.pieces) return {};
  const Piece& own = plan_.pieces[first_piece + me];
  for (size_t rank = 0; rank < n; ++rank)
    for (size_t unit = 0; unit < u; ++unit) {
      if (rank == me) {
        round.parts.push_back(is_direct(own) ? source(own.spans[0], unit) : gathered(own, unit, round.take(own.bytes)));
        continue;
      }
      if (!sums()) continue;
      std::byte* const to = round.take(own.bytes);
      TENON_ASSIGN(const Wire::Request part, wire_.receive(static_cast<int>(rank), MessageTag::kPart, to, own.bytes));
      round.coming.push_back(part);
      round.parts.push_back(to);
    }
  return {};
}

// Adds up the own piece, or has it, and sends it to all.
Status Reducer::fold_own(Round& round) {
  const size_t me = static_cast<size_t>(wire_.rank());
  if (me >= round.pieces) return {};
  const Piece& own = plan_.pieces[round.first + me];
  TENON_TRY(wire_.wait(round.coming));
  std::byte* const to = is_direct(own) ? place(own) : round.take(own.bytes);
  fold(kind_, dtype_, round.parts, to, own.bytes);
  for (int rank = 0; spreads() && rank < wire_.count(); ++rank) {
    if (rank == wire_.rank()) continue;
    TENON_ASSIGN(const Wire::Request sent, wire_.send(rank, MessageTag::kResult, to, own.bytes));
    round.others.push_back(sent);
  }
  if (!is_direct(own)) scatter(own, to);
  return {};
}

Status Reducer::end(Round& round) {
  TENON_TRY(wire_.wait(round.others));
  for (const auto& [piece, from] : round.to_scatter) scatter(plan_.pieces[piece], from);
  return {};
}

// ---- others ----

namespace {

// In log2(processes) rounds: blocks stand in the order of the ranks from the own one on.
Status gather_little(Wire& wire, const void* from, std::byte* out, size_t bytes) {
  const int n = wire.count(), me = wire.rank();
  std::vector<std::byte> blocks(static_cast<size_t>(n) * bytes);
  std::memcpy(blocks.data(), from, bytes);
  for (int have = 1; have < n;) {
    const int more = std::min(have, n - have);
    TENON_ASSIGN(const Wire::Request received,
                 wire.receive((me + have) % n, MessageTag::kGather, blocks.data() + static_cast<size_t>(have) * bytes,
                              static_cast<size_t>(more) * bytes));
    TENON_ASSIGN(const Wire::Request sent,
                 wire.send((me - have + n) % n, MessageTag::kGather, blocks.data(), static_cast<size_t>(more) * bytes));
    const Wire::Request both[] = {received, sent};
    TENON_TRY(wire.wait(both));
    have += more;
  }
  for (int k = 0; k < n; ++k)
    std::memcpy(out + static_cast<size_t>((me + k) % n) * bytes, blocks.data() + static_cast<size_t>(k) * bytes, bytes);
  return {};
}

}  // namespace

Status all_gather(Wire& wire, const void* from, void* out, size_t bytes) {
  auto* const to = static_cast<std::byte*>(out);
  if (bytes == 0) return {};
  if (goes_in_rounds(bytes)) return gather_little(wire, from, to, bytes);
  std::vector<Wire::Request> requests;
  for (int k = 1; k < wire.count(); ++k) {
    const int before = (wire.rank() - k + wire.count()) % wire.count(), behind = (wire.rank() + k) % wire.count();
    TENON_ASSIGN(const Wire::Request received,
                 wire.receive(before, MessageTag::kGather, to + static_cast<size_t>(before) * bytes, bytes));
    TENON_ASSIGN(const Wire::Request sent, wire.send(behind, MessageTag::kGather, from, bytes));
    requests.push_back(received);
    requests.push_back(sent);
  }
  std::memmove(to + static_cast<size_t>(wire.rank()) * bytes, from, bytes);
  return wire.wait(requests);
}

// A tree of processes: each passes on what it got.
Status broadcast(Wire& wire, int root, void* data, size_t bytes) {
  const int n = wire.count(), place = (wire.rank() - root + n) % n;
  int step = 1;
  for (; step < n && !(place & step); step <<= 1) {
  }
  if (place != 0) {
    TENON_ASSIGN(const Wire::Request received,
                 wire.receive((place - step + root) % n, MessageTag::kBroadcast, data, bytes));
    TENON_TRY(wire.wait(received));
  }
  std::vector<Wire::Request> requests;
  for (step >>= 1; step > 0; step >>= 1)
    if (place + step < n) {
      TENON_ASSIGN(const Wire::Request sent, wire.send((place + step + root) % n, MessageTag::kBroadcast, data, bytes));
      requests.push_back(sent);
    }
  return wire.wait(requests);
}

}  // namespace tenon
