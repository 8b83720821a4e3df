// Exchanges through memory that all processes see: each puts its parts of a round's pieces into their owners' slots, adds up its
// own piece, and takes the others' sums. What is dealt is not taken, and what is gathered is put there by its owner.
#include <algorithm>
#include <cstring>

#include "exchange/collectives.h"
#include "exchange/shared_room.h"
#include "exchange/sums.h"

namespace tenon {
namespace {

using Mark = SharedRoom::Mark;

bool reached(const Mark& mark, uint64_t round) { return mark.load(std::memory_order_acquire) >= round; }
void reach(Mark& mark, uint64_t round) { mark.store(round, std::memory_order_release); }

}  // namespace

Status Reducer::reduce_shared() {
  const size_t rounds = plan_.rounds;
  for (size_t i = 0; i < rounds + 2; ++i) {
    TENON_TRY(wire_.tend());
    if (i < rounds) give_parts(i);
    if (i >= 1 && i - 1 < rounds) TENON_TRY(sum_own(i - 1));
    if (i >= 2) TENON_TRY(take_sums(i - 2));
  }
  shared_rounds_ += rounds;
  return {};
}

// The piece of a round that a process adds up; none for the last ones in the last round.
const Reducer::Piece* Reducer::piece_of(int owner, size_t round) const {
  const size_t at = round * static_cast<size_t>(wire_.count()) + static_cast<size_t>(owner);
  return at < plan_.pieces.size() ? &plan_.pieces[at] : nullptr;
}

std::byte* Reducer::shared_part(int owner, size_t round, size_t replica) const {
  return room_of_all_->slot(owner, number_of(round)) + replica * shared_piece();
}

// The owner added up what lay there before this process took the sum.
void Reducer::give_parts(size_t round) {
  const int me = wire_.rank();
  for (int owner = 0; sums() && owner < wire_.count(); ++owner) {
    const Piece* const piece = piece_of(owner, round);
    if (!piece || owner == me) continue;
    for (size_t unit = 0; unit < units(); ++unit)
      gathered(*piece, unit, shared_part(owner, round, static_cast<size_t>(me) * units() + unit));
    reach(room_of_all_->given(owner, me), number_of(round));
  }
}

Status Reducer::sum_own(size_t round) {
  const int me = wire_.rank(), n = wire_.count();
  const Piece* const piece = piece_of(me, round);
  if (!piece) return {};
  uint64_t& used = slot_used_[number_of(round) % SharedRoom::kSlots];
  TENON_TRY(wire_.wait_until([&] {
    for (int by = 0; by < n; ++by)
      if (by != me && ((sums() && !reached(room_of_all_->given(me, by), number_of(round))) ||
                       !reached(room_of_all_->taken(me, by), used)))
        return false;
    return true;
  }));
  shared_parts_.clear();
  for (size_t replica = 0; replica < static_cast<size_t>(n) * units(); ++replica) {
    std::byte* const part = shared_part(me, round, replica);
    const bool own = replica / units() == static_cast<size_t>(me);
    if (!own && !sums()) continue;
    shared_parts_.push_back(!own                ? part
                            : is_direct(*piece) ? source(piece->spans[0], replica % units())
                                                : gathered(*piece, replica % units(), part));
  }
  std::byte* const sum = shared_part(me, round, static_cast<size_t>(n) * units());
  fold(kind_, dtype_, shared_parts_, sum, piece->bytes);
  used = number_of(round);
  reach(room_of_all_->summed(me), used);
  scatter(*piece, sum);
  return {};
}

Status Reducer::take_sums(size_t round) {
  const int me = wire_.rank(), n = wire_.count();
  for (int k = 1; k < n; ++k) {  // each begins with another owner
    const int owner = (me + k) % n;
    const Piece* const piece = piece_of(owner, round);
    if (!piece) continue;
    TENON_TRY(wire_.wait_until([&] { return reached(room_of_all_->summed(owner), number_of(round)); }));
    if (spreads()) scatter(*piece, shared_part(owner, round, static_cast<size_t>(n) * units()));
    reach(room_of_all_->taken(owner, me), number_of(round));
  }
  return {};
}

}  // namespace tenon
