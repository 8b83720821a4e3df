#include <algorithm>
#include <cstring>

#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

// What a header becomes is a few times as large as its text.
constexpr uint64_t kGrowth = 8;

Result<std::string> read_header(const File& file) {
  uint64_t size = 0;
  constexpr auto kPrefix = static_cast<int64_t>(sizeof size);
  if (file.size() < kPrefix)
    return invalid(file.path(), ": not a valid safetensors file: it has ", file.size(), " bytes, expected 8 or more");
  TENON_TRY(file.read_exactly_at(0, &size, sizeof size));
  if (size > static_cast<uint64_t>(std::min(file.size() - kPrefix, kMostSafetensorsHeader)))
    return invalid(file.path(), ": not a valid safetensors file: its header has ", size, " bytes, and the file ",
                   file.size());
  if (size * kGrowth >= kRoomGranule) TENON_TRY(room_for(size * kGrowth, cat("the header of ", file.path())));
  std::string header(size, '\0');
  TENON_TRY(file.read_exactly_at(kPrefix, header.data(), header.size()));
  return header;
}

}  // namespace

Result<SafetensorsReader> SafetensorsReader::open(const std::string& path) {
  return within_memory("read", path, [&]() -> Result<SafetensorsReader> {
    TENON_ASSIGN(File file, File::open(path));
    TENON_ASSIGN(const std::string json, read_header(file));
    const auto buffer = static_cast<int64_t>(sizeof(uint64_t) + json.size());
    TENON_ASSIGN(SafetensorsHeader header, parse_safetensors_header(json, file.size() - buffer, path));
    return SafetensorsReader(std::move(file), std::move(header), buffer);
  });
}

Status SafetensorsReader::read(std::string_view name, std::span<std::byte> out) const {
  const auto found = header_.entries.find(name);
  if (found == header_.entries.end()) return invalid(path(), " has no tensor '", abbreviated(name), "'");
  const SafetensorsEntry& entry = found->second;
  if (entry.dtype == DType::kNone)
    return Status(Code::kUnsupported,
                  cat(path(), ": tensor '", abbreviated(name), "' is ", entry.str(), ", which is not a type of Tenon"));
  if (static_cast<int64_t>(out.size()) != entry.size)
    return invalid(path(), ": tensor '", abbreviated(name), "' is ", entry.str(), " of ", entry.size,
                   " bytes, expected ", out.size());
  TENON_TRY(file_.read_exactly_at(buffer_ + entry.offset, out.data(), out.size()));
  if (entry.dtype == DType::kBool && std::any_of(out.begin(), out.end(), [](std::byte b) { return b > std::byte{1}; }))
    return invalid(path(), ": tensor '", abbreviated(name), "' holds a bool that is neither 0 nor 1");
  return {};
}

}  // namespace tenon
