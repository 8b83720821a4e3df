// Our own writer rather than leveldb's: that one is built without exceptions and aborts when memory
// runs out in the middle of a table. tests/golden/tensor_bundle holds it to TensorFlow's bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/crc32c.h"
#include "checkpoint/tensor_bundle_table.h"
#include "data/record/protobuf_wire.h"

namespace tenon {
namespace {

constexpr size_t kBlockBytes = 262144;
constexpr int kRestartInterval = 16;
constexpr size_t kHandlesBytes = 40;  // of the footer

template <class T>
void append_fixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Entries that share the front of their key with the one before, except every `interval`-th.
class Block {
 public:
  explicit Block(int interval) : interval_(interval) {}

  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size() + 4 * restarts_.size() + 4; }

  void add(const std::string& key, std::string_view value) {
    size_t shared = 0;
    if (count_ == interval_) {
      restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
      count_ = 0;
    } else {
      const auto end = std::mismatch(last_.begin(), last_.end(), key.begin(), key.end()).first;
      shared = static_cast<size_t>(end - last_.begin());
    }
    ++count_;
    wire::put_varint(bytes_, shared);
    wire::put_varint(bytes_, key.size() - shared);
    wire::put_varint(bytes_, value.size());
    bytes_.append(key, shared).append(value);
    last_ = key;
  }

  std::string finish() const {
    std::string out = bytes_;
    for (uint32_t restart : restarts_) append_fixed(out, restart);
    append_fixed(out, static_cast<uint32_t>(restarts_.size()));
    return out;
  }

 private:
  int interval_;
  int count_ = 0;
  std::string bytes_;
  std::string last_;
  std::vector<uint32_t> restarts_ = {0};
};

// Appends a block with its trailer; returns its handle.
std::string append_block(std::string& table, const Block& block) {
  std::string handle;
  std::string bytes = block.finish();
  wire::put_varint(handle, table.size());
  wire::put_varint(handle, bytes.size());
  bytes += '\0';  // not compressed
  append_fixed(bytes, crc32c_mask(crc32c(bytes)));
  table += bytes;
  return handle;
}

// A short key in [last, next).
std::string separator(std::string last, const std::string& next) {
  const auto [a, b] = std::mismatch(last.begin(), last.end(), next.begin(), next.end());
  if (a == last.end() || b == next.end()) return last;
  const auto low = static_cast<uint8_t>(*a);
  if (low == 0xff || low + 1 >= static_cast<uint8_t>(*b)) return last;
  ++*a;
  last.erase(a + 1, last.end());
  return last;
}

// A short key not below `last`.
std::string successor(std::string last) {
  const auto at = std::find_if(last.begin(), last.end(), [](char c) { return c != '\xff'; });
  if (at == last.end()) return last;
  ++*at;
  last.erase(at + 1, last.end());
  return last;
}

}  // namespace

std::string encode_table(const std::map<std::string, std::string>& entries) {
  std::string table;
  Block index(1), data(kRestartInterval);
  for (auto it = entries.begin(); it != entries.end(); ++it) {
    data.add(it->first, it->second);
    const auto next = std::next(it);
    const bool last = next == entries.end();
    if (data.size() < kBlockBytes && !last) continue;
    index.add(last ? successor(it->first) : separator(it->first, next->first), append_block(table, data));
    data = Block(kRestartInterval);
  }
  std::string footer = append_block(table, Block(1));
  footer += append_block(table, index);
  footer.resize(kHandlesBytes);
  append_fixed(footer, kTableMagic);
  return table + footer;
}

}  // namespace tenon
