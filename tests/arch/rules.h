// The include rules of Tenon's source tree, as a check that any tree can be put through.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::arch {

// Every breach of the rules under `root` (a checkout), one line each: "file:line: what: the rule".
// The order is that of the paths. Build directories and dot files are not looked at.
std::vector<std::string> violations(const std::filesystem::path& root);

// What the rules let a component include and none of its files does, one line each.
std::vector<std::string> unused_rules(const std::filesystem::path& root);

// The component that a file belongs to: "public", "core/graph", "sdk/abi", "plugins/cpu", "apps/tenon",
// ...; `path` is relative to the root. Empty for a file that belongs to none.
std::string component_of(const std::filesystem::path& path);

}  // namespace tenon::arch
