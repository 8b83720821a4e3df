// Which files of the file system may be loaded into this process: those that nobody but root and the
// user could have put there or can change.
#pragma once

#include <string>

#include "tenon/status.h"

namespace tenon {

// The directory with all symbolic links followed, when it and all above it are owned by root or the user, others cannot
// write to it, and others cannot exchange what lies above it: none of those is writable for others, unless it is sticky (/tmp).
// A group counts as others unless it is root's or has the number of the owner (a group of one's own). Else an error whose
// message is the cause alone.
Result<std::string> trusted_directory(const std::string& path);

// The same for a directory that need not be there: then nobody else can make it.
Status trusted_or_missing(const std::string& path);

// The same for a regular file and the directory that it really lies in.
Result<std::string> trusted_file(const std::string& path);

}  // namespace tenon
