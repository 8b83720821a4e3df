#include "backend/host_table.h"

#include <cstdio>

#include "base/process_pool.h"

namespace tenon {
namespace {

void log(void*, int32_t level, const char* text) {
  if (level >= TENON_LOG_WARNING && text) std::fprintf(stderr, "%s\n", text);
}

uint32_t gang(void*, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  return process_pool().gang(want, fn, arg);
}

tenon_host make() {
  tenon_host host{};
  host.struct_size = sizeof host;
  host.abi_major = TENON_ABI_MAJOR;
  host.abi_minor = TENON_ABI_MINOR;
  host.name = "tenon";
  host.version = "0.1.0";
  host.log = log;
  host.threads = static_cast<uint32_t>(process_threads());
  host.gang = gang;
  return host;
}

}  // namespace

const tenon_host& host_table() {
  static const tenon_host* host = new tenon_host(make());
  return *host;
}

}  // namespace tenon
