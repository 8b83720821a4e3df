// Memory that runs out while files are read or written becomes a Status.
#pragma once

#include <new>
#include <string>

#include "base/strings.h"

namespace tenon {

// There may be no memory for the long message either; the short one needs none.
inline Status no_memory(const char* doing, const std::string& where) {
  try {
    return Status(Code::kOutOfMemory, cat("no memory to ", doing, " '", where, "'"));
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, "out of memory");
  }
}

// Runs `body`; memory that runs out becomes a Status.
template <class Body>
auto within_memory(const char* doing, const std::string& where, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return no_memory(doing, where);
  }
}

}  // namespace tenon
