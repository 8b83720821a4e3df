// The networks of the catalogue alone, without what trains them.
#pragma once

#include <string_view>

#include "tenon/model.h"
#include "tenon/params.h"

namespace tenon::models {

bool is_network(std::string_view name);
// As the model of that name calls it on such images. REQUIRED: is_network(name).
Model network_of(std::string_view name, const Shape& image, const Params& params);

}  // namespace tenon::models
