// Where what was installed with this library lies: backends, transports, parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// Directories lib/tenon, absolute, whether they are there or not, in order: beside the program, of the run path that the package's
// pkg-config file gives a program, of the package that a program was linked against, of this build's prefix.
std::vector<std::string> installed_directories();

// "a:b" as "a", "b".
std::vector<std::string> entries_of_path(std::string_view path);

}  // namespace tenon
