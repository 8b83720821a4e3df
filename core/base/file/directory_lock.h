// One user at a time of a directory: a trainer of its model directory, a conversion of its output.
//
// The lock is flock's on the directory itself, so no file can be removed to defeat it, and it ends with the process,
// however that ends. DIRECTORY/.lock says meanwhile who holds it; removing or changing that file frees nothing.
//
// Where the file system locks only files that are open for writing (NFS does), the lock is on that file instead, which
// nobody may remove then; where it locks nothing at all, take() fails. The lock is advisory: programs that do not ask
// for it are not kept out.
#pragma once

#include <string>
#include <string_view>

#include "base/file/descriptor.h"
#include "tenon/status.h"

namespace tenon {

// Holds the directory from take() to destruction. Movable; safe to take and drop on any thread. Two locks of one process
// exclude each other as those of two processes do. A forked child that runs no other program holds it too.
class DirectoryLock {
 public:
  // REQUIRED: the directory exists. "unavailable" at once when it is held: "model directory '/tmp/m' is in use by another
  // trainer, process 17", where `kind` is "model directory" and `user` is "trainer". The lock is on the directory that
  // has this name when it returns, not on one that was renamed away meanwhile.
  static Result<DirectoryLock> take(const std::string& directory, std::string_view kind, std::string_view user);
  // "unavailable" where the directory's name is another's by now, or nobody's: it was renamed or removed, and what is
  // written by its name would go to a directory that this lock does not hold.
  Status check() const;
  DirectoryLock(DirectoryLock&& other) noexcept = default;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

 private:
  DirectoryLock(Descriptor directory, std::string name, std::string_view kind)
      : directory_(std::move(directory)), name_(std::move(name)), kind_(kind) {}
  void open_lock_file();
  Result<bool> lock_file(const std::string& directory) const;
  void write_holder() const;

  Descriptor directory_;
  std::string name_, kind_;
  Descriptor file_;       // .lock; none: there is none, or it is not ours
  bool removes_ = false;  // .lock, when it is dropped
};

}  // namespace tenon
