#include "model/kept_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/models.h"
#include "output.h"
#include "tenon/atomic_file.h"
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

void copy(const std::string& from, const std::string& to) {
  std::ifstream in = opened(from);
  AtomicFile file = AtomicFile::create(to).take();
  std::string piece(kCopiedPiece, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0)
    check(file.write(std::string_view(piece).substr(0, static_cast<size_t>(in.gcount()))));
  if (in.bad()) throw Error(Status(Code::kUnavailable, "cannot read '" + from + "'"));
  check(file.commit());
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

}  // namespace

std::string keep_model_file(const std::string& model_dir, const std::string& path) {
  const std::string kept = model_dir + "/" + kKeptFile;
  std::error_code error;
  if (fs::exists(kept, error) && have_same_bytes(path, kept)) return kKeptFile;
  copy(path, kept);
  if (import_onnx(kept).ok()) return kKeptFile;
  fs::remove(kept, error);
  return fs::absolute(path).string();
}

std::string kept_model_file(const std::string& directory, const std::string& name) {
  return fs::path(name).is_absolute() ? name : directory + "/" + name;
}

bool is_same_model(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return models::is_onnx_file(a) && models::is_onnx_file(b) && have_same_bytes(a, b);
}

}  // namespace tenon::runner
