// Machine files of the TPU emulator: one JSON object each.
#include <cstdlib>

#include "plugins/tpu-emulator/machine/machine.h"
#include "tenon/plugin/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const tpu::Machine m = tpu::parse_machine({reinterpret_cast<const char*>(data), size}, "v0-8", "f");
    if (m.name != "v0-8" || m.cores < 1 || m.cores % m.hosts || m.hbm_reserved_bytes >= m.hbm_bytes) std::abort();
  } catch (const tenon::plugin::Error& e) {
    if (std::string_view(e.what()).size() > 4096) std::abort();
  }
  return 0;
}
