// Paths with places for numbers, as ModelCheckpoint takes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tenon/callback.h"

namespace tenon {

// `text` with {NAME} and {NAME:FORMAT} replaced by the number of that name, {{ by {. Throws Error that begins with `what` and
// says which names there are.
std::string fill_template(const std::string& what, const std::string& text,
                          const std::map<std::string, int64_t>& counts, const Logs& logs);

}  // namespace tenon
