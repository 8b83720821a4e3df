#include "data/generation.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

constexpr const char* kDecided = "/.records-new";    // the old records go, then
constexpr const char* kMoving = "/.records-moving";  // the new files are moved to their places
constexpr const char* kStaging = "/.records-XXXXXX";

// A file of a conversion, or its temporary.
bool is_written(std::string_view name) {
  const size_t temporary = name.rfind(".tmp-");
  if (name.starts_with('.') && temporary != std::string_view::npos) name = name.substr(1, temporary - 1);
  const std::string text(name);
  return text == "labels.txt" || text == "info.json" || text == ".lock" ||
         ::fnmatch("train-*-of-*", text.c_str(), 0) == 0 || ::fnmatch("validation-*-of-*", text.c_str(), 0) == 0;
}

bool is_staging(const std::string& name) { return ::fnmatch(".records-??????", name.c_str(), 0) == 0; }

Result<std::vector<std::string>> records_in(const std::string& directory) {
  TENON_ASSIGN(std::vector<std::string> files, list_files(directory, "train-*-of-*"));
  TENON_ASSIGN(const std::vector<std::string> more, list_files(directory, "validation-*-of-*"));
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

Result<std::vector<std::string>> entries(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  if (error) return file_error("cannot list directory", directory, error.value());
  return names;
}

bool is_there(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat x, y;
  return ::lstat(a.c_str(), &x) == 0 && ::lstat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

Status remove_if_there(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error("cannot remove", path, errno);
  return {};
}

Status rename_to(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return file_error("cannot rename to", to, errno);
  return {};
}

// An old generation, or a new one that never took its place. Only what is a conversion's is removed; of what else is in it
// `directory` has another link, or gets what it has not.
void remove_generation(const std::string& path, const std::string& directory) {
  const Result<std::vector<std::string>> names = entries(path);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string file = cat(path, "/", name), kept = cat(directory, "/", name);
    if (is_written(name) || same_file(file, kept))
      (void)::unlink(file.c_str());
    else
      (void)::renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, kept.c_str(), RENAME_NOREPLACE);
  }
  (void)::rmdir(path.c_str());
}

// DIR's real path, and the names beside it: PARENT/.NAME.records-XXXXXX.
struct DirectoryPlace {
  std::string real, parent, prefix;
};

Result<DirectoryPlace> place_of(const std::string& directory) {
  char path[PATH_MAX];
  if (::realpath(directory.c_str(), path) == nullptr) return file_error("cannot find directory", directory, errno);
  DirectoryPlace out{path, "", ""};
  const size_t slash = out.real.rfind('/');
  out.parent = slash == 0 ? "/" : out.real.substr(0, slash);
  out.prefix = cat(".", out.real.substr(slash + 1), ".records-");
  return out;
}

// What conversions that were killed left in the directory and beside it. REQUIRED: the directory's lock is held.
Status sweep(const std::string& directory) {
  TENON_ASSIGN(const std::vector<std::string> inside, entries(directory));
  for (const std::string& name : inside)
    if (is_staging(name)) remove_generation(cat(directory, "/", name), directory);
  TENON_ASSIGN(const DirectoryPlace place, place_of(directory));
  const Result<std::vector<std::string>> beside = entries(place.parent);
  if (!beside.ok()) return {};  // a parent that may not be read has none of ours
  for (const std::string& name : *beside) {
    if (!name.starts_with(place.prefix) || name.size() != place.prefix.size() + 6) continue;
    const std::string aside = cat(place.parent, "/", name);
    const Result<DirectoryLock> lock = DirectoryLock::take(aside, "data directory", "conversion");
    if (lock.ok()) remove_generation(aside, directory);
  }
  return {};
}

// Goes on with moving the new files to their places, from any point. REQUIRED: the directory's lock is held.
Status move_in(const std::string& directory) {
  const std::string decided = directory + kDecided, moving = directory + kMoving;
  if (is_there(decided)) {
    TENON_ASSIGN(const std::vector<std::string> old, records_in(directory));
    for (const std::string& path : old) TENON_TRY(remove_if_there(path));
    TENON_TRY(sync_directory(directory));
    TENON_TRY(rename_to(decided, moving));
  }
  if (!is_there(moving)) return {};
  TENON_TRY(sync_directory(directory));
  TENON_ASSIGN(const std::vector<std::string> names, entries(moving));
  for (const std::string& name : names)
    if (name != ".lock") TENON_TRY(rename_to(cat(moving, "/", name), cat(directory, "/", name)));
  TENON_TRY(sync_directory(directory));
  TENON_TRY(remove_if_there(moving + "/.lock"));
  if (::rmdir(moving.c_str()) != 0) return file_error("cannot remove", moving, errno);
  return sync_directory(directory);
}

// A directory cannot be replaced by a file.
Status check_names(const std::string& directory) {
  TENON_ASSIGN(const std::vector<std::string> names, entries(directory));
  std::error_code ignored;
  for (const std::string& name : names)
    if (is_written(name) && std::filesystem::is_directory(cat(directory, "/", name), ignored))
      return invalid("output '", directory, "': expected a file '", name, "' or none, found a directory");
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

// Links of all that is not a conversion's; false, and none of them, where there is something that cannot be linked.
bool link_others(const std::string& directory, const std::string& to) {
  const Result<std::vector<std::string>> names = entries(directory);
  if (!names.ok()) return false;
  std::vector<std::string> linked;
  bool all = true;
  for (const std::string& name : *names) {
    if (!all || is_written(name) || is_staging(name)) continue;
    const std::string path = cat(to, "/", name);
    all = ::link(cat(directory, "/", name).c_str(), path.c_str()) == 0;
    if (all) linked.push_back(path);
  }
  if (!all)
    for (const std::string& path : linked) (void)::unlink(path.c_str());
  return all;
}

void unlink_others(const std::string& path) {
  const Result<std::vector<std::string>> names = entries(path);
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (!is_written(name)) (void)::unlink(cat(path, "/", name).c_str());
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
                   "; choose another directory or ask to overwrite");
  TENON_TRY(check_names(directory));
  TENON_TRY(sweep(directory));
  std::string staging = directory + kStaging;
  if (::mkdtemp(staging.data()) == nullptr) return file_error("cannot make directory in", directory, errno);
  out.staging_ = staging;
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
  remove_generation(staging_, directory_);
}

Status Generation::change_places(bool* changed) {
  *changed = false;
  TENON_ASSIGN(const DirectoryPlace place, place_of(directory_));
  if (place.real == "/" || same_file(".", place.real) || !looks_as(place.real, staging_)) return {};
  if (!link_others(place.real, staging_)) return {};
  const std::string aside =
      cat(place.parent, "/", place.prefix, std::string_view(staging_).substr(staging_.size() - 6));
  const bool beside = ::rename(staging_.c_str(), aside.c_str()) == 0;
  *changed = beside && sync_directory(aside).ok() &&
             ::renameat2(AT_FDCWD, place.real.c_str(), AT_FDCWD, aside.c_str(), RENAME_EXCHANGE) == 0;
  if (!*changed) {
    if (beside) TENON_TRY(rename_to(aside, staging_));
    unlink_others(staging_);
    return {};
  }
  staging_.clear();
  const Status synced = sync_directory(place.parent);
  remove_generation(aside, place.real);
  return synced;
}

Status Generation::commit() {
  TENON_TRY(sync_directory(staging_));
  bool changed = false;
  TENON_TRY(change_places(&changed));
  if (changed) return {};
  TENON_TRY(rename_to(staging_, directory_ + kDecided));
  staging_.clear();
  return move_in(directory_);
}

Status finish_conversion(const std::string& directory) {
  if (!is_there(directory + kDecided) && !is_there(directory + kMoving)) return {};
  TENON_ASSIGN(const DirectoryLock lock, DirectoryLock::take(directory, "data directory", "conversion"));
  return move_in(directory);
}

}  // namespace tenon
