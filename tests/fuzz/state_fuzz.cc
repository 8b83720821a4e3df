// The text file `checkpoint`: what is read and written again reads the same.
#include <cstdlib>

#include "checkpoint/checkpoint_state.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckpointName name;
  if (parse_checkpoint_name(text, name) && name.step < 0) std::abort();
  Result<CheckpointState> state = parse_checkpoint_state(text, "f");
  if (!state.ok()) return 0;
  const std::string again = format_checkpoint_state(*state);
  Result<CheckpointState> same = parse_checkpoint_state(again, "f");
  if (!same.ok() || same->latest != state->latest || same->all != state->all) std::abort();
  return 0;
}
