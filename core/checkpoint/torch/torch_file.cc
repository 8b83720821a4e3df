#include "checkpoint/torch/torch_file.h"

#include <algorithm>

#include "base/strings.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

constexpr int64_t kMostPickle = int64_t{64} << 20;
constexpr std::string_view kPickle = "data.pkl";

// Row by row, whatever the strides of axes of one element are.
bool is_dense(const TorchTensor& t) {
  int64_t stride = 1;
  for (size_t i = t.dims.size(); i-- > 0;) {
    if (t.dims[i] != 1 && t.strides[i] != stride) return false;
    stride *= t.dims[i];
  }
  return true;
}

}  // namespace

bool is_torch_file(std::string_view path) { return path.ends_with(".pt") || path.ends_with(".pth"); }

Result<TorchFile> TorchFile::open(const std::string& path) {
  return within_memory("read", path, [&]() -> Result<TorchFile> {
    TENON_ASSIGN(ZipFile zip, ZipFile::open(path));
    TorchFile out(std::move(zip));
    TENON_TRY(out.take_pickle());
    return out;
  });
}

Status TorchFile::take_pickle() {
  for (const auto& [name, member] : zip_.members())
    if (name == kPickle || name.ends_with(cat("/", kPickle))) folder_ = name.substr(0, name.size() - kPickle.size());
  const std::string pickle = folder_ + std::string(kPickle), order = folder_ + "byteorder";
  if (!zip_.members().contains(pickle))
    return invalid("'", path(), "': has no ", kPickle, "; is it a file of torch.save?");
  if (zip_.members().contains(order)) {
    TENON_ASSIGN(const std::string text, zip_.read(order, 64));
    if (text != "little") return invalid("'", path(), "': is of byte order '", abbreviated(text), "', expected little");
  }
  TENON_ASSIGN(const std::string text, zip_.read(pickle, kMostPickle));
  Result<std::map<std::string, TorchTensor, std::less<>>> tensors = tensors_of_pickle(text);
  if (!tensors.ok()) return Status(tensors.status().code(), cat("'", path(), "': ", tensors.status().message()));
  tensors_ = tensors.take();
  for (const auto& [name, tensor] : tensors_)
    if (tensor.dtype != DType::kNone) TENON_TRY(check(name, tensor));
  return {};
}

Status TorchFile::check(const std::string& name, const TorchTensor& tensor) const {
  const std::string what = cat("'", path(), "': tensor '", abbreviated(name), "'");
  const auto found = zip_.members().find(cat(folder_, "data/", tensor.storage));
  if (found == zip_.members().end())
    return invalid(what, " has no data/", abbreviated(tensor.storage), " in the archive");
  int64_t elements = 1, end = 0, bytes = 0;
  bool fits = tensor.dims.size() <= static_cast<size_t>(kMaxRank);
  for (const int64_t dim : tensor.dims)
    fits = fits && dim < int64_t{1} << 60 && !__builtin_mul_overflow(elements, dim, &elements);
  fits = fits && !__builtin_add_overflow(elements, tensor.offset, &end) &&
         !__builtin_mul_overflow(end, dtype_bytes(tensor.dtype), &bytes) && bytes <= found->second.bytes;
  if (!fits) return invalid(what, " is larger than its ", found->second.bytes, " bytes");
  if (!is_dense(tensor)) return invalid(what, " does not lie row by row: save tensors that are contiguous()");
  return {};
}

Status TorchFile::read(std::string_view name, std::span<std::byte> out) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return invalid("'", path(), "' has no tensor '", abbreviated(name), "'");
  const TorchTensor& t = found->second;
  TENON_TRY(zip_.read_at(cat(folder_, "data/", t.storage), t.offset * dtype_bytes(t.dtype), out));
  if (t.dtype == DType::kBool && std::any_of(out.begin(), out.end(), [](std::byte b) { return b > std::byte{1}; }))
    return invalid("'", path(), "': tensor '", abbreviated(name), "' holds a bool that is neither 0 nor 1");
  return {};
}

}  // namespace tenon
