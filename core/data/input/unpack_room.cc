#include "data/input/unpack_room.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace tenon {

Result<UnpackSpace> UnpackSpace::create(const std::string& directory) {
  UnpackSpace space;
  space.directory_ = directory;
  space.writer_ = nameless_file(directory);
  Descriptor reader(space.writer_ ? ::fcntl(space.writer_.get(), F_DUPFD_CLOEXEC, 3) : -1);
  if (!reader) return file_error("cannot make a file in", directory, errno);
  TENON_ASSIGN(File file, File::of(std::move(reader), directory));
  space.file_ = std::make_shared<const File>(std::move(file));
  return space;
}

Status UnpackSpace::append(std::string_view bytes) {
  if (!write_fully(writer_.get(), bytes.data(), bytes.size()))
    return file_error("cannot write to a file in", directory_, errno);
  bytes_ += static_cast<int64_t>(bytes.size());
  return {};
}

UnpackRoom::Loan::~Loan() {
  if (!space_) return;
  const std::lock_guard lock(room_.mutex_);
  room_.free_.push_back(std::move(*space_));
}

Result<UnpackRoom::Loan> UnpackRoom::lend() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      UnpackSpace space = std::move(free_.back());
      free_.pop_back();
      return Loan(*this, std::move(space));
    }
  }
  TENON_ASSIGN(UnpackSpace space, UnpackSpace::create(directory_));
  return Loan(*this, std::move(space));
}

}  // namespace tenon
