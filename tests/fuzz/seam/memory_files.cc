// What core/base/file/file.h promises its readers, over a table of strings. It stands in for file.cc when fuzz targets are linked.
#include "memory_files.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace fuzz {
namespace {

std::map<std::string, int>& names() {
  static std::map<std::string, int> table;
  return table;
}
std::vector<std::string>& contents() {
  static std::vector<std::string> table;
  return table;
}

}  // namespace

void put_file(const std::string& path, std::string_view bytes) {
  names()[path] = static_cast<int>(contents().size());
  contents().emplace_back(bytes);
}

void remove_files() {
  names().clear();
  contents().clear();
}

}  // namespace fuzz

Result<File> File::open(const std::string& path) {
  const auto found = fuzz::names().find(path);
  if (found == fuzz::names().end()) return invalid("cannot open '", path, "'");
  return File(path, found->second, static_cast<int64_t>(fuzz::contents()[found->second].size()));
}

// Nothing of the machine is read.
Result<File> File::of(Descriptor, const std::string& path) { return invalid("cannot open '", path, "'"); }

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}
File::~File() = default;

Result<size_t> File::read_at(int64_t offset, void* out, size_t bytes) const {
  const std::string& all = fuzz::contents()[fd_];
  if (offset >= static_cast<int64_t>(all.size())) return size_t{0};
  const size_t n = std::min(bytes, all.size() - static_cast<size_t>(offset));
  if (n > 0) std::memcpy(out, all.data() + offset, n);
  return n;
}

Status File::read_exactly_at(int64_t offset, void* out, size_t bytes) const {
  TENON_ASSIGN(const size_t done, read_at(offset, out, bytes));
  return done == bytes ? Status() : invalid("'", path_, "' ends early");
}

void File::advise_sequential() const {}
void File::advise_ahead(int64_t, int64_t) const {}

Result<std::string> read_file(const std::string& path, int64_t max_bytes) {
  TENON_ASSIGN(const File file, File::open(path));
  if (file.size() > max_bytes) return invalid("'", path, "' is too large");
  std::string out(static_cast<size_t>(file.size()), '\0');
  TENON_TRY(file.read_exactly_at(0, out.data(), out.size()));
  return out;
}

AtomicFile::AtomicFile(std::string path, std::string, std::string, int) : path_(std::move(path)) {}
Result<AtomicFile> AtomicFile::create(const std::string& path) { return AtomicFile(path, "", "", -1); }
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;
Status AtomicFile::write(const void* data, size_t bytes) {
  gathered_.append(static_cast<const char*>(data), bytes);
  bytes_ += static_cast<int64_t>(bytes);
  return {};
}
Status AtomicFile::finish() { return {}; }
Status AtomicFile::commit() { return fuzz::put_file(path_, gathered_), Status(); }

Status atomic_write(const std::string& path, std::string_view contents) {
  return fuzz::put_file(path, contents), Status();
}

Status check_path(const std::string&) { return {}; }
void remove_left_temporaries(const std::string&) {}
Status file_error(std::string_view what, const std::string& path, int) { return invalid(what, " '", path, "'"); }
Result<std::vector<std::string>> list_names(const std::string&, const std::string&) {
  return std::vector<std::string>();
}
Result<std::vector<std::string>> list_files(const std::string&, const std::string&) {
  return std::vector<std::string>();
}

}  // namespace tenon
