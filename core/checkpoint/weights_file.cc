#include "tenon/weights_file.h"

#include <algorithm>

#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/tensor_file.h"

namespace tenon {

struct WeightsFile::Impl {
  TensorFile file;
};

WeightsFile::WeightsFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WeightsFile::WeightsFile(WeightsFile&&) noexcept = default;
WeightsFile& WeightsFile::operator=(WeightsFile&&) noexcept = default;
WeightsFile::~WeightsFile() = default;

Result<WeightsFile> WeightsFile::open(const std::string& path, const std::string& rules) {
  TENON_ASSIGN(TensorFile file, TensorFile::open(path, rules));
  return WeightsFile(std::unique_ptr<Impl>(new Impl{std::move(file)}));
}

const std::string& WeightsFile::path() const { return impl_->file.path(); }
const std::map<std::string, Type, std::less<>>& WeightsFile::tensors() const { return impl_->file.tensors(); }

Result<Array> WeightsFile::read(std::string_view name) const {
  const auto found = tensors().find(name);
  if (found == tensors().end()) return invalid("'", path(), "' has no tensor '", abbreviated(name), "'");
  TENON_TRY(room_for(static_cast<uint64_t>(found->second.bytes()), cat("'", abbreviated(name), "' of '", path(), "'")));
  Array value(found->second);
  TENON_TRY(impl_->file.read(name, value.bytes()));
  return value;
}

Status WeightsFile::write_to(const std::string& path) const {
  std::vector<TensorSource> sources;
  for (const auto& [name, type] : tensors()) {
    const auto fill = [this, name = name, value = Array(),
                       at = size_t{0}](std::span<std::byte> piece) mutable -> Status {
      if (at == 0) {
        TENON_ASSIGN(value, read(name));
      }
      std::copy_n(value.bytes().data() + at, piece.size(), piece.data());
      at += piece.size();
      if (at == value.bytes().size()) value = Array(), at = 0;
      return {};
    };
    sources.push_back({name, type, fill});
  }
  return write_tensor_file(path, std::move(sources));
}

}  // namespace tenon
