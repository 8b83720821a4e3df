#include <algorithm>
#include <cstdio>

#include "base/crc32c.h"
#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "checkpoint/tensor_bundle_table.h"
#include "checkpoint/tensor_bundle_types.h"
#include "data/record/protobuf_wire.h"
#include "tensor_bundle.pb.h"

namespace tenon {
namespace {

// TensorFlow hashes a string's length as 32 bits where they suffice, else as 64.
uint32_t extend_length(uint32_t crc, uint64_t length) {
  return crc32c_extend(crc, &length, length <= UINT32_MAX ? 4 : 8);
}

std::string header() {
  bundle::BundleHeaderProto header;
  header.set_num_shards(1);
  header.mutable_version()->set_producer(1);
  return header.SerializeAsString();
}

}  // namespace

std::string bundle_index_path(std::string_view prefix) { return cat(prefix, ".index"); }

std::string bundle_data_path(std::string_view prefix, int shard, int shards) {
  char suffix[48];
  std::snprintf(suffix, sizeof suffix, ".data-%05d-of-%05d", shard, shards);
  return cat(prefix, suffix);
}

BundleWriter::BundleWriter(std::string prefix, AtomicFile data, AtomicFile index)
    : prefix_(std::move(prefix)), data_(std::move(data)), index_(std::move(index)) {
  entries_.emplace("", header());
}

Result<BundleWriter> BundleWriter::create(const std::string& prefix) {
  TENON_ASSIGN(AtomicFile data, AtomicFile::create(bundle_data_path(prefix)));
  TENON_ASSIGN(AtomicFile index, AtomicFile::create(bundle_index_path(prefix)));
  return BundleWriter(prefix, std::move(data), std::move(index));
}

Status BundleWriter::keep(Status status) {
  if (failed_.ok()) failed_ = status;
  return status;
}

Status BundleWriter::begin(std::string_view name) {
  if (!failed_.ok()) return failed_;
  if (finished_) return keep(invalid("checkpoint ", prefix_, ": variable '", name, "' comes after the end"));
  if (name.empty()) return keep(invalid("checkpoint ", prefix_, ": a variable has no name"));
  if (has(name)) return keep(invalid("checkpoint ", prefix_, ": two variables are named '", name, "'"));
  start_ = data_.bytes();
  crc_ = 0;
  return {};
}

Status BundleWriter::append(const void* data, size_t bytes) {
  crc_ = crc32c_extend(crc_, data, bytes);
  return keep(data_.write(data, bytes));
}

Status BundleWriter::end(std::string_view name, int32_t tf_dtype, const Shape& shape) {
  google::protobuf::Arena arena;  // keeps what protobuf would leak when memory runs out
  auto* entry = google::protobuf::Arena::CreateMessage<bundle::BundleEntryProto>(&arena);
  entry->set_dtype(tf_dtype);
  entry->mutable_shape();
  for (int64_t d : shape) entry->mutable_shape()->add_dim()->set_size(d);
  entry->set_offset(start_);
  entry->set_size(data_.bytes() - start_);
  entry->set_crc32c(crc32c_mask(crc_));
  entries_.emplace(name, entry->SerializeAsString());
  return {};
}

Status BundleWriter::add(std::string_view name, const Type& type, std::span<const std::byte> bytes) {
  TENON_TRY(begin(name));
  if (tensorflow_number(type.dtype) == 0)
    return keep(invalid("checkpoint ", prefix_, ": variable '", name, "' has no element type"));
  if (static_cast<int64_t>(bytes.size()) != type.bytes())
    return keep(invalid("checkpoint ", prefix_, ": variable '", name, "' is ", type.str(), " but has ", bytes.size(),
                        " bytes, expected ", type.bytes()));
  for (size_t at = 0; at < bytes.size(); at += kBundlePieceBytes)
    TENON_TRY(append(bytes.data() + at, std::min(kBundlePieceBytes, bytes.size() - at)));
  return end(name, tensorflow_number(type.dtype), type.shape);
}

Status BundleWriter::add(std::string_view name, const Type& type, const FillBytes& fill) {
  TENON_TRY(begin(name));
  if (tensorflow_number(type.dtype) == 0)
    return keep(invalid("checkpoint ", prefix_, ": variable '", name, "' has no element type"));
  for (size_t left = static_cast<size_t>(type.bytes()); left > 0; left -= piece_.size()) {
    piece_.resize(std::min(kBundlePieceBytes, left));
    TENON_TRY(keep(fill(piece_)));
    TENON_TRY(append(piece_.data(), piece_.size()));
  }
  return end(name, tensorflow_number(type.dtype), type.shape);
}

Status BundleWriter::add_scalar(std::string_view name, int64_t value) {
  return add(name, {DType::kI64, {}}, std::as_bytes(std::span(&value, 1)));
}

// Layout: varint lengths | masked checksum of the lengths | the strings' bytes.
Status BundleWriter::add_strings(std::string_view name, const Shape& shape, std::span<const std::string> values) {
  TENON_TRY(begin(name));
  if (static_cast<int64_t>(values.size()) != shape.elements())
    return keep(invalid("checkpoint ", prefix_, ": variable '", name, "' is string", shape.str(), " but has ",
                        values.size(), " values"));
  std::string front;
  uint32_t crc = 0;
  for (const std::string& value : values) {
    wire::put_varint(front, value.size());
    crc = extend_length(crc, value.size());
  }
  const uint32_t masked = crc32c_mask(crc);
  front.append(reinterpret_cast<const char*>(&masked), sizeof masked);
  TENON_TRY(append(front.data(), front.size()));
  // The checksum of the whole goes over the lengths as hashed above, not as stored.
  crc_ = crc32c_extend(crc, &masked, sizeof masked);
  for (const std::string& value : values) TENON_TRY(append(value.data(), value.size()));
  return end(name, kTensorFlowString, shape);
}

Result<std::string> BundleWriter::finish() {
  if (!failed_.ok()) return failed_;
  if (!finished_) {
    fingerprint_ = encode_table(entries_);
    TENON_TRY(keep(data_.finish()));
    TENON_TRY(keep(index_.write(fingerprint_)));
    TENON_TRY(keep(index_.finish()));
    finished_ = true;
  }
  return fingerprint_;
}

Status BundleWriter::commit() {
  TENON_ASSIGN(const std::string fingerprint, finish());
  (void)fingerprint;
  TENON_TRY(keep(data_.commit()));
  return keep(index_.commit());
}

}  // namespace tenon
