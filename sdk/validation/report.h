// How the layer says what is broken: as exceptions, which no entry lets out.
#pragma once

#include <new>
#include <sstream>
#include <string>

#include "tenon/abi/plugin.h"

namespace tenon::plugin::validation {

enum class Side { kHost, kBackend };

struct Broken {
  Side side;
  std::string what;
};

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void host_broke(const Parts&... parts) {
  throw Broken{Side::kHost, cat(parts...)};
}

template <class... Parts>
[[noreturn]] void backend_broke(const Parts&... parts) {
  throw Broken{Side::kBackend, cat(parts...)};
}

// Counts and reports it; the line. Never throws for want of memory: it is then counted only.
std::string report(const std::string& backend, const char* entry, const Broken& broken);

// A status of the layer's own. The message lives until this thread's next call.
tenon_status answer(int32_t code, const std::string& message);

// Text of a backend for a line: control characters become '?', 300 bytes at most.
std::string quoted(const char* text);

// Runs an entry; violations become the status.
template <class F>
tenon_status checked(const std::string& backend, const char* entry, F body) {
  try {
    return body();
  } catch (const Broken& broken) {
    return answer(TENON_ABI, report(backend, entry, broken));
  } catch (const std::bad_alloc&) {
    return answer(TENON_OUT_OF_MEMORY, "the validation layer is out of memory");
  }
}

}  // namespace tenon::plugin::validation
