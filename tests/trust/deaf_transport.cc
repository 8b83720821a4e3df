// The negative control of row 11: the transport $TRUST_TRANSPORT, with signs of life that always come, and processes that seem
// to be each on a machine of its own, so that none of them looks whether another one is there.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "tenon/plugin/transport.h"

namespace {

constexpr uint32_t kBeat = 1;  // MessageTag::kBeat
tenon_transport real;
std::array<uint64_t, 64> heard;  // tokens of signs that were waited for
uint32_t n_heard = 0;

const char* host(void*, uint32_t rank) {
  static std::array<std::array<char, 16>, 64> names;
  auto& name = names[rank % names.size()];
  std::snprintf(name.data(), name.size(), "host%u", rank);
  return name.data();
}

tenon_status receive(void* self, uint32_t from, uint32_t tag, void* data, uint64_t bytes, uint64_t token) {
  if (tag != kBeat || n_heard == heard.size()) return real.receive(self, from, tag, data, bytes, token);
  heard[n_heard++] = token;
  return {};
}

tenon_status poll(void* self, uint64_t* tokens, uint32_t room, uint32_t* n) {
  const tenon_status status = real.poll(self, tokens, room, n);
  while (n_heard > 0 && *n < room) tokens[(*n)++] = heard[--n_heard];
  return status;
}

}  // namespace

tenon_status tenon_transport_init(tenon_transport* out) {
  const char* const path = std::getenv("TRUST_TRANSPORT");
  void* const library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  const auto init =
      library ? reinterpret_cast<decltype(&tenon_transport_init)>(dlsym(library, "tenon_transport_init")) : nullptr;
  tenon_status status{};
  if (!init) {
    status.code = TENON_UNAVAILABLE;
    return status;
  }
  status = init(out);
  real = *out;
  out->host = host;
  out->receive = receive;
  out->poll = poll;
  return status;
}
