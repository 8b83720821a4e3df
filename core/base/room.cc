#include "base/room.h"

#include "base/text.h"
#include "tenon/plugin/host_limits.h"

namespace tenon {

Status room_for(uint64_t bytes, std::string_view what) {
  constexpr uint64_t kLarge = 2u << 20;
  if (bytes < kLarge || plugin::host_has_room(bytes)) return {};
  return Status(Code::kOutOfMemory,
                cat("no memory for ", what, ": it takes ", bytes, " bytes, ", plugin::host_memory().left, " are left"));
}

}  // namespace tenon
