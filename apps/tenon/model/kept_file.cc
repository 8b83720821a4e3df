#include "model/kept_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/models.h"
#include "tenon/onnx.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;
constexpr const char* kKeptFile = "model.onnx";
constexpr size_t kCopiedPiece = 1 << 20;

std::ifstream opened(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Status(Code::kUnavailable, "cannot open '" + path + "'"));
  return in;
}

bool have_same_bytes(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const auto size = fs::file_size(a, error);
  if (error || size != fs::file_size(b, error) || error) return false;
  std::ifstream one = opened(a), other = opened(b);
  std::array<std::string, 2> pieces{std::string(kCopiedPiece, '\0'), std::string(kCopiedPiece, '\0')};
  for (;;) {
    one.read(pieces[0].data(), kCopiedPiece);
    other.read(pieces[1].data(), kCopiedPiece);
    const auto count = static_cast<size_t>(one.gcount());
    if (one.gcount() != other.gcount() || std::memcmp(pieces[0].data(), pieces[1].data(), count) != 0) return false;
    if (count == 0) return true;
  }
}

// Whether they have the same bytes, or the same data where one has them in other files.
bool is_same_file(const std::string& a, const std::string& b) {
  if (have_same_bytes(a, b)) return true;
  const Result<bool> same = is_same_onnx(a, b);
  return same.ok() && *same;
}

}  // namespace

std::string keep_model_file(const std::string& model_dir, const std::string& path) {
  const std::string kept = model_dir + "/" + kKeptFile;
  std::error_code error;
  if (fs::exists(kept, error) && is_same_file(path, kept)) return kKeptFile;
  check(copy_onnx(path, kept));
  return kKeptFile;
}

std::string kept_model_file(const std::string& directory, const std::string& name) {
  return fs::path(name).is_absolute() ? name : directory + "/" + name;
}

bool is_same_model(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return models::is_onnx_file(a) && models::is_onnx_file(b) && is_same_file(a, b);
}

}  // namespace tenon::runner
