#include "checkpoint/forms/file_form.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/file/file.h"
#include "base/strings.h"
#include "checkpoint/archive/zip_file.h"
#include "checkpoint/forms/safetensors_shards.h"
#include "checkpoint/keras/keras_file.h"
#include "checkpoint/tensor_bundle.h"
#include "checkpoint/tensor_file.h"
#include "checkpoint/torch/torch_file.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n", kPickle = "\x80\x02";

Result<FileForm> form_of_archive(const std::string& path) {
  return within_memory("read", path, [&]() -> Result<FileForm> {
    TENON_ASSIGN(const ZipFile zip, ZipFile::open(path));
    return zip.members().contains("model.weights.h5") ? FileForm::kKeras : FileForm::kTorch;
  });
}

// The size of a header of JSON, and its first letter.
bool begins_as_safetensors(std::string_view start, int64_t bytes) {
  uint64_t header = 0;
  if (start.size() <= sizeof header || start[sizeof header] != '{') return false;
  std::memcpy(&header, start.data(), sizeof header);
  return header <= static_cast<uint64_t>(bytes) - sizeof header;
}

Result<FileForm> form_of_content(const std::string& path) {
  TENON_ASSIGN(const File file, File::open(path));
  std::array<char, 16> bytes{};
  TENON_ASSIGN(const size_t count, file.read_at(0, bytes.data(), bytes.size()));
  const std::string_view start(bytes.data(), count);
  if (start.starts_with(kHdf5)) return FileForm::kKeras;
  if (start.starts_with(kZipSignature)) return form_of_archive(path);
  if (start.starts_with(kPickle)) return FileForm::kTorch;  // of before PyTorch 1.6, which that says
  if (begins_as_safetensors(start, file.size())) return FileForm::kSafetensors;
  return invalid("'", path, "': is of no format that is read: safetensors, HDF5 as Keras has it, torch.save, or a ",
                 "checkpoint, which is named by its PREFIX");
}

}  // namespace

Result<FileForm> form_of(const std::string& path) {
  if (is_safetensors(path)) return FileForm::kSafetensors;
  if (is_safetensors_index(path)) return FileForm::kShards;
  if (is_keras_file(path)) return FileForm::kKeras;
  if (is_torch_file(path)) return FileForm::kTorch;
  std::error_code error;
  if (path.ends_with(".index") || !std::filesystem::is_regular_file(path, error) ||
      std::filesystem::exists(bundle_index_path(path), error))
    return FileForm::kCheckpoint;
  return form_of_content(path);
}

}  // namespace tenon
