// Small text files that a person or another program wrote.
//
// Only regular files are read: a directory, a pipe, a device, a name with a NUL in it and more than `max_bytes` are
// errors that name the file, before anything waits or is allocated. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon {

constexpr int64_t kMaxTextBytes = int64_t{16} << 20;

// All of it.
Result<std::string> read_text_file(const std::string& path, int64_t max_bytes = kMaxTextBytes);

// Its lines without surrounding blanks and a byte order mark; empty ones are left out.
Result<std::vector<std::string>> read_text_lines(const std::string& path, int64_t max_bytes = kMaxTextBytes);

// Lines that are names of classes, as labels.txt has them: a name that is there twice is an error that names both lines.
Result<std::vector<std::string>> read_class_names(const std::string& path);

}  // namespace tenon
