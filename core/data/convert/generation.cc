#include "data/convert/generation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/file/file.h"
#include "base/strings.h"
#include "base/tell.h"
#include "data/convert/generation_marker.h"
#include "data/convert/parts.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

constexpr const char* kStaging = "/.records-XXXXXX";

Result<std::vector<std::string>> records_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const char* pattern : kRecordFiles) {
    TENON_ASSIGN(const std::vector<std::string> more, list_files(directory, pattern));
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat x, y;
  return ::lstat(a.c_str(), &x) == 0 && ::lstat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

Status rename_to(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return file_error("cannot rename to", to, errno);
  return {};
}

// An old generation, or a new one that never took its place: what its marker lists, and links of what is in `output` too.
void remove_generation(const OpenDirectory& old, const std::string& path, const GenerationMarker& marker,
                       const OpenDirectory& output) {
  for (const std::string& name : old.names())
    if (name == ".lock" || marker.lists(name) || old.has_same(name, output))
      (void)::unlinkat(old.fd(), name.c_str(), 0);
  remove_parts(old);
  (void)::unlinkat(old.fd(), kMarker, 0);
  if (::rmdir(path.c_str()) != 0 && (errno == ENOTEMPTY || errno == EEXIST))
    tell(cat("tenon: '", path, "' stays: it has files that no conversion wrote"));
}

// The marker of what a conversion into `output` made; nothing where it is a link, somebody else's, a copy or of another output.
std::optional<GenerationMarker> own_marker(const OpenDirectory& left, const OpenDirectory& output) {
  const bool ours = left && (left.owner() == ::geteuid() || left.owner() == 0 || left.owner() == output.owner());
  std::optional<GenerationMarker> marker = ours ? left.marker() : std::nullopt;
  if (marker && marker->directory == 0) return marker;
  if (!marker || marker->directory != left.inode() || marker->output != output.inode()) return {};
  return marker;
}

// What may be left by a conversion that was killed.
void sweep_one(const std::string& path, const OpenDirectory& output) {
  const OpenDirectory left(path);
  const std::optional<GenerationMarker> marker = own_marker(left, output);
  if (!marker) {
    if (left && left.owner() == ::geteuid()) (void)::rmdir(path.c_str());  // where it is empty
    return;
  }
  const Result<DirectoryLock> lock = DirectoryLock::take(path, "data directory", "conversion");
  if (lock.ok()) remove_generation(left, path, *marker, output);
}

// DIR's real path, and the names beside it: PARENT/.NAME.records-XXXXXX.
struct DirectoryPlace {
  std::string real, parent, prefix;
};

Result<DirectoryPlace> place_of(const std::string& directory) {
  char path[PATH_MAX];
  if (::realpath(directory.c_str(), path) == nullptr) return file_error("cannot find directory", directory, errno);
  return DirectoryPlace{path, directory_of(path), cat(".", name_of(path), ".records-")};
}

// What conversions that were killed left in the directory and beside it. REQUIRED: the directory's lock is held.
Status sweep(const std::string& directory) {
  const OpenDirectory output(directory, true);
  if (!output) return file_error("cannot open directory", directory, errno);
  for (const std::string& name : output.names())
    if (is_staging(name)) sweep_one(cat(directory, "/", name), output);
  TENON_ASSIGN(const DirectoryPlace place, place_of(directory));
  const OpenDirectory parent(place.parent, true);
  if (parent)
    for (const std::string& name : parent.names())
      if (name.starts_with(place.prefix) && name.size() == place.prefix.size() + 6)
        sweep_one(cat(place.parent, "/", name), output);
  // One that decides a move stays until its files, or others, have taken their places.
  const std::optional<GenerationMarker> marker = output.marker();
  if (marker && marker->moves.empty()) return remove_file(cat(directory, "/", kMarker));
  return {};
}

// The new files that are not yet in their places go there, those in the way first.
Status move_files(const OpenDirectory& from, const OpenDirectory& to, const std::string& directory,
                  const GenerationMarker& marker) {
  TENON_ASSIGN(const std::vector<std::string> old, records_in(directory));
  for (const std::string& path : old)
    if (!marker.lists(name_of(path))) TENON_TRY(remove_file(path));
  for (const std::string& name : marker.files)
    if (from.has_file(name) && ::renameat2(from.fd(), name.c_str(), to.fd(), name.c_str(), 0) != 0)
      return file_error("cannot rename to", cat(directory, "/", name), errno);
  return sync_directory(directory);
}

// Goes on with a move that was decided, from any point. REQUIRED: the directory's lock is held.
Status move_in(const std::string& directory) {
  const OpenDirectory to(directory, true);
  const std::optional<GenerationMarker> marker = to ? to.marker() : std::nullopt;
  if (!marker || marker->moves.empty() || marker->output != to.inode()) return {};
  const std::string path = cat(directory, "/", marker->moves);
  const OpenDirectory from(path);
  if (from && from.inode() == marker->directory) {
    TENON_TRY(move_files(from, to, directory, *marker));
    remove_generation(from, path, {}, to);
  } else {
    for (const std::string& name : marker->files)
      if (!to.has_file(name)) return {};
  }
  TENON_TRY(remove_file(cat(directory, "/", kMarker)));
  return sync_directory(directory);
}

// A directory cannot be replaced by a file, and a file of somebody's own is not.
Status check_names(const std::string& directory) {
  const OpenDirectory output(directory, true);
  struct stat info;
  for (const std::string& name : output.names()) {
    if (name == kMarker && !output.marker())
      return invalid("output '", directory, "': expected '", name, "' of a conversion or none, found another file");
    if (is_conversions(name) && ::fstatat(output.fd(), name.c_str(), &info, 0) == 0 && S_ISDIR(info.st_mode))
      return invalid("output '", directory, "': expected a file '", name, "' or none, found a directory");
  }
  return {};
}

bool has_access_lists(const std::string& directory) {
  return ::getxattr(directory.c_str(), "system.posix_acl_access", nullptr, 0) > 0 ||
         ::getxattr(directory.c_str(), "system.posix_acl_default", nullptr, 0) > 0;
}

// Gives the new directory the old one's owner and mode; false where it cannot have them.
bool looks_as(const std::string& directory, const std::string& path) {
  struct stat old, now;
  if (::stat(directory.c_str(), &old) != 0 || ::stat(path.c_str(), &now) != 0 || has_access_lists(directory))
    return false;
  if ((old.st_uid != now.st_uid || old.st_gid != now.st_gid) && ::chown(path.c_str(), old.st_uid, old.st_gid) != 0)
    return false;
  return ::chmod(path.c_str(), old.st_mode & 07777) == 0;
}

// Both directories' .lock are of this process, and say the same; somebody's own file of that name does not.
bool is_our_lock(const std::string& directory, const std::string& staging) {
  const Result<std::string> a = read_file(directory + "/.lock", 300), b = read_file(staging + "/.lock", 300);
  return a.ok() && b.ok() && *a == *b;
}

// Links of all that is not a conversion's. Nothing, and none of them, where there is something that cannot be linked.
std::optional<std::vector<std::string>> link_others(const std::string& directory, const std::string& to) {
  const OpenDirectory from(directory, true);
  const std::string staging = name_of(to);
  std::vector<std::string> linked;
  for (const std::string& name : from.names()) {
    if (name == staging || name == kParts || is_conversions(name) || (name == ".lock" && is_our_lock(directory, to)))
      continue;
    const std::string path = cat(to, "/", name);
    if (::link(cat(directory, "/", name).c_str(), path.c_str()) != 0) {
      for (const std::string& made : linked) (void)::unlink(made.c_str());
      return {};
    }
    linked.push_back(path);
  }
  return linked;
}

// Says of the directory, which is to be the old one, which files go with it.
Status mark_old(const std::string& directory, const std::string& staging) {
  const OpenDirectory old(directory, true), now(staging);
  std::vector<std::string> files = old.names();
  std::erase_if(files, [](const std::string& name) { return !is_conversions(name); });
  return old.begin_marker(now.inode(), files);
}

}  // namespace

Result<MadeDirectory> MadeDirectory::make(const std::string& path) {
  MadeDirectory out;
  for (size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    std::string part = path.substr(0, slash);
    if (::access(part.c_str(), F_OK) != 0) out.made_.push_back(std::move(part));
  }
  TENON_TRY(make_directories(path));
  return out;
}

MadeDirectory::~MadeDirectory() {
  for (auto it = made_.rbegin(); it != made_.rend(); ++it) (void)::rmdir(it->c_str());
}

Result<Generation> Generation::begin(const std::string& directory, bool overwrite) {
  TENON_ASSIGN(MadeDirectory made, MadeDirectory::make(directory));
  Generation out(std::move(made));
  out.directory_ = directory;
  TENON_ASSIGN(out.lock_, DirectoryLock::take(directory, "data directory", "conversion"));
  TENON_TRY(move_in(directory));
  TENON_ASSIGN(const std::vector<std::string> old, records_in(directory));
  if (!old.empty() && !overwrite)
    return invalid("output '", directory, "': expected no records, found ", old.front(),
                   "; choose another directory, or overwrite them (--overwrite)");
  TENON_TRY(check_names(directory));
  TENON_TRY(sweep(directory));
  std::string staging = directory + kStaging;
  if (::mkdtemp(staging.data()) == nullptr) return file_error("cannot make directory in", directory, errno);
  out.staging_ = staging;
  TENON_TRY(out.as_asked(OpenDirectory(staging).begin_marker(OpenDirectory(directory, true).inode(), {})));
  TENON_ASSIGN(out.new_lock_, DirectoryLock::take(staging, "data directory", "conversion"));
  return out;
}

Generation::Generation(Generation&& other) noexcept
    : made_(std::move(other.made_)),
      directory_(std::move(other.directory_)),
      lock_(std::move(other.lock_)),
      new_lock_(std::move(other.new_lock_)),
      staging_(std::exchange(other.staging_, {})) {}

Generation::~Generation() {
  if (staging_.empty()) return;
  const OpenDirectory staging(staging_), output(directory_, true);
  if (const std::optional<GenerationMarker> marker = own_marker(staging, output))
    remove_generation(staging, staging_, *marker, output);
  else
    (void)::rmdir(staging_.c_str());
}

Result<std::string> Generation::add(const std::string& name) {
  TENON_TRY(as_asked(OpenDirectory(staging_).add_to_marker(name, false)));
  return cat(staging_, "/", name);
}

Status Generation::as_asked(const Status& error) const {
  std::string message = error.message();
  for (size_t at; !staging_.empty() && (at = message.find(staging_)) != std::string::npos;)
    message.replace(at, staging_.size(), directory_);
  return Status(error.code(), std::move(message));
}

Status Generation::change_places(bool* changed) {
  *changed = false;
  TENON_ASSIGN(const DirectoryPlace place, place_of(directory_));
  if (place.real == "/" || same_file(".", place.real) || !looks_as(place.real, staging_)) return {};
  const std::optional<std::vector<std::string>> linked = link_others(place.real, staging_);
  if (!linked) return {};
  const std::string aside =
      cat(place.parent, "/", place.prefix, std::string_view(staging_).substr(staging_.size() - 6));
  const bool marked = mark_old(place.real, staging_).ok();
  const bool beside = marked && ::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) == 0;
  *changed = beside && sync_directory(aside).ok() &&
             ::renameat2(AT_FDCWD, place.real.c_str(), AT_FDCWD, aside.c_str(), RENAME_EXCHANGE) == 0;
  if (!*changed) {
    if (beside) TENON_TRY(rename_to(aside, staging_));
    for (const std::string& path : *linked) (void)::unlink(path.c_str());
    if (marked) TENON_TRY(remove_file(cat(place.real, "/", kMarker)));
    return {};
  }
  staging_.clear();
  const Status synced = sync_directory(place.parent);
  const OpenDirectory old(aside), output(place.real);
  if (const std::optional<GenerationMarker> marker = own_marker(old, output))
    remove_generation(old, aside, *marker, output);
  TENON_TRY(remove_file(cat(place.real, "/", kMarker)));
  return synced;
}

Status Generation::commit() {
  TENON_TRY(sync_directory(staging_));
  bool changed = false;
  TENON_TRY(change_places(&changed));
  if (changed) return {};
  TENON_TRY(OpenDirectory(staging_).add_to_marker(cat("moves ", name_of(staging_)), true));
  TENON_TRY(rename_to(cat(staging_, "/", kMarker), cat(directory_, "/", kMarker)));
  staging_.clear();
  TENON_TRY(sync_directory(directory_));
  return move_in(directory_);
}

Status check_conversion(const std::string& directory) {
  const OpenDirectory output(directory, true);
  const std::optional<GenerationMarker> marker = output ? output.marker() : std::nullopt;
  if (!marker || marker->moves.empty()) return {};
  return Status(Code::kUnavailable,
                cat("data directory '", directory, "': a conversion into it was cut short while it moved '",
                    marker->moves, "' there; run `tenon convert` with --overwrite again"));
}

}  // namespace tenon
