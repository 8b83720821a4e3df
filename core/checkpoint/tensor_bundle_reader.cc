#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/crc32c.h"
#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "checkpoint/tensor_bundle_table.h"
#include "checkpoint/tensor_bundle_types.h"
#include "tensor_bundle.pb.h"

namespace tenon {
namespace {

constexpr int32_t kMaxShards = 99999;  // the file name has five digits
constexpr int64_t kMaxIndexBytes = int64_t{256} << 20;

Result<Shape> shape_of(const bundle::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return invalid("its rank is unknown");
  if (proto.dim_size() > kMaxRank) return invalid("it has rank ", proto.dim_size(), ", expected at most ", kMaxRank);
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (const auto& dim : proto.dim()) {
    if (dim.size() < 0) return invalid("it has dimension ", dim.size());
    dims.push_back(dim.size());
  }
  // Zero anywhere makes the product small, but the others must not overflow on the way.
  for (int64_t d : dims)
    if (__builtin_mul_overflow(elements, d, &elements) || elements > std::numeric_limits<int64_t>::max() / 8)
      return invalid("its shape has more elements than 2^60");  // as Shape has it
  return Shape(dims);
}

bool take_varint(std::span<const std::byte>& in, uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = std::to_integer<uint64_t>(in.front());
    in = in.subspan(1);
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return shift < 63 || byte <= 1;
  }
  return false;
}

bool booleans_valid(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
}

struct Strings {
  std::vector<std::string> values;
  uint32_t crc = 0;
};

// Splits the stored form of `count` strings.
Result<Strings> parse_strings(std::span<const std::byte> in, int64_t count) {
  Strings out;
  std::vector<uint64_t> lengths;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t length;
    if (!take_varint(in, length) || length > in.size()) return invalid("its strings' lengths are damaged");
    out.crc = crc32c_extend(out.crc, &length, length <= UINT32_MAX ? 4 : 8);
    lengths.push_back(length);
  }
  uint32_t masked;
  if (in.size() < sizeof masked) return invalid("its strings' lengths are damaged");
  std::memcpy(&masked, in.data(), sizeof masked);
  if (masked != crc32c_mask(out.crc)) return invalid("its strings' lengths are damaged");
  in = in.subspan(sizeof masked);
  out.crc = crc32c_extend(out.crc, &masked, sizeof masked);
  for (uint64_t length : lengths) {
    if (length > in.size()) return invalid("its strings' lengths are damaged");
    out.values.emplace_back(reinterpret_cast<const char*>(in.data()), length);
    out.crc = crc32c_extend(out.crc, in.data(), length);
    in = in.subspan(length);
  }
  if (!in.empty()) return invalid("its strings leave ", in.size(), " bytes over");
  return out;
}

}  // namespace

std::string BundleEntry::str() const {
  if (is_string) return cat("string", shape.str());
  if (dtype == DType::kNone) return cat("type ", tf_dtype, shape.str());
  return Type{dtype, shape}.str();
}

Result<BundleReader> BundleReader::open(const std::string& prefix) {
  try {
    BundleReader reader;
    reader.prefix_ = prefix;
    reader.index_path_ = bundle_index_path(prefix);
    TENON_TRY(reader.load_index());
    return reader;
  } catch (const std::bad_alloc&) {  // this message needs no memory itself
    return Status(Code::kOutOfMemory, "out of memory");
  }
}

Status BundleReader::load_index() {
  TENON_ASSIGN(fingerprint_, read_file(index_path_, kMaxIndexBytes));
  TENON_ASSIGN(const auto table, decode_table(fingerprint_, index_path_));
  if (table.empty() || !table.front().first.empty())
    return invalid(index_path_, ": not a valid checkpoint index: it has no header");
  TENON_TRY(load_header(table.front().second));
  for (size_t i = 1; i < table.size(); ++i) TENON_TRY(load_entry(table[i].first, table[i].second));
  return {};
}

Status BundleReader::load_header(std::string_view value) {
  bundle::BundleHeaderProto header;
  if (!header.ParseFromArray(value.data(), static_cast<int>(value.size())))
    return invalid(index_path_, ": not a valid checkpoint index: bad header");
  if (header.endianness() != 0)
    return Status(Code::kUnsupported, cat(index_path_, ": written on a big-endian machine"));
  if (header.version().min_consumer() > 1)
    return Status(Code::kUnsupported,
                  cat(index_path_, ": needs a reader of version ", header.version().min_consumer(), ", this one is 1"));
  num_shards_ = header.num_shards();
  if (num_shards_ < 1 || num_shards_ > kMaxShards)
    return invalid(index_path_, ": has ", num_shards_, " shards, expected 1 to ", kMaxShards);
  return {};
}

Status BundleReader::load_entry(const std::string& name, std::string_view value) {
  google::protobuf::Arena arena;  // keeps what protobuf would leak when memory runs out
  auto& proto = *google::protobuf::Arena::CreateMessage<bundle::BundleEntryProto>(&arena);
  if (!proto.ParseFromArray(value.data(), static_cast<int>(value.size())))
    return invalid(index_path_, ": variable '", abbreviated(name), "': damaged entry");
  BundleEntry entry;
  entry.tf_dtype = proto.dtype();
  entry.dtype = dtype_of_tensorflow(proto.dtype());
  entry.is_string = proto.dtype() == kTensorFlowString;
  Result<Shape> shape = shape_of(proto.shape());
  if (!shape.ok()) return invalid(index_path_, ": variable '", abbreviated(name), "': ", shape.status().message());
  entry.shape = *shape;
  entry.shard = proto.shard_id();
  entry.offset = proto.offset();
  entry.size = proto.size();
  entry.crc = proto.crc32c();
  entry.sliced = proto.slices_size() > 0;
  TENON_TRY(check_sizes(name, entry));
  entries_.emplace(name, entry);
  return {};
}

Status BundleReader::check_sizes(const std::string& name, BundleEntry& entry) {
  if (entry.sliced) return {};
  if (entry.shard < 0 || entry.shard >= num_shards_)
    return invalid(index_path_, ": variable '", abbreviated(name), "' is in shard ", entry.shard, " of ", num_shards_);
  TENON_TRY(open_shard(entry.shard));
  const File& file = shards_.at(entry.shard);
  if (entry.offset < 0 || entry.size < 0 || entry.size > file.size() || entry.offset > file.size() - entry.size)
    return invalid(file.path(), ": variable '", abbreviated(name), "' needs ", entry.size, " bytes at offset ",
                   entry.offset, ", but the file has ", file.size());
  const int64_t elements = entry.shape.elements();
  int64_t expected = 0;
  if (entry.dtype != DType::kNone &&
      (__builtin_mul_overflow(elements, dtype_bytes(entry.dtype), &expected) || expected != entry.size))
    return invalid(index_path_, ": variable '", abbreviated(name), "' is ", entry.str(), " but has ", entry.size,
                   " bytes");
  // A string takes at least the byte of its length; four are their checksum.
  if (entry.is_string && (entry.size < 4 || elements > entry.size - 4))
    return invalid(index_path_, ": variable '", abbreviated(name), "' is ", entry.str(), " but has ", entry.size,
                   " bytes");
  return {};
}

Status BundleReader::open_shard(int32_t shard) {
  if (shards_.count(shard)) return {};
  TENON_ASSIGN(File file, File::open(bundle_data_path(prefix_, shard, num_shards_)));
  shards_.emplace(shard, std::move(file));
  return {};
}

const BundleEntry* BundleReader::find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

Result<const BundleEntry*> BundleReader::lookup(std::string_view name) const {
  const BundleEntry* entry = find(name);
  if (!entry) return invalid("checkpoint ", prefix_, " has no variable '", abbreviated(name), "'");
  if (entry->sliced)
    return Status(Code::kUnsupported,
                  cat("checkpoint ", prefix_, ": variable '", abbreviated(name), "' is partitioned"));
  return entry;
}

Status BundleReader::check_crc(std::string_view name, const BundleEntry& entry, uint32_t found) const {
  if (crc32c_mask(found) == entry.crc) return {};
  return invalid(shards_.at(entry.shard).path(), ": variable '", abbreviated(name),
                 "' fails its checksum; the file is damaged");
}

Status BundleReader::read_bytes(std::string_view name, const BundleEntry& entry, std::span<std::byte> out) const {
  const File& file = shards_.at(entry.shard);
  uint32_t crc = 0;
  for (size_t at = 0; at < out.size(); at += kBundlePieceBytes) {
    const size_t n = std::min(kBundlePieceBytes, out.size() - at);
    TENON_TRY(file.read_exactly_at(entry.offset + static_cast<int64_t>(at), out.data() + at, n));
    crc = crc32c_extend(crc, out.data() + at, n);
  }
  return entry.is_string ? Status() : check_crc(name, entry, crc);
}

Status BundleReader::take_pieces(std::string_view name, const BundleEntry& entry, const TakeBytes& take) const {
  const File& file = shards_.at(entry.shard);
  std::vector<std::byte> piece(std::min<size_t>(kBundlePieceBytes, static_cast<size_t>(entry.size)));
  uint32_t crc = 0;
  for (int64_t at = 0; at < entry.size; at += static_cast<int64_t>(piece.size())) {
    const auto n = std::min<size_t>(piece.size(), static_cast<size_t>(entry.size - at));
    TENON_TRY(file.read_exactly_at(entry.offset + at, piece.data(), n));
    crc = crc32c_extend(crc, piece.data(), n);
    take(std::span(piece).first(n));
  }
  return check_crc(name, entry, crc);
}

Status BundleReader::check_numeric(std::string_view name, const BundleEntry& entry) const {
  if (entry.dtype != DType::kNone) return {};
  return Status(Code::kUnsupported, cat("checkpoint ", prefix_, ": variable '", abbreviated(name), "' is ", entry.str(),
                                        ", which is not a numeric type of Tenon"));
}

Status BundleReader::bad_boolean(std::string_view name, const BundleEntry& entry) const {
  return invalid(shards_.at(entry.shard).path(), ": variable '", abbreviated(name),
                 "' holds a bool that is neither 0 nor 1");
}

Status BundleReader::read_pieces(std::string_view name, const TakeBytes& take) const {
  TENON_ASSIGN(const BundleEntry* entry, lookup(name));
  TENON_TRY(check_numeric(name, *entry));
  bool valid = true;
  TENON_TRY(take_pieces(name, *entry, [&](std::span<const std::byte> piece) {
    valid = valid && (entry->dtype != DType::kBool || booleans_valid(piece));
    take(piece);
  }));
  return valid ? Status() : bad_boolean(name, *entry);
}

Status BundleReader::read(std::string_view name, std::span<std::byte> out) const {
  TENON_ASSIGN(const BundleEntry* entry, lookup(name));
  TENON_TRY(check_numeric(name, *entry));
  if (static_cast<int64_t>(out.size()) != entry->size)
    return invalid("checkpoint ", prefix_, ": variable '", abbreviated(name), "' is ", entry->str(), " of ",
                   entry->size, " bytes, expected ", out.size());
  TENON_TRY(read_bytes(name, *entry, out));
  if (entry->dtype == DType::kBool && !booleans_valid(out)) return bad_boolean(name, *entry);
  return {};
}

Result<int64_t> BundleReader::read_scalar(std::string_view name) const {
  TENON_ASSIGN(const BundleEntry* entry, lookup(name));
  if (!is_integer(entry->dtype) || entry->shape.elements() != 1)
    return invalid("checkpoint ", prefix_, ": variable '", abbreviated(name), "' is ", entry->str(),
                   ", expected i64[]");
  int64_t wide = 0;
  int32_t narrow = 0;
  if (entry->dtype == DType::kI64) {
    TENON_TRY(read(name, std::as_writable_bytes(std::span(&wide, 1))));
    return wide;
  }
  TENON_TRY(read(name, std::as_writable_bytes(std::span(&narrow, 1))));
  return int64_t{narrow};
}

Result<std::vector<std::string>> BundleReader::read_strings(std::string_view name) const {
  TENON_ASSIGN(const BundleEntry* entry, lookup(name));
  if (!entry->is_string)
    return invalid("checkpoint ", prefix_, ": variable '", abbreviated(name), "' is ", entry->str(),
                   ", expected string");
  try {
    return load_strings(name, *entry);
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, "out of memory");
  }
}

Result<std::vector<std::string>> BundleReader::load_strings(std::string_view name, const BundleEntry& entry) const {
  std::vector<std::byte> bytes(static_cast<size_t>(entry.size));
  TENON_TRY(read_bytes(name, entry, bytes));
  Result<Strings> strings = parse_strings(bytes, entry.shape.elements());
  if (!strings.ok())
    return invalid(shards_.at(entry.shard).path(), ": variable '", abbreviated(name),
                   "': ", strings.status().message());
  TENON_TRY(check_crc(name, entry, strings->crc));
  return std::move(strings->values);
}

Status BundleReader::verify() const {
  for (const auto& [name, entry] : entries_) {
    if (entry.sliced) continue;
    TENON_TRY(entry.is_string ? read_strings(name).status() : take_pieces(name, entry, [](auto) {}));
  }
  return {};
}

}  // namespace tenon
