// What the user's own code throws, with the name of the object that it belongs to.
#pragma once

#include <type_traits>

#include "base/caught.h"
#include "base/strings.h"

namespace tenon {

// f(); what it throws that is no Error becomes one: "layer 'dense' threw: out of range", where name() gives "layer 'dense'".
template <class F, class Name>
std::invoke_result_t<F&> named_throw(F&& f, const Name& name) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (...) {
    const Status thrown = status_of_exception();
    throw Error(Status(thrown.code(), cat(name(), " threw: ", thrown.message())));
  }
}

}  // namespace tenon
