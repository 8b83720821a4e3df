#include "checkpoint/keras/hdf5_index.h"

#include "base/strings.h"
#include "data/record/protobuf_wire.h"

namespace tenon {
namespace {

void put_text(std::string& out, std::string_view text) {
  wire::put_varint(out, text.size());
  out += text;
}

class Taker {
 public:
  explicit Taker(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  bool done() const { return ok_ && in_.empty(); }

  uint64_t number() {
    uint64_t value = 0;
    if (ok_) ok_ = wire::take_varint(&in_, &value);
    return ok_ ? value : 0;
  }
  int64_t size() {
    const uint64_t value = number();
    ok_ = ok_ && value <= INT64_MAX;
    return ok_ ? static_cast<int64_t>(value) : 0;
  }
  std::string text() {
    const uint64_t bytes = number();
    ok_ = ok_ && bytes <= in_.size();
    if (!ok_) return {};
    std::string out(in_.substr(0, bytes));
    in_.remove_prefix(bytes);
    return out;
  }
  // As many as the rest may hold, of a byte or more each.
  uint64_t count() {
    const uint64_t n = number();
    ok_ = ok_ && n <= in_.size();
    return ok_ ? n : 0;
  }

 private:
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace

std::string bytes_of(const Hdf5Index& index) {
  std::string out;
  wire::put_varint(out, index.datasets.size());
  for (const Hdf5Dataset& d : index.datasets) {
    put_text(out, d.path);
    wire::put_varint(out, static_cast<uint64_t>(d.type));
    put_text(out, d.text);
    wire::put_varint(out, d.dims.size());
    for (const int64_t dim : d.dims) wire::put_varint(out, static_cast<uint64_t>(dim));
    wire::put_varint(out, d.decoded);
    wire::put_varint(out, static_cast<uint64_t>(d.offset));
    wire::put_varint(out, static_cast<uint64_t>(d.bytes));
  }
  wire::put_varint(out, index.attributes.size());
  for (const Hdf5Names& a : index.attributes) {
    put_text(out, a.path);
    put_text(out, a.name);
    wire::put_varint(out, a.values.size());
    for (const std::string& value : a.values) put_text(out, value);
  }
  return out;
}

std::optional<Hdf5Index> index_of(std::string_view bytes) {
  Taker in(bytes);
  Hdf5Index out;
  for (uint64_t n = in.count(); n > 0 && in.ok(); --n) {
    Hdf5Dataset d{.path = in.text()};
    const uint64_t type = in.number();
    if (type > static_cast<uint64_t>(Hdf5Type::kI64)) return std::nullopt;
    d.type = static_cast<Hdf5Type>(type);
    d.text = in.text();
    for (uint64_t rank = in.count(); rank > 0 && in.ok(); --rank) d.dims.push_back(in.size());
    d.decoded = in.number() != 0;
    d.offset = in.size();
    d.bytes = in.size();
    out.datasets.push_back(std::move(d));
  }
  for (uint64_t n = in.count(); n > 0 && in.ok(); --n) {
    Hdf5Names a{in.text(), in.text(), {}};
    for (uint64_t values = in.count(); values > 0 && in.ok(); --values) a.values.push_back(in.text());
    out.attributes.push_back(std::move(a));
  }
  if (!in.done()) return std::nullopt;
  return out;
}

Status check_places(const Hdf5Index& index, const std::string& path, int64_t file_bytes, int64_t decoded_bytes) {
  for (const Hdf5Dataset& d : index.datasets) {
    const int64_t size = d.decoded ? decoded_bytes : file_bytes;
    const bool in_place = d.type == Hdf5Type::kOther || d.bytes == 0 || (d.bytes <= size && d.offset <= size - d.bytes);
    int64_t elements = 1;
    bool fits = d.dims.size() <= static_cast<size_t>(kMaxRank) || d.type == Hdf5Type::kOther;
    for (const int64_t dim : d.dims)
      fits = fits && dim < int64_t{1} << 60 && !__builtin_mul_overflow(elements, dim, &elements);
    int64_t bytes = 0;
    if (d.type != Hdf5Type::kOther)
      fits = fits && !__builtin_mul_overflow(elements, dtype_bytes(dtype_of(d.type)), &bytes) && bytes == d.bytes;
    if (!fits) return invalid("'", path, "': dataset '", abbreviated(d.path), "' has a shape that Tenon does not have");
    if (!in_place)
      return invalid("'", path, "': dataset '", abbreviated(d.path), "' of ", d.bytes, " bytes at ", d.offset,
                     " is beyond the end of the file, which has ", size);
  }
  return {};
}

DType dtype_of(Hdf5Type type) {
  switch (type) {
    case Hdf5Type::kF16:
      return DType::kF16;
    case Hdf5Type::kBF16:
      return DType::kBF16;
    case Hdf5Type::kF32:
      return DType::kF32;
    case Hdf5Type::kF64:
      return DType::kF64;
    case Hdf5Type::kU8:
      return DType::kU8;
    case Hdf5Type::kBool:
      return DType::kBool;
    case Hdf5Type::kI32:
      return DType::kI32;
    case Hdf5Type::kI64:
      return DType::kI64;
    default:
      return DType::kNone;
  }
}

Hdf5Type hdf5_type(DType dtype) {
  for (int t = static_cast<int>(Hdf5Type::kF16); t <= static_cast<int>(Hdf5Type::kI64); ++t)
    if (dtype_of(static_cast<Hdf5Type>(t)) == dtype) return static_cast<Hdf5Type>(t);
  return Hdf5Type::kOther;
}

}  // namespace tenon
