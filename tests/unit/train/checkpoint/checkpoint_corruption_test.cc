#include <snappy.h>

#include "base/crc32c.h"
#include "checkpoint_test_util.h"
#include "checkpoint/tensor_bundle_table.h"

namespace tenon {
namespace {

using testing::difference;
using testing::Directory;
using testing::save_state;
using testing::slurp;
using testing::spill;

// Damages a file in every way of a kind, asks `check` each time, puts the file back.
class Damage {
 public:
  explicit Damage(std::string path) : path_(std::move(path)), whole_(slurp(path_)) {}

  const std::string& whole() const { return whole_; }

  template <class Check>
  void flip_every_bit(Check check) {
    for (size_t bit = 0; bit < whole_.size() * 8; ++bit) {
      std::string bytes = whole_;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      spill(path_, bytes);
      ASSERT_TRUE(check()) << path_ << " with bit " << bit << " flipped";
    }
    spill(path_, whole_);
  }

  template <class Check>
  void cut_everywhere(Check check) {
    for (size_t size = 0; size < whole_.size(); ++size) {
      spill(path_, whole_.substr(0, size));
      ASSERT_TRUE(check()) << path_ << " cut to " << size << " bytes";
    }
    spill(path_, whole_);
  }

 private:
  std::string path_;
  std::string whole_;
};

std::string verify(const std::string& prefix) {
  Result<BundleReader> reader = BundleReader::open(prefix);
  return reader.ok() ? reader->verify().message() : reader.status().message();
}

TEST(CheckpointCorruption, EveryFlippedBitAndEveryCutIsRefusedByName) {
  Directory dir;
  CheckpointManager manager = CheckpointManager::open(dir.path()).take();
  const std::string prefix = save_state(manager, 7).take();
  for (const std::string& file : {bundle_index_path(prefix), bundle_data_path(prefix)}) {
    Damage damage(file);
    const auto refused = [&] { return verify(prefix).find(prefix) != std::string::npos; };
    damage.flip_every_bit(refused);
    damage.cut_everywhere(refused);
    EXPECT_EQ(verify(prefix), "");
  }
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string little_endian(uint64_t value, int bytes) {
  return std::string(reinterpret_cast<const char*>(&value), static_cast<size_t>(bytes));
}

// A table of one snappy-compressed block, as some releases of TensorFlow write the index of merged
// checkpoints.
class CompressedTable {
 public:
  explicit CompressedTable(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string block;
    for (const auto& [key, value] : entries) block += entry(key, value);
    const std::string data = add(block);
    const std::string metaindex = add("");
    const std::string index = add(entry(entries.back().first, data));
    std::string footer = metaindex + index;
    footer.resize(40);
    bytes += footer + little_endian(0xdb4775248b80fb57, 8);
  }

  std::string bytes;

 private:
  static std::string entry(const std::string& key, const std::string& value) {
    return varint(0) + varint(key.size()) + varint(value.size()) + key + value;
  }
  // Appends a block; returns its handle.
  std::string add(const std::string& entries) {
    const std::string raw = entries + little_endian(0, 4) + little_endian(1, 4);
    std::string stored;
    snappy::Compress(raw.data(), raw.size(), &stored);
    const std::string handle = varint(bytes.size()) + varint(stored.size());
    stored += '\1';
    bytes += stored + little_endian(crc32c_mask(crc32c(stored)), 4);
    return handle;
  }
};

TEST(CheckpointCorruption, ACompressedIndexIsReadAndEveryFlippedBitOfItRefused) {
  Directory dir;
  const std::string golden = std::string(TENON_GOLDEN) + "/tensor_bundle/types";
  const auto entries = decode_table(slurp(bundle_index_path(golden)), "golden").take();
  spill(dir / "types.index", CompressedTable(entries).bytes);
  ASSERT_LT(std::filesystem::file_size(dir / "types.index"), slurp(bundle_index_path(golden)).size());
  std::filesystem::copy(bundle_data_path(golden), bundle_data_path(dir / "types"));
  EXPECT_EQ(verify(dir / "types"), "");
  Damage damage(dir / "types.index");
  damage.flip_every_bit([&] { return !verify(dir / "types").empty(); });
  damage.cut_everywhere([&] { return !verify(dir / "types").empty(); });
}

// A block that claims to expand to 4 GiB is refused before anything is allocated.
TEST(CheckpointCorruption, ACompressionBombIsRefused) {
  std::string block = "\xff\xff\xff\xff\x0f" + std::string(20, '\0') + '\1';
  std::string table = block + little_endian(crc32c_mask(crc32c(block)), 4);
  std::string footer = varint(0) + varint(0) + varint(0) + varint(25);
  footer.resize(40);
  const Status status = decode_table(table + footer + little_endian(0xdb4775248b80fb57, 8), "DIR/x.index").status();
  EXPECT_EQ(status.message(), "DIR/x.index: not a valid checkpoint index: bad compressed block at offset 0");
}

// A flipped bit in the list of names must not lead to an older checkpoint.
TEST(CheckpointCorruption, ADamagedTextFileStillLeadsToTheNewest) {
  Directory dir;
  CheckpointManager manager = CheckpointManager::open(dir.path()).take();
  for (int64_t step : {20, 30}) ASSERT_TRUE(save_state(manager, step).ok());
  Damage damage(dir / "checkpoint");
  const auto newest = [&] {
    Result<std::optional<FoundCheckpoint>> found = latest_checkpoint(dir.path());
    return found.ok() && found->has_value() && (*found)->step == 30 && difference((*found)->prefix, 30).empty();
  };
  damage.flip_every_bit(newest);
  damage.cut_everywhere(newest);
}

}  // namespace
}  // namespace tenon
