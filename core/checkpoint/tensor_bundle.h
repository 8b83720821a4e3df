// TensorFlow's checkpoint format, TensorBundle: PREFIX.index, a table of names, and
// PREFIX.data-00000-of-0000N, the bytes. TensorFlow reads what is written here and the other way
// round.
//
// Names are TF1 style: variables by name, `global_step`, optimizer slots as `VAR/Momentum`. What only
// Tenon understands goes under `tenon/`; TensorFlow leaves such names alone. tf.train.Checkpoint names tensors by the way to
// them through Python's objects, "model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"; open_checkpoint()
// finds their variables' names in what the file says of its objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/file.h"
#include "tenon/types.h"

namespace tenon {

// What the index says of one tensor.
struct BundleEntry {
  DType dtype = DType::kNone;  // kNone: strings, or a type that Tenon does not have
  bool is_string = false;
  int32_t tf_dtype = 0;  // TensorFlow's number
  Shape shape;
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;     // bytes in the data file
  uint32_t crc = 0;     // masked
  bool sliced = false;  // a partitioned variable, which Tenon does not read

  std::string str() const;  // "f32[784,10]", "string[2]"
};

// Fills the next bytes of a tensor; called until all are there, in order.
using FillBytes = std::function<Status(std::span<std::byte> piece)>;

// Is given a tensor's bytes, in order.
using TakeBytes = std::function<void(std::span<const std::byte> piece)>;

// Writes one bundle, a tensor at a time; no second copy of a tensor is made. Nothing is seen under the
// final names before finish(). After an error every later call fails with the same one. One thread.
class BundleWriter {
 public:
  static Result<BundleWriter> create(const std::string& prefix);

  // REQUIRED: bytes.size() is what type needs, dense and row-major.
  Status add(std::string_view name, const Type& type, std::span<const std::byte> bytes);

  // The bytes come from `fill` in pieces of at most 1 MiB.
  Status add(std::string_view name, const Type& type, const FillBytes& fill);

  Status add_scalar(std::string_view name, int64_t value);
  Status add_strings(std::string_view name, const Shape& shape, std::span<const std::string> values);
  Status add_string(std::string_view name, const std::string& value) { return add_strings(name, {}, {&value, 1}); }

  bool has(std::string_view name) const { return entries_.count(std::string(name)) != 0; }

  // Makes both files durable without showing them. The bytes of the index, which hold the checksum
  // of everything, are the bundle's fingerprint.
  Result<std::string> finish();

  // finish(), unless done; then the data appears, after it the index. Survives a power loss.
  Status commit();

 private:
  BundleWriter(std::string prefix, AtomicFile data, AtomicFile index);
  Status begin(std::string_view name);
  Status append(const void* data, size_t bytes);
  Status end(std::string_view name, int32_t tf_dtype, const Shape& shape);
  Status keep(Status status);  // remembers the first error

  std::string prefix_;
  AtomicFile data_;
  AtomicFile index_;
  std::map<std::string, std::string> entries_;  // name -> serialized BundleEntryProto
  std::vector<std::byte> piece_;
  int64_t start_ = 0;
  uint32_t crc_ = 0;
  bool finished_ = false;
  std::string fingerprint_;
  Status failed_;
};

// Reads a bundle. Nothing that the files say is believed: sizes are held against shapes and the
// files' sizes before anything is allocated, and every read checks the tensor's checksum. Errors name
// file and tensor. Movable; reading is thread safe.
class BundleReader {
 public:
  static Result<BundleReader> open(const std::string& prefix);

  // Gives the tensors of a tf.train.Checkpoint the names of their variables, "dense/kernel", without that of a model that all
  // begin with; optimizers' slots and counters get those of TensorFlow 1 where they mean the same there. Two tensors that
  // would have one name keep the way to them. Other files stay as they are.
  Status name_by_objects();

  const std::string& prefix() const { return prefix_; }
  const std::map<std::string, BundleEntry, std::less<>>& entries() const { return entries_; }
  const BundleEntry* find(std::string_view name) const;  // null when there is none

  // The tensor's bytes; `out` must have the size of its type. On an error `out` is unspecified.
  Status read(std::string_view name, std::span<std::byte> out) const;
  // The same in pieces of at most 1 MiB. Whether they were right is known at the end.
  Status read_pieces(std::string_view name, const TakeBytes& take) const;
  Result<int64_t> read_scalar(std::string_view name) const;  // an i64 or i32 of one element
  Result<std::vector<std::string>> read_strings(std::string_view name) const;

  // Reads everything and checks every checksum.
  Status verify() const;

  // A fingerprint of the index: equal ones mean equal tensors.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  Status load_index();
  Status load_header(std::string_view value);
  Status load_entry(const std::string& name, std::string_view value);
  Status check_sizes(const std::string& name, BundleEntry& entry);
  Status open_shard(int32_t shard);
  Status read_bytes(std::string_view name, const BundleEntry& entry, std::span<std::byte> out) const;
  Status check_crc(std::string_view name, const BundleEntry& entry, uint32_t found) const;
  Result<std::vector<std::string>> load_strings(std::string_view name, const BundleEntry& entry) const;
  Status take_pieces(std::string_view name, const BundleEntry& entry, const TakeBytes& take) const;
  Status check_numeric(std::string_view name, const BundleEntry& entry) const;
  Status bad_boolean(std::string_view name, const BundleEntry& entry) const;
  Result<const BundleEntry*> lookup(std::string_view name) const;

  std::string prefix_;
  std::string index_path_;
  int32_t num_shards_ = 0;
  std::map<std::string, BundleEntry, std::less<>> entries_;
  std::map<int32_t, File> shards_;
  std::string fingerprint_;
};

// PREFIX.index
std::string bundle_index_path(std::string_view prefix);
// PREFIX.data-00000-of-00001
std::string bundle_data_path(std::string_view prefix, int shard = 0, int shards = 1);

}  // namespace tenon
