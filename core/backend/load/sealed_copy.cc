#include "backend/load/sealed_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kCopyChunk = 1 << 16;  // fits a cache

Status cannot_copy(std::string_view what) {
  const char* limit = errno == EFBIG ? "; `ulimit -f` holds for this copy too" : "";
  return Status(Code::kUnavailable, cat("cannot be copied to memory: ", what, ": ", strerrordesc_np(errno), limit));
}

// Its name is what /proc/PID/maps and profilers show. Where there is no such memory (a sandbox may refuse it), a file that has
// no name does: only this user can open it, by /proc. Not one of the standard streams, which the child that tries a library
// has other things at.
Descriptor open_nameless(const std::string& name) {
  constexpr unsigned kSealable = MFD_CLOEXEC | MFD_ALLOW_SEALING;
#ifdef MFD_EXEC
  if (const int fd = ::memfd_create(name.c_str(), kSealable | MFD_EXEC); fd >= 0) return above_standard_streams(fd);
#endif
  if (const int fd = ::memfd_create(name.c_str(), kSealable); fd >= 0) return above_standard_streams(fd);
  const char* directory = ::secure_getenv("TMPDIR");
  return open_file(directory && *directory == '/' ? directory : "/tmp", O_TMPFILE | O_EXCL | O_RDWR, 0600);
}

// The linker knows a library by the path that it was opened by, even when that number has become another file's: a counter,
// whose binary digits are "/" and "/.", makes each path unique. By the process's number, so that a debugger can follow it.
std::string place_of(int fd) {
  static std::atomic<uint64_t> copies{0};
  std::string file;
  for (uint64_t n = copies++; n > 0; n /= 2) file += n % 2 ? "/." : "/";
  file += cat('/', fd);
  std::string by_number = cat("/proc/", static_cast<int64_t>(::getpid()), "/fd", file);
  struct stat a, b;
  const bool same = ::fstat(fd, &a) == 0 && ::stat(by_number.c_str(), &b) == 0 && a.st_ino == b.st_ino;
  return same ? by_number : cat("/proc/self/fd", file);  // a /proc of other numbers
}

}  // namespace

std::string SealedCopy::fingerprint() const { return cat(name_of(path_), " ", bytes_, " ", crc_, " "); }

Status SealedCopy::fill(const File& file) {
  std::vector<char> chunk(kCopyChunk);
  while (bytes_ < static_cast<uint64_t>(file.size())) {
    TENON_ASSIGN(const size_t n, file.read_at(static_cast<int64_t>(bytes_), chunk.data(), chunk.size()));
    if (n == 0) return Status(Code::kUnavailable, "became shorter while it was read");
    if (!write_fully(copy_.get(), chunk.data(), n)) return cannot_copy("write");
    crc_ = crc32c_extend(crc_, chunk.data(), n);
    bytes_ += n;
  }
  // A nameless file cannot be sealed.
  (void)::fcntl(copy_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return {};
}

Result<SealedCopy> SealedCopy::make(const std::string& path) {
  TENON_ASSIGN(const File file, File::open(path));
  if (static_cast<uint64_t>(file.size()) > kMaxLibraryBytes)
    return Status(Code::kUnavailable, cat("has ", file.size(), " bytes, expected at most ", kMaxLibraryBytes,
                                          ": put data into files beside the library"));
  SealedCopy copy(path, open_nameless(name_of(path)));
  if (!copy.copy_) return cannot_copy("memfd_create");
  TENON_TRY(copy.fill(file));
  copy.place_ = place_of(copy.copy_.get());
  return copy;
}

}  // namespace tenon
