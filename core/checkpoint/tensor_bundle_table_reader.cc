// Our own reader rather than leveldb's: that one allocates whatever a block handle says before it
// looks at the file's size, and a checkpoint index may come from anywhere.
#include <snappy.h>

#include <cstring>

#include "base/crc32c.h"
#include "base/strings.h"
#include "checkpoint/tensor_bundle_table.h"

namespace tenon {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;  // compression type, masked CRC
constexpr size_t kMaxKeyBytes = 64 << 10;
constexpr size_t kMaxValueBytes = 1 << 20;
// Shared key prefixes let a small file expand quadratically.
constexpr size_t kMaxTableBytes = 128 << 20;

uint32_t load_u32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Takes a varint off the front of `in`; only its shortest form counts, so that no flipped bit goes unseen.
bool take_varint(std::string_view& in, uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return byte != 0 || shift == 0;
  }
  return false;
}

struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

bool take_handle(std::string_view& in, Handle& out) { return take_varint(in, out.offset) && take_varint(in, out.size); }

class TableReader {
 public:
  TableReader(std::string_view bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  Result<Entries> read();

 private:
  template <class... Parts>
  Status broken(const Parts&... parts) const {
    return invalid(file_, ": not a valid checkpoint index: ", parts...);
  }
  Status read_footer(Handle& metaindex, Handle& index) const;
  // The contents of the block at next_, which `handle` must name; steps past it.
  Status next_block(const Handle& handle, std::string& contents);
  Status uncompress(std::string_view stored, std::string& contents) const;
  Status parse_block(std::string_view block, Entries& out);
  Status parse_entries(std::string_view in, Entries& out);
  Status take_entry(std::string_view& in, std::string& key, Entries& out);

  std::string_view bytes_;
  std::string_view file_;
  size_t next_ = 0;
  size_t total_ = 0;
};

Status TableReader::read_footer(Handle& metaindex, Handle& index) const {
  if (bytes_.size() < kFooterBytes) return broken("it has ", bytes_.size(), " bytes, expected at least ", kFooterBytes);
  std::string_view footer = bytes_.substr(bytes_.size() - kFooterBytes);
  uint64_t magic;
  std::memcpy(&magic, footer.data() + 40, sizeof magic);
  if (magic != kTableMagic) return broken("wrong magic number at its end; the file is torn or of another kind");
  footer.remove_suffix(8);
  if (!take_handle(footer, metaindex) || !take_handle(footer, index)) return broken("bad footer");
  if (footer.find_first_not_of('\0') != std::string_view::npos) return broken("bad footer");
  return {};
}

Status TableReader::uncompress(std::string_view stored, std::string& contents) const {
  size_t size = 0;
  // Snappy makes at most 64 bytes of 3.
  if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &size) || size > stored.size() * 22 + 64)
    return broken("bad compressed block at offset ", next_);
  contents.resize(size);
  if (!snappy::RawUncompress(stored.data(), stored.size(), contents.data()))
    return broken("bad compressed block at offset ", next_);
  return {};
}

Status TableReader::next_block(const Handle& handle, std::string& contents) {
  const size_t room = bytes_.size() - kFooterBytes - next_;
  if (handle.offset != next_ || room < kTrailerBytes || handle.size > room - kTrailerBytes)
    return broken("block of ", handle.size, " bytes at offset ", handle.offset, ", expected one at ", next_, " within ",
                  room, " bytes");
  const std::string_view stored = bytes_.substr(next_, handle.size);
  const char* trailer = stored.data() + stored.size();
  const uint32_t expected = load_u32(trailer + 1);
  const uint32_t found = crc32c_mask(crc32c(stored.data(), stored.size() + 1));
  if (expected != found) return broken("block at offset ", next_, " fails its checksum");
  if (*trailer == 1) {
    TENON_TRY(uncompress(stored, contents));
  } else if (*trailer == 0) {
    contents = stored;
  } else {
    return broken("block at offset ", next_, " has unknown compression ", static_cast<int>(*trailer));
  }
  next_ += handle.size + kTrailerBytes;
  return {};
}

// Entries share the front of their key with the one before.
Status TableReader::take_entry(std::string_view& in, std::string& key, Entries& out) {
  uint64_t shared, fresh, value;
  if (!take_varint(in, shared) || !take_varint(in, fresh) || !take_varint(in, value)) return broken("torn entry");
  if (shared > key.size() || fresh > in.size() || value > in.size() - fresh) return broken("torn entry");
  if (shared + fresh > kMaxKeyBytes || value > kMaxValueBytes) return broken("entry of absurd size");
  const std::string before = key;
  key.resize(shared);
  key.append(in.substr(0, fresh));
  if (!out.empty() && key <= before) return broken("names are out of order at '", abbreviated(key), "'");
  total_ += key.size() + value;
  if (total_ > kMaxTableBytes) return broken("it expands to more than ", kMaxTableBytes, " bytes");
  out.emplace_back(key, in.substr(fresh, value));
  in.remove_prefix(fresh + value);
  return {};
}

Status TableReader::parse_entries(std::string_view in, Entries& out) {
  std::string key;
  Entries block;
  while (!in.empty()) TENON_TRY(take_entry(in, key, block));
  if (!block.empty() && !out.empty() && block.front().first <= out.back().first)
    return broken("names are out of order at '", abbreviated(block.front().first), "'");
  std::move(block.begin(), block.end(), std::back_inserter(out));
  return {};
}

Status TableReader::parse_block(std::string_view block, Entries& out) {
  if (block.size() < 4) return broken("block of ", block.size(), " bytes");
  const size_t restarts = load_u32(block.data() + block.size() - 4);
  block.remove_suffix(4);
  if (restarts > block.size() / 4) return broken("block with ", restarts, " restarts in ", block.size(), " bytes");
  block.remove_suffix(restarts * 4);
  return parse_entries(block, out);
}

Result<Entries> TableReader::read() {
  Handle metaindex, index;
  TENON_TRY(read_footer(metaindex, index));
  std::string block;
  // The index block comes last but names the others.
  next_ = index.offset;
  if (next_ > bytes_.size() - kFooterBytes) return broken("bad footer");
  TENON_TRY(next_block(index, block));
  if (next_ != bytes_.size() - kFooterBytes) return broken("stray bytes before the footer");
  Entries handles, entries;
  TENON_TRY(parse_block(block, handles));
  next_ = 0;
  for (const auto& [last_key, encoded] : handles) {
    Handle handle;
    std::string_view in = encoded;
    if (!take_handle(in, handle) || !in.empty()) return broken("bad block handle");
    TENON_TRY(next_block(handle, block));
    TENON_TRY(parse_block(block, entries));
  }
  TENON_TRY(next_block(metaindex, block));
  if (next_ != index.offset) return broken("stray bytes before offset ", index.offset);
  return entries;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> decode_table(std::string_view bytes, std::string_view file) {
  return TableReader(bytes, file).read();
}

}  // namespace tenon
