// Files in memory, in place of those of core/base/file/file.cc: a fuzz target that wrote to a disk would be a hundred times
// slower.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

// What File::open and read_file find under `path`, until remove_files(). One thread.
void put_file(const std::string& path, std::string_view bytes);
void remove_files();

}  // namespace tenon::fuzz
