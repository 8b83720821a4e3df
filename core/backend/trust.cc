#include "backend/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text.h"

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

// A group that has the number of its user is that user's own (umask 002); root's is root's.
bool others_write(const struct stat& s) {
  if (s.st_mode & S_IWOTH) return true;
  return (s.st_mode & S_IWGRP) && s.st_gid != 0 && s.st_gid != s.st_uid;
}

Status check_owner_and_mode(const struct stat& s, const std::string& who) {
  if (!mine(s)) return mistrust(cat(who, "is owned by user ", s.st_uid, ", expected root or user ", ::geteuid()));
  if (others_write(s)) return mistrust(cat(who, "may be written by ", s.st_mode & S_IWOTH ? "everybody" : "its group"));
  return {};
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Nobody else can rename what the path goes through. In a sticky directory (/tmp) only owners can.
Status check_above(std::string path) {
  struct stat below, s;
  TENON_TRY(inspect(path, &below));
  while (path != "/") {
    path = parent_of(path);
    TENON_TRY(inspect(path, &s));
    const bool sticky = s.st_mode & S_ISVTX;
    if ((s.st_mode & S_IWOTH) && !(sticky && mine(below)))
      return mistrust(cat("lies in ", path, ", which everybody may write"));
    below = s;
  }
  return {};
}

Status check_directory(const std::string& path, const std::string& named) {
  struct stat s;
  TENON_TRY(inspect(path, &s));
  if (!S_ISDIR(s.st_mode)) return mistrust("is not a directory");
  TENON_TRY(check_owner_and_mode(s, subject(path, named)));
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

Result<std::string> trusted_file(const std::string& path) {
  TENON_ASSIGN(std::string real, resolve(path));
  struct stat s;
  TENON_TRY(inspect(real, &s));
  if (!S_ISREG(s.st_mode)) return mistrust(cat("is a ", kind_of(s.st_mode), ", expected a regular file"));
  TENON_TRY(check_owner_and_mode(s, subject(real, path)));
  TENON_TRY(check_directory(parent_of(real), parent_of(path)));
  return real;
}

}  // namespace tenon
