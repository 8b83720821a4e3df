// The example backend without memory that the host sees, which the suite must find no worse: it stages by copies, as the
// core does. TENON_WRONG makes it refuse as no backend may: "code" by another code, "some" for some buffers alone.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tenon/abi/plugin.h"

extern "C" tenon_status example_backend_init(const tenon_host* host, tenon_backend* out);

namespace {

tenon_status (*alloc_below)(tenon_device*, const tenon_desc*, tenon_buffer**, void**);

tenon_status buffer_alloc(tenon_device* device, const tenon_desc* desc, tenon_buffer** out, void** host) {
  const char* wrong = std::getenv("TENON_WRONG");
  const bool takes_some = wrong && std::strcmp(wrong, "some") == 0 && desc->rank == 0;
  if (!(desc->flags & TENON_DESC_HOST) || takes_some) return alloc_below(device, desc, out, host);
  const bool other_code = wrong && std::strcmp(wrong, "code") == 0;
  return {other_code ? TENON_UNAVAILABLE : TENON_UNSUPPORTED, 0, "buffer_alloc: there is no memory that the host sees"};
}

}  // namespace

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  tenon_backend full{};
  full.struct_size = sizeof full;
  const tenon_status status = example_backend_init(host, &full);
  if (status.code != TENON_OK) return status;
  alloc_below = full.buffer_alloc;
  full.buffer_alloc = buffer_alloc;
  full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
  std::memcpy(out, &full, full.struct_size);
  return status;
}
