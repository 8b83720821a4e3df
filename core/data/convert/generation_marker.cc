#include "data/convert/generation_marker.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr std::string_view kFirstLine = "tenon conversion", kMoves = "moves ";
constexpr off_t kMaxMarker = 16 << 20;

// The name of the file itself, where `name` may be its temporary's.
std::string_view without_temporary(std::string_view name) {
  const std::string_view target = target_of_temporary(name);
  return target.empty() ? name : target;
}

// The next line that ends, without its end; nothing where there is none.
std::optional<std::string_view> next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return {};
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

bool read_inodes(std::string_view line, GenerationMarker& out) {
  const char* end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, out.directory);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return false;
  const auto second = std::from_chars(first.ptr + 1, end, out.output);
  return second.ec == std::errc() && second.ptr == end;
}

std::optional<GenerationMarker> parse_marker(std::string_view text) {
  GenerationMarker out;
  if (text.empty()) return out;
  std::optional<std::string_view> line = next_line(text);
  if (line != kFirstLine) return {};
  line = next_line(text);
  if (!line || !read_inodes(*line, out)) return {};
  while ((line = next_line(text))) {
    if (line->starts_with(kMoves))
      out.moves = line->substr(kMoves.size());
    else
      out.files.emplace_back(*line);
  }
  const bool known = std::all_of(out.files.begin(), out.files.end(), is_conversions);
  if (!known || (!out.moves.empty() && !is_staging(out.moves))) return {};
  std::sort(out.files.begin(), out.files.end());
  return out;
}

}  // namespace

bool GenerationMarker::lists(std::string_view name) const {
  return std::binary_search(files.begin(), files.end(), name) ||
         std::binary_search(files.begin(), files.end(), without_temporary(name));
}

bool is_conversions(std::string_view name) {
  const std::string text(without_temporary(name));
  if (text.find('/') != std::string::npos) return false;
  const auto is = [&](const char* pattern) { return ::fnmatch(pattern, text.c_str(), 0) == 0; };
  return text == "labels.txt" || text == "info.json" || is(kVocabularyFiles) ||
         std::any_of(std::begin(kRecordFiles), std::end(kRecordFiles), is);
}

bool is_staging(const std::string& name) { return ::fnmatch(".records-??????", name.c_str(), FNM_PATHNAME) == 0; }

OpenDirectory::OpenDirectory(const std::string& path, bool follow)
    : path_(path), directory_(open_file(path, O_RDONLY | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW))) {
  if (directory_ && ::fstat(fd(), &info_) != 0) directory_.close();
}

OpenDirectory::OpenDirectory(const OpenDirectory& in, const std::string& name)
    : path_(cat(in.path_, "/", name)), directory_(open_at(in.directory_, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)) {
  if (directory_ && ::fstat(fd(), &info_) != 0) directory_.close();
}

std::vector<std::string> OpenDirectory::names() const {
  return names_in(open_at(directory_, ".", O_RDONLY | O_DIRECTORY)).value_or(std::vector<std::string>());
}

bool OpenDirectory::has_file(const std::string& name) const {
  struct stat info;
  return ::fstatat(fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

bool OpenDirectory::has_same(const std::string& name, const OpenDirectory& other) const {
  struct stat x, y;
  return ::fstatat(fd(), name.c_str(), &x, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstatat(other.fd(), name.c_str(), &y, AT_SYMLINK_NOFOLLOW) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

std::optional<GenerationMarker> OpenDirectory::marker() const {
  const Descriptor file = open_at(directory_, kMarker, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMaxMarker) return {};
  std::string text(static_cast<size_t>(info.st_size), '\0');
  if (!read_fully(file.get(), text.data(), text.size())) return {};
  return parse_marker(text);
}

Status OpenDirectory::begin_marker(uint64_t output, const std::vector<std::string>& files) const {
  std::string text = cat(kFirstLine, "\n", inode(), " ", output, "\n");
  for (const std::string& name : files) text += name + "\n";
  return write_marker(O_CREAT | O_EXCL, text, true);
}

Status OpenDirectory::add_to_marker(const std::string& line, bool sync) const {
  return write_marker(O_APPEND, line + "\n", sync);
}

Status OpenDirectory::write_marker(int flags, const std::string& text, bool sync) const {
  const std::string path = cat(path_, "/", kMarker);
  const Descriptor file = open_at(directory_, kMarker, O_WRONLY | O_NOFOLLOW | flags, 0644);
  if (!file || !write_fully(file.get(), text.data(), text.size())) return file_error("cannot write", path, errno);
  if (sync && retry([&] { return ::fsync(file.get()); }) != 0) return file_error("cannot sync", path, errno);
  return {};
}

}  // namespace tenon
