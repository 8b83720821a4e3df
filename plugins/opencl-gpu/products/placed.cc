#include "products/placed.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::DeviceAddress;
using tenon::plugin::Place;

DeviceAddress address_of(const Call& call, const Spot& spot) {
  DeviceAddress a = spot.kind == Spot::kOperand  ? call.in_address(spot.index)
                    : spot.kind == Spot::kResult ? call.out_address(spot.index)
                                                 : call.scratch_address();
  a.offset += spot.offset;
  return a;
}

}  // namespace

void run_placed(const Kernel& kernel, const Call& call, const Spots& operands, const Spots& results, uint64_t scratch) {
  std::array<uint8_t*, 2 * kMostSpots> bases{};
  std::array<uint64_t, 2 * kMostSpots> offsets{};
  std::array<Place, 2 * kMostSpots> places;
  for (size_t i = 0; i < places.size(); ++i) {
    const Spot& spot = i < kMostSpots ? operands[i] : results[i - kMostSpots];
    if (spot.kind == Spot::kAbsent) continue;
    const DeviceAddress a = address_of(call, spot);
    bases[i] = static_cast<uint8_t*>(a.memory), offsets[i] = a.offset;
    places[i].base = static_cast<int32_t>(i);
  }
  Call part = call;
  part.bases_ = bases.data(), part.base_offsets_ = offsets.data();
  part.operands_ = places.data(), part.results_ = places.data() + kMostSpots;
  part.scratch_address_ = address_of(call, scratch_spot(scratch));
  kernel.run(part);
}

}  // namespace opencl_gpu
