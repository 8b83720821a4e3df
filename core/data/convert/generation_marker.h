// .tenon-conversion: by this file, and by no name, a conversion knows a directory that a killed one left.
//
//   tenon conversion
//   INODE OUTPUT              of the directory that it was written in, and of the data directory
//   train-00000-of-00002      the files that are a conversion's; there may be none else that is moved or removed
//   moves .records-XXXXXX     only in the data directory: these files are being moved in from there
//
// In the data directory's place it is hidden from programs that read records, and gone once the conversion has ended.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/descriptor.h"
#include "tenon/status.h"

namespace tenon {

constexpr const char* kMarker = ".tenon-conversion";
constexpr const char* kRecordFiles[] = {"train-*-of-*", "validation-*-of-*", "wmt32k-train-*-of-*",
                                        "wmt32k-dev-*-of-*"};
constexpr const char* kVocabularyFiles = "vocab.*.[0-9]*";

struct GenerationMarker {
  uint64_t directory = 0, output = 0;  // 0: cut short before it was written; lists nothing
  std::vector<std::string> files;
  std::string moves;

  bool lists(std::string_view name) const;  // or the file that `name` is a temporary of
};

// Whether a file of this name, or of which this is the temporary, is a conversion's.
bool is_conversions(std::string_view name);
// .records-XXXXXX
bool is_staging(const std::string& name);

// A directory itself, whatever becomes of its name. Movable; one thread.
class OpenDirectory {
 public:
  // Not open where there is none, or, unless `follow`, a link.
  explicit OpenDirectory(const std::string& path, bool follow = false);
  // A directory in it.
  OpenDirectory(const OpenDirectory& in, const std::string& name);

  explicit operator bool() const { return static_cast<bool>(directory_); }
  int fd() const { return directory_.get(); }
  uint64_t inode() const { return info_.st_ino; }
  uint32_t owner() const { return info_.st_uid; }
  std::vector<std::string> names() const;
  bool has_file(const std::string& name) const;
  bool has_same(const std::string& name, const OpenDirectory& other) const;

  // Nothing where there is no such file, or somebody's own.
  std::optional<GenerationMarker> marker() const;
  Status begin_marker(uint64_t output, const std::vector<std::string>& files) const;
  Status add_to_marker(const std::string& line, bool sync) const;

 private:
  Status write_marker(int flags, const std::string& text, bool sync) const;

  std::string path_;
  Descriptor directory_;
  struct stat info_ {};
};

}  // namespace tenon
