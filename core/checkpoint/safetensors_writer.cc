#include <algorithm>
#include <set>

#include "base/strings.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_types.h"
#include "checkpoint/tensor_bundle_types.h"
#include "checkpoint/within_memory.h"
#include "tenon/text.h"

namespace tenon {
namespace {

constexpr size_t kAlignment = 8;  // of the buffer in the file

std::string metadata_json(const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : metadata) pairs.push_back(cat(json_string(key), ":", json_string(value)));
  return cat("\"__metadata__\":{", join(pairs, ","), "}");
}

Result<std::string> header_json(const std::string& path, const std::vector<TensorSource>& tensors,
                                const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> parts;
  if (!metadata.empty()) parts.push_back(metadata_json(metadata));
  std::set<std::string_view> names{"__metadata__"};
  int64_t at = 0;
  for (const TensorSource& t : tensors) {
    const std::string_view dtype = safetensors_name(t.type.dtype);
    if (dtype.empty()) return invalid(path, ": tensor '", t.name, "' has no element type");
    if (!names.insert(t.name).second) return invalid(path, ": a second tensor is named '", t.name, "'");
    const int64_t end = at + t.type.bytes();
    parts.push_back(cat(json_string(t.name), ":{\"dtype\":\"", dtype, "\",\"shape\":[", join(t.type.shape, ","),
                        "],\"data_offsets\":[", at, ",", end, "]}"));
    at = end;
  }
  std::string json = cat("{", join(parts, ","), "}");
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  if (static_cast<int64_t>(json.size()) > kMostSafetensorsHeader)
    return invalid(path, ": ", tensors.size(), " tensors need a header of ", json.size(), " bytes, expected at most ",
                   kMostSafetensorsHeader);
  return json;
}

Status write_tensor(AtomicFile& file, const TensorSource& tensor) {
  std::vector<std::byte> piece;
  for (auto left = static_cast<size_t>(tensor.type.bytes()); left > 0; left -= piece.size()) {
    piece.resize(std::min(kBundlePieceBytes, left));
    TENON_TRY(tensor.fill(piece));
    TENON_TRY(file.write(piece.data(), piece.size()));
  }
  return {};
}

}  // namespace

Status write_safetensors(const std::string& path, std::vector<TensorSource> tensors,
                         const std::map<std::string, std::string>& metadata) {
  return within_memory("write", path, [&]() -> Status {
    std::stable_sort(tensors.begin(), tensors.end(), [](const TensorSource& a, const TensorSource& b) {
      return dtype_bytes(a.type.dtype) > dtype_bytes(b.type.dtype);
    });
    TENON_ASSIGN(const std::string json, header_json(path, tensors, metadata));
    TENON_ASSIGN(AtomicFile file, AtomicFile::create(path));
    const uint64_t size = json.size();
    TENON_TRY(file.write(&size, sizeof size));
    TENON_TRY(file.write(json));
    for (const TensorSource& tensor : tensors) TENON_TRY(write_tensor(file, tensor));
    return file.commit();
  });
}

}  // namespace tenon
