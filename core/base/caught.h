// Work that must not throw: tasks of a pool, destructors, calls that promise a Status.
#pragma once

#include <type_traits>

#include "tenon/status.h"

namespace tenon {

// What the exception that is being handled says; "out of memory" where not even that can be said. Call it in a catch block.
Status status_of_exception() noexcept;

// f(), a Status or a Result; what it throws becomes that.
template <class F>
std::invoke_result_t<F&> caught(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace tenon
