#include <cstring>

#include "base/half.h"
#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/model_directory.h"
#include "tenon/checkpoint.h"

namespace tenon {
namespace {

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

double number(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(p);
    case DType::kF64:
      return load<double>(p);
    case DType::kBF16:
      return from_bf16(load<uint16_t>(p));
    case DType::kF16:
      return from_f16(load<uint16_t>(p));
    case DType::kI32:
      return load<int32_t>(p);
    case DType::kI64:
      return static_cast<double>(load<int64_t>(p));
    default:
      return load<uint8_t>(p);
  }
}

}  // namespace

struct CheckpointFile::Impl {
  BundleReader reader;
  std::vector<CheckpointTensor> tensors;
  std::vector<std::string> skipped;
};

CheckpointFile::CheckpointFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointFile::CheckpointFile(CheckpointFile&&) noexcept = default;
CheckpointFile& CheckpointFile::operator=(CheckpointFile&&) noexcept = default;
CheckpointFile::~CheckpointFile() = default;

Result<CheckpointFile> CheckpointFile::open(const std::string& path) {
  std::vector<std::string> skipped;
  TENON_ASSIGN(BundleReader reader, open_checkpoint(path, &skipped));
  std::vector<CheckpointTensor> tensors;
  for (const auto& [name, entry] : reader.entries())
    tensors.push_back({name, {entry.dtype, entry.shape}, entry.str(), entry.size});
  return CheckpointFile(std::unique_ptr<Impl>(new Impl{std::move(reader), std::move(tensors), std::move(skipped)}));
}

const std::string& CheckpointFile::prefix() const { return impl_->reader.prefix(); }
const std::vector<CheckpointTensor>& CheckpointFile::tensors() const { return impl_->tensors; }
const std::vector<std::string>& CheckpointFile::skipped() const { return impl_->skipped; }
Result<int64_t> CheckpointFile::global_step() const {
  return impl_->reader.find("global_step") ? impl_->reader.read_scalar("global_step") : int64_t{0};
}
Status CheckpointFile::verify() const { return impl_->reader.verify(); }

Result<std::vector<double>> CheckpointFile::read(std::string_view name) const {
  std::vector<double> out;
  if (const BundleEntry* entry = impl_->reader.find(name); entry && entry->dtype != DType::kNone) {
    const auto elements = static_cast<size_t>(entry->size / dtype_bytes(entry->dtype));
    TENON_TRY(room_for(elements * sizeof(double), cat(prefix(), ": '", name, "'")));
    out.reserve(elements);
  }
  TENON_TRY(read(name, [&](std::span<const double> values) { out.insert(out.end(), values.begin(), values.end()); }));
  return out;
}

Status CheckpointFile::read(std::string_view name, const std::function<void(std::span<const double>)>& take) const {
  const BundleEntry* entry = impl_->reader.find(name);
  if (!entry) return invalid(prefix(), ": has no tensor '", name, "'");
  if (entry->dtype == DType::kNone) return invalid(prefix(), ": '", name, "' is ", entry->str(), ", expected numbers");
  const auto size = static_cast<size_t>(dtype_bytes(entry->dtype));
  std::vector<double> values;
  return impl_->reader.read_pieces(name, [&](std::span<const std::byte> piece) {
    values.resize(piece.size() / size);
    for (size_t i = 0; i < values.size(); ++i) values[i] = number(entry->dtype, &piece[i * size]);
    take(values);
  });
}

}  // namespace tenon
