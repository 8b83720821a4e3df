#include "checkpoint/tensor_file.h"

#include "checkpoint/checkpoint.h"

namespace tenon {

bool is_safetensors(std::string_view path) { return path.ends_with(".safetensors"); }

TensorFile::TensorFile(std::string path, SafetensorsReader reader)
    : path_(std::move(path)), reader_(std::move(reader)) {
  for (const auto& [name, entry] : std::get<SafetensorsReader>(reader_).entries())
    if (entry.dtype != DType::kNone) tensors_.emplace(name, Type{entry.dtype, entry.shape});
}

TensorFile::TensorFile(std::string path, BundleReader reader) : path_(std::move(path)), reader_(std::move(reader)) {
  for (const auto& [name, entry] : std::get<BundleReader>(reader_).entries())
    if (entry.dtype != DType::kNone && !entry.sliced) tensors_.emplace(name, Type{entry.dtype, entry.shape});
}

Result<TensorFile> TensorFile::open(const std::string& path) {
  if (is_safetensors(path)) {
    TENON_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
    return TensorFile(path, std::move(reader));
  }
  TENON_ASSIGN(BundleReader reader, open_checkpoint(path));
  std::string prefix = reader.prefix();
  return TensorFile(std::move(prefix), std::move(reader));
}

Status TensorFile::read(std::string_view name, std::span<std::byte> out) const {
  return std::visit([&](const auto& reader) { return reader.read(name, out); }, reader_);
}

Status write_tensor_file(const std::string& path, std::vector<TensorSource> tensors) {
  if (is_safetensors(path)) return write_safetensors(path, std::move(tensors));
  TENON_ASSIGN(BundleWriter writer, BundleWriter::create(path));
  for (const TensorSource& tensor : tensors) TENON_TRY(writer.add(tensor.name, tensor.type, tensor.fill));
  return writer.commit();
}

}  // namespace tenon
