#include "temporary_directory.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tenon/status.h"

namespace tenon::runner {

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) throw Error(Status(Code::kUnavailable, "there is no directory for temporary files: " + error.message()));
  path_ = (parent / "tenon-XXXXXX").string();
  if (!mkdtemp(path_.data()))
    throw Error(Status(Code::kUnavailable, "no temporary directory '" + path_ + "': " + std::strerror(errno)));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tenon::runner
