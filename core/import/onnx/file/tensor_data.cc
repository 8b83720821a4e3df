#include "import/onnx/file/tensor_data.h"

#include <fcntl.h>

#include <charconv>
#include <cstring>

#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/half.h"
#include "base/strings.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 48;

class HeldBytes : public Bytes {
 public:
  explicit HeldBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  Status read(std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data(), out.size());
    return {};
  }

 private:
  std::string bytes_;
};

class FileBytes : public Bytes {
 public:
  FileBytes(std::shared_ptr<const File> file, int64_t offset, int64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}
  int64_t size() const override { return size_; }
  Status read(std::span<std::byte> out) const override {
    return file_->read_exactly_at(offset_, out.data(), out.size());
  }

 private:
  std::shared_ptr<const File> file_;
  int64_t offset_, size_;
};

Result<int64_t> number_of(const std::string& text, const char* what) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 0)
    return invalid("external data has ", what, " '", abbreviated(text), "', expected a number");
  return out;
}

Result<std::shared_ptr<const Bytes>> external(const TensorProto& from, int64_t size, ExternalFiles& files) {
  std::string location;
  int64_t offset = 0, length = size;
  for (const StringStringEntryProto& entry : from.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      TENON_ASSIGN(offset, number_of(entry.value(), "the offset"));
    }
    if (entry.key() == "length") {
      TENON_ASSIGN(length, number_of(entry.value(), "the length"));
    }
  }
  if (length != size) return invalid("external data has ", length, " bytes, expected ", size);
  TENON_ASSIGN(const std::shared_ptr<const File> file, files.open(location));
  if (offset > file->size() || size > file->size() - offset)
    return invalid("external data '", abbreviated(location), "' has ", file->size(), " bytes, expected ", size, " at ",
                   offset);
  return std::shared_ptr<const Bytes>(std::make_shared<FileBytes>(file, offset, size));
}

template <class To, class List>
std::string packed(const List& list) {
  std::string out(static_cast<size_t>(list.size()) * sizeof(To), '\0');
  for (int i = 0; i < list.size(); ++i) {
    const To value = static_cast<To>(list.Get(i));
    std::memcpy(&out[static_cast<size_t>(i) * sizeof(To)], &value, sizeof value);
  }
  return out;
}

// Complex numbers lie as pairs of floats.
std::string from_lists(const TensorProto& from, Element element) {
  switch (element) {
    case Element::kF32:
    case Element::kComplex64:
      return packed<float>(from.float_data());
    case Element::kF64:
    case Element::kComplex128:
      return packed<double>(from.double_data());
    case Element::kI64:
      return packed<int64_t>(from.int64_data());
    case Element::kU32:
      return packed<uint32_t>(from.uint64_data());
    case Element::kU64:
      return packed<uint64_t>(from.uint64_data());
    case Element::kI32:
      return packed<int32_t>(from.int32_data());
    case Element::kU16:
    case Element::kI16:
    case Element::kF16:
    case Element::kBF16:
      return packed<uint16_t>(from.int32_data());
    default:
      return packed<uint8_t>(from.int32_data());  // elements of less than a byte lie packed
  }
}

Result<int64_t> bytes_of(const TensorData& tensor) {
  int64_t bits = std::max<int64_t>(1, element_bits(tensor.element));
  bool empty = false;
  for (const int64_t dim : tensor.dims) {
    if (dim < 0) return invalid("has a dimension of ", dim);
    empty |= dim == 0;
    if (__builtin_mul_overflow(bits, std::max<int64_t>(dim, 1), &bits) || bits / 8 > kMostBytes)
      return invalid("is ", tensor.str(), ", which no memory holds");
  }
  return empty ? 0 : (bits + 7) / 8;
}

Result<TensorData> checked(TensorProto& from, ExternalFiles& files) {
  TensorData out;
  out.element = static_cast<Element>(from.data_type());
  out.dims.assign(from.dims().begin(), from.dims().end());
  TENON_ASSIGN(const int64_t size, bytes_of(out));
  if (out.element == Element::kNone) return invalid("says no element type (data_type is 0), expected one of ONNX's");
  if (out.element == Element::kString) {
    if (from.has_raw_data() || from.data_location() == TensorProto::EXTERNAL)
      return invalid("is ", out.str(), " with ", from.has_raw_data() ? "raw" : "external", " data, expected strings");
    if (out.elements() != from.string_data_size())
      return invalid("is ", out.str(), " and has ", from.string_data_size(), " strings");
    for (std::string& text : *from.mutable_string_data()) out.strings.push_back(std::move(text));
    return out;
  }
  if (element_bits(out.element) == 0) return invalid("has ", element_name(out.element), ", which there is not");
  if (from.data_location() == TensorProto::EXTERNAL) {
    TENON_ASSIGN(out.bytes, external(from, size, files));
    return out;
  }
  std::string raw = from.has_raw_data() ? std::move(*from.mutable_raw_data()) : from_lists(from, out.element);
  if (static_cast<int64_t>(raw.size()) != size)
    return invalid("is ", out.str(), " and has ", raw.size(), " bytes, expected ", size);
  out.bytes = std::make_shared<HeldBytes>(std::move(raw));
  return out;
}

// Opens what lies below the directory, through no link and no "..".
Result<File> open_below(const std::string& directory, const std::string& name) {
  const auto refuse = [&](const char* why) { return invalid("external data '", abbreviated(name), "' ", why); };
  if (directory.empty()) return refuse("is not allowed here");
  if (name.empty())
    return invalid("external data has no location, expected the name of a file in the model's directory");
  if (name[0] == '/') return refuse("has an absolute path, expected one in the model's directory");
  TENON_TRY(check_path(name));
  Descriptor at = tenon::open_file(directory, O_RDONLY | O_DIRECTORY);
  std::string_view rest = name;
  while (at) {
    const size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    if (part == "..") return refuse("lies outside of the model's directory");
    const bool last = slash == std::string_view::npos;
    if (!part.empty() && part != ".")
      at = open_at(at, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
    if (last) break;
    rest.remove_prefix(slash + 1);
  }
  if (!at) return refuse(errno == ELOOP ? "is a link, expected a file in the model's directory" : "cannot be opened");
  return File::of(std::move(at), directory + "/" + name);
}

}  // namespace

Status check_name(std::string_view name, const char* what) {
  const size_t at = name.find('\0');
  if (at == std::string_view::npos) return {};
  return invalid("the name '", abbreviated(name), "' of ", what, " has a NUL at its byte ", at,
                 ", expected text without one");
}

Result<std::shared_ptr<const File>> ExternalFiles::open(const std::string& name) {
  std::shared_ptr<const File>& known = files_[name];
  if (known) return known;
  TENON_ASSIGN(File file, open_below(directory_, name));
  known = std::make_shared<const File>(std::move(file));
  return known;
}

Result<TensorData> tensor_of(TensorProto& from, ExternalFiles& files) {
  TENON_TRY(check_name(from.name(), "a tensor"));
  Result<TensorData> out = checked(from, files);
  if (!out.ok())
    return Status(out.status().code(), cat("tensor '", abbreviated(from.name()), "' ", out.status().message()));
  out->name = from.name();
  return out;
}

}  // namespace tenon::onnx
