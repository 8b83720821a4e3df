// Values kept in a file.
#pragma once

#include <string>

#include "data/chain/chain_node.h"

namespace tenon {

// The node behind Dataset::cache(path). Throws Error where no file can be at `path`.
Node disk_cache(Node from, const std::string& path);

}  // namespace tenon
