#include "checkpoint/archive/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/strings.h"

namespace tenon {
namespace {

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Place = 0x07064b50, kMember = 0x02014b50,
                   kLocal = 0x04034b50;
constexpr int64_t kEndBytes = 22, kMostComment = 65535, kMemberBytes = 46, kLocalBytes = 30;
constexpr int64_t kMostMembers = 1 << 18, kMostDirectory = int64_t{1} << 26;
constexpr int64_t kMostInflated = 1033;  // deflate makes no more of a byte
constexpr size_t kZipPiece = size_t{1} << 18;

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

}  // namespace

template <class... Parts>
Status ZipFile::bad(const Parts&... parts) const {
  return invalid("'", path(), "': ", parts...);
}

Result<ZipFile> ZipFile::open(const std::string& path) {
  TENON_ASSIGN(File file, File::open(path));
  ZipFile out(std::move(file));
  TENON_TRY(out.find_members());
  return out;
}

Result<ZipFile::Directory> ZipFile::find_directory() const {
  const int64_t tail = std::min(file_.size(), kEndBytes + kMostComment);
  std::string bytes(static_cast<size_t>(tail), '\0');
  TENON_TRY(file_.read_exactly_at(file_.size() - tail, bytes.data(), bytes.size()));
  for (int64_t at = tail - kEndBytes; at >= 0; --at) {
    const std::string_view end = std::string_view(bytes).substr(static_cast<size_t>(at));
    if (number_at<uint32_t>(end, 0) != kEnd || number_at<uint16_t>(end, 20) != end.size() - kEndBytes) continue;
    Directory out{number_at<uint32_t>(end, 16), number_at<uint32_t>(end, 12), number_at<uint16_t>(end, 10)};
    if (number_at<uint16_t>(end, 4) != 0 && number_at<uint16_t>(end, 4) != 0xffff)
      return bad("is one of several archives");
    const bool wide = out.offset == UINT32_MAX || out.bytes == UINT32_MAX || out.count == UINT16_MAX;
    if (!wide || at < 20) return out;
    const std::string_view place = std::string_view(bytes).substr(static_cast<size_t>(at - 20));
    if (number_at<uint32_t>(place, 0) != kEnd64Place) return out;
    const auto offset = number_at<uint64_t>(place, 8);
    char record[56];
    if (offset > static_cast<uint64_t>(file_.size()) || static_cast<uint64_t>(file_.size()) - offset < sizeof record)
      return bad("is a damaged archive");
    TENON_TRY(file_.read_exactly_at(static_cast<int64_t>(offset), record, sizeof record));
    const std::string_view r(record, sizeof record);
    const auto count = number_at<uint64_t>(r, 32), size = number_at<uint64_t>(r, 40),
               start = number_at<uint64_t>(r, 48);
    if (number_at<uint32_t>(r, 0) != kEnd64 || std::max({count, size, start}) > INT64_MAX)
      return bad("is a damaged archive");
    return Directory{static_cast<int64_t>(start), static_cast<int64_t>(size), static_cast<int64_t>(count)};
  }
  return bad("is no zip archive, or is cut off: it has no directory at its end");
}

Status ZipFile::find_members() {
  TENON_ASSIGN(const Directory d, find_directory());
  if (d.count > kMostMembers) return bad("has ", d.count, " members, expected at most ", kMostMembers);
  if (d.bytes > kMostDirectory || d.offset > file_.size() || d.bytes > file_.size() - d.offset)
    return bad("its directory of ", d.bytes, " bytes at ", d.offset, " is not in the file, which has ", file_.size());
  std::string bytes(static_cast<size_t>(d.bytes), '\0');
  TENON_TRY(file_.read_exactly_at(d.offset, bytes.data(), bytes.size()));
  std::string_view in = bytes;
  for (int64_t i = 0; i < d.count; ++i) TENON_TRY(take_member(in));
  return {};
}

Status ZipFile::take_member(std::string_view& in) {
  if (in.size() < kMemberBytes || number_at<uint32_t>(in, 0) != kMember) return bad("is a damaged archive");
  const uint16_t flags = number_at<uint16_t>(in, 8), method = number_at<uint16_t>(in, 10);
  const size_t name = number_at<uint16_t>(in, 28), extra = number_at<uint16_t>(in, 30),
               comment = number_at<uint16_t>(in, 32);
  if (in.size() - kMemberBytes < name + extra + comment) return bad("is a damaged archive");
  const std::string text(in.substr(kMemberBytes, name));
  uint64_t stored = number_at<uint32_t>(in, 20), bytes = number_at<uint32_t>(in, 24),
           header = number_at<uint32_t>(in, 42);
  std::string_view fields = in.substr(kMemberBytes + name, extra);
  while (fields.size() >= 4) {
    const size_t size = number_at<uint16_t>(fields, 2);
    if (fields.size() - 4 < size) break;
    std::string_view wide = number_at<uint16_t>(fields, 0) == 1 ? fields.substr(4, size) : std::string_view();
    for (uint64_t* value : {&bytes, &stored, &header})
      if (*value == UINT32_MAX && wide.size() >= 8) *value = number_at<uint64_t>(wide, 0), wide.remove_prefix(8);
    fields.remove_prefix(4 + size);
  }
  const auto size = static_cast<uint64_t>(file_.size());
  const std::string what = cat("member '", abbreviated(text), "'");
  if (flags & 1) return bad(what, " is encrypted");
  if (method != 0 && method != 8) return bad(what, " is compressed by method ", method, ", expected 0 or 8");
  if (header > size || stored > size - header || kLocalBytes > static_cast<int64_t>(size - header - stored))
    return bad(what, " of ", stored, " bytes at ", header, " is beyond the end of the file, which has ", size);
  if (method == 0 ? bytes != stored : bytes > stored * kMostInflated + 64)
    return bad(what, " would have ", bytes, " bytes, of which ", stored, " are stored");
  const ZipMember member{static_cast<int64_t>(header), static_cast<int64_t>(stored), static_cast<int64_t>(bytes),
                         number_at<uint32_t>(in, 16), method == 8};
  if (!members_.emplace(text, member).second) return bad("has two members '", abbreviated(text), "'");
  in.remove_prefix(kMemberBytes + name + extra + comment);
  return {};
}

Result<std::string> ZipFile::read(std::string_view name, int64_t most) const {
  const ZipMember& member = members_.find(name)->second;
  if (member.bytes > most)
    return bad("member '", abbreviated(name), "' has ", member.bytes, " bytes, expected at most ", most);
  std::string out;
  TENON_TRY(read(name, [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status();
  }));
  return out;
}

// Where its bytes begin, which lie in the file.
Result<int64_t> ZipFile::place_of(std::string_view name, const ZipMember& member) const {
  char local[kLocalBytes];
  TENON_TRY(file_.read_exactly_at(member.header, local, sizeof local));
  const std::string_view l(local, sizeof local);
  if (number_at<uint32_t>(l, 0) != kLocal) return bad("is a damaged archive");
  const int64_t at = member.header + kLocalBytes + number_at<uint16_t>(l, 26) + number_at<uint16_t>(l, 28);
  if (at > file_.size() || member.stored > file_.size() - at) return bad("member '", abbreviated(name), "' is cut off");
  return at;
}

Status ZipFile::read_at(std::string_view name, int64_t offset, std::span<std::byte> out) const {
  const ZipMember& member = members_.find(name)->second;
  if (member.deflated) return bad("member '", abbreviated(name), "' is compressed, expected it as it is");
  if (offset < 0 || offset > member.bytes || std::ssize(out) > member.bytes - offset)
    return bad("member '", abbreviated(name), "' has ", member.bytes, " bytes, expected ", out.size(), " at ", offset);
  TENON_ASSIGN(const int64_t at, place_of(name, member));
  return file_.read_exactly_at(at + offset, out.data(), out.size());
}

Status ZipFile::read(std::string_view name, const std::function<Status(std::span<const std::byte>)>& take) const {
  const ZipMember& member = members_.find(name)->second;
  TENON_ASSIGN(int64_t at, place_of(name, member));
  int64_t left = member.stored;

  z_stream z{};
  if (member.deflated && inflateInit2(&z, -MAX_WBITS) != Z_OK)
    return Status(Code::kOutOfMemory, "no memory to inflate");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(member.deflated ? &z : nullptr, &inflateEnd);
  std::vector<std::byte> in(kZipPiece), out(member.deflated ? kZipPiece : 0);
  uLong crc = crc32(0, nullptr, 0);
  int64_t given = 0;
  const auto give = [&](const std::byte* data, size_t bytes) -> Status {
    given += static_cast<int64_t>(bytes);
    if (given > member.bytes) return bad("member '", abbreviated(name), "' is larger than it says");
    crc = crc32(crc, reinterpret_cast<const Bytef*>(data), static_cast<uInt>(bytes));
    return take({data, bytes});
  };
  int state = Z_OK;
  while (left > 0 && state != Z_STREAM_END) {
    const auto piece = static_cast<size_t>(std::min<int64_t>(left, kZipPiece));
    TENON_TRY(file_.read_exactly_at(at, in.data(), piece));
    at += static_cast<int64_t>(piece), left -= static_cast<int64_t>(piece);
    if (!member.deflated) {
      TENON_TRY(give(in.data(), piece));
      continue;
    }
    z.next_in = reinterpret_cast<Bytef*>(in.data()), z.avail_in = static_cast<uInt>(piece);
    do {
      z.next_out = reinterpret_cast<Bytef*>(out.data()), z.avail_out = static_cast<uInt>(out.size());
      state = inflate(&z, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
        return bad("member '", abbreviated(name), "' is damaged");
      TENON_TRY(give(out.data(), out.size() - z.avail_out));
    } while (state == Z_OK && (z.avail_in > 0 || z.avail_out == 0));
  }
  if (given != member.bytes || crc != member.crc)
    return bad("member '", abbreviated(name), "' is damaged: its checksum is wrong");
  return {};
}

}  // namespace tenon
