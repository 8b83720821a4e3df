// A data directory's records, labels.txt or vocabulary, and info.json, replaced all at once.
//
// The new files are written into DIR/.records-XXXXXX. commit() makes that directory DIR: it moves beside it, takes hard
// links of all that is in DIR and not a conversion's, and both change places in one step (renameat2); then the old one is
// removed. Until that step DIR has the old files, from it on the new ones, whenever the process is killed.
//
// Where directories cannot change places (DIR is a mount point, has directories of others in it or ACLs, is the current
// directory, or its parent may not be written) the new files are moved into DIR one by one, after a first step that
// decides it: .tenon-conversion moves from there into DIR. Nothing is lost when that is cut short: the next conversion goes
// on where it stopped, and check_conversion() (tenon/convert.h) refuses what is there until then.
//
// What several processes have made, DIR/.tenon-parts (parts.h), goes with the old one.
//
// A left-over directory is taken up or removed only by its .tenon-conversion (generation_marker.h), and of what is in it only
// the files listed there; what else it has stays, and one line on stderr says where. An empty one of this user's goes too: a
// conversion may have been killed between making it and marking it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file/directory_lock.h"
#include "tenon/status.h"

namespace tenon {

// A directory and its parents; those that it made and that are still empty go with it.
class MadeDirectory {
 public:
  static Result<MadeDirectory> make(const std::string& path);
  MadeDirectory(MadeDirectory&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  ~MadeDirectory();

 private:
  MadeDirectory() = default;
  std::vector<std::string> made_;  // parents first
};

// Holds the directory's lock, from begin() to its end. Movable; one thread.
class Generation {
 public:
  // Makes the directory where it is missing. "unavailable" when another conversion is writing there; an error when it holds
  // records already, unless `overwrite`.
  static Result<Generation> begin(const std::string& directory, bool overwrite);
  Generation(Generation&& other) noexcept;
  ~Generation();  // without commit(): removes what was written

  // Where a new file of the conversion is to be put, complete and synced; first lists it as one.
  Result<std::string> add(const std::string& name);
  Status commit();
  // The error, naming what is in the new directory by where it is to be in the end.
  Status as_asked(const Status& error) const;

 private:
  explicit Generation(MadeDirectory made) : made_(std::move(made)) {}
  Status change_places(bool* changed);

  MadeDirectory made_;  // outlives the files in it
  std::string directory_;
  std::optional<DirectoryLock> lock_, new_lock_;  // of the directory, and of what is to be it
  std::string staging_;                           // empty once it has become the directory
};

}  // namespace tenon
