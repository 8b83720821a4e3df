// Archives in the zip format, as .keras files are: members that are stored or deflated, zip64 too. Nothing that a file says is believed:
// sizes are held against it before anything is taken, checksums are checked. Others' kinds of compression, encryption and
// several disks are refused. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, version 6.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/file/file.h"

namespace tenon {

struct ZipMember {
  int64_t header = 0;  // where its local header is
  int64_t stored = 0, bytes = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

inline constexpr std::string_view kZipSignature = "PK\x03\x04";  // the first bytes of an archive that has members

// Movable; reading is thread safe.
class ZipFile {
 public:
  static Result<ZipFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, ZipMember, std::less<>>& members() const { return members_; }
  // REQUIRED: it is one of members(). The whole of it; larger ones are an error.
  Result<std::string> read(std::string_view name, int64_t most) const;
  // Gives it in pieces. What `take` was given is right only if this is ok in the end.
  Status read(std::string_view name, const std::function<Status(std::span<const std::byte>)>& take) const;
  // Bytes of a member that is stored as it is, from `offset` on. REQUIRED: it is one of members().
  Status read_at(std::string_view name, int64_t offset, std::span<std::byte> out) const;

 private:
  Result<int64_t> place_of(std::string_view name, const ZipMember& member) const;
  explicit ZipFile(File file) : file_(std::move(file)) {}
  Status find_members();
  struct Directory {
    int64_t offset = 0, bytes = 0, count = 0;
  };
  Result<Directory> find_directory() const;
  Status take_member(std::string_view& in);
  template <class... Parts>
  Status bad(const Parts&... parts) const;

  File file_;
  std::map<std::string, ZipMember, std::less<>> members_;
};

}  // namespace tenon
