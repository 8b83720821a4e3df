// The entries that every backend has (tenon/abi/plugin.h); those behind them may be NULL. C++17, header only.
#pragma once

#include "tenon/abi/plugin.h"

namespace tenon::plugin {

// The name of the first that is missing, or nullptr.
inline const char* missing_entry(const tenon_backend& t) {
  const struct {
    const char* name;
    bool there;
  } entries[] = {{"enumerate", t.enumerate != nullptr},
                 {"device_open", t.device_open != nullptr},
                 {"device_close", t.device_close != nullptr},
                 {"supports", t.supports != nullptr},
                 {"compile", t.compile != nullptr},
                 {"program_destroy", t.program_destroy != nullptr},
                 {"buffer_alloc", t.buffer_alloc != nullptr},
                 {"buffer_free", t.buffer_free != nullptr},
                 {"queue_create", t.queue_create != nullptr},
                 {"queue_destroy", t.queue_destroy != nullptr},
                 {"copy", t.copy != nullptr},
                 {"run", t.run != nullptr},
                 {"wait", t.wait != nullptr}};
  for (const auto& e : entries)
    if (!e.there) return e.name;
  return nullptr;
}

}  // namespace tenon::plugin
