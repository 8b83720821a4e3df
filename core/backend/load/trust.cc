#include "backend/load/trust.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/strings.h"

namespace tenon {
namespace {

Status mistrust(std::string cause) { return Status(Code::kUnavailable, std::move(cause)); }

// A path that differs from the one that the caller named is worth saying.
std::string subject(const std::string& path, const std::string& named) {
  return path == named ? std::string() : cat(path, " ");
}

Status inspect(const std::string& path, struct stat* out) {
  if (::lstat(path.c_str(), out) == 0) return {};
  return mistrust(cat("cannot be inspected: ", strerrordesc_np(errno)));
}

Result<std::string> resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return mistrust(cat("cannot be resolved: ", strerrordesc_np(errno)));
  return std::string(real.get());
}

bool mine(const struct stat& s) { return s.st_uid == 0 || s.st_uid == ::geteuid(); }

// Who an access list lets write beside the owner is shown as the group's rights.
bool has_access_list(const std::string& path) {
  return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

// Who else may write there, or "". A group that has the number of its owner is that user's own, as Debian makes them
// (umask 002); root's is root's.
std::string other_writers(const struct stat& s, const std::string& path) {
  if (s.st_mode & S_IWOTH) return "everybody";
  if (!(s.st_mode & S_IWGRP)) return {};
  if (s.st_gid != 0 && s.st_gid != s.st_uid) return cat("group ", s.st_gid);
  return has_access_list(path) ? "those of its access list" : "";
}

std::string expected_owner() { return ::geteuid() == 0 ? "root" : cat("root or user ", ::geteuid()); }

Status check_owner_and_mode(const struct stat& s, const std::string& path, const std::string& who) {
  if (!mine(s)) return mistrust(cat(who, "is owned by user ", s.st_uid, ", expected ", expected_owner(), " (chown)"));
  const std::string others = other_writers(s, path);
  return others.empty() ? Status() : mistrust(cat(who, "may be written by ", others, " (chmod go-w)"));
}

// Nobody else can exchange what the path goes through. In a sticky directory (/tmp) only owners can.
Status check_above(std::string path) {
  struct stat below, s;
  TENON_TRY(inspect(path, &below));
  while (path != "/") {
    path = directory_of(path);
    TENON_TRY(inspect(path, &s));
    if (!mine(s))
      return mistrust(
          cat("lies in ", path, ", which is owned by user ", s.st_uid, ", expected ", expected_owner(), " (chown)"));
    const std::string others = other_writers(s, path);
    const bool sticky = s.st_mode & S_ISVTX;
    if (!others.empty() && !(sticky && mine(below)))
      return mistrust(cat("lies in ", path, ", which ", others, " may write (chmod go-w)"));
    below = s;
  }
  return {};
}

Status check_directory(const std::string& path, const std::string& named) {
  struct stat s;
  TENON_TRY(inspect(path, &s));
  if (!S_ISDIR(s.st_mode)) return mistrust("is not a directory");
  TENON_TRY(check_owner_and_mode(s, path, subject(path, named)));
  return check_above(path);
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "directory";
  if (S_ISFIFO(mode)) return "pipe";
  if (S_ISSOCK(mode)) return "socket";
  return "device";
}

}  // namespace

Result<std::string> trusted_directory(const std::string& path) {
  TENON_ASSIGN(std::string real, resolve(path));
  TENON_TRY(check_directory(real, path));
  return real;
}

Status trusted_or_missing(const std::string& path) {
  std::string at = path;
  struct stat s;
  while (at != "/" && ::lstat(at.c_str(), &s) != 0 && errno == ENOENT) at = directory_of(at);
  const Status status = trusted_directory(at).status();
  return status.ok() || at == path ? status : mistrust(cat("is not there, and ", at, " ", status.message()));
}

Result<std::string> trusted_file(const std::string& path) {
  TENON_ASSIGN(std::string real, resolve(path));
  struct stat s;
  TENON_TRY(inspect(real, &s));
  if (!S_ISREG(s.st_mode)) return mistrust(cat("is a ", kind_of(s.st_mode), ", expected a regular file"));
  TENON_TRY(check_owner_and_mode(s, real, subject(real, path)));
  TENON_TRY(check_directory(directory_of(real), directory_of(path)));
  return real;
}

}  // namespace tenon
