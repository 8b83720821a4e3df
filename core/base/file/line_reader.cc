#include "base/file/line_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(Read read, std::string name, size_t max_line_bytes)
    : read_(std::move(read)), name_(std::move(name)), max_line_bytes_(max_line_bytes), buffer_(kBufferBytes, '\0') {}

Result<LineReader> LineReader::open(const std::string& path) {
  TENON_ASSIGN(File opened, File::open(path));
  const auto file = std::make_shared<const File>(std::move(opened));
  file->advise_sequential();
  const Read read = [file, at = int64_t{0}](char* to, size_t bytes) mutable -> Result<size_t> {
    TENON_ASSIGN(const size_t got, file->read_at(at, to, bytes));
    at += static_cast<int64_t>(got);
    return got;
  };
  LineReader out(read, path);
  out.bytes_ = file->size();
  return out;
}

Result<bool> LineReader::fill() {
  TENON_ASSIGN(const size_t got, read_(buffer_.data(), buffer_.size()));
  rest_ = std::string_view(buffer_).substr(0, got);
  if (!std::exchange(begun_, true) && rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  return !rest_.empty();
}

Result<bool> LineReader::next(std::string& line) {
  line.clear();
  for (bool some = false;; some = true) {
    if (rest_.empty()) {
      TENON_ASSIGN(const bool more, fill());
      if (!more && !some) return false;
      if (!more) return ++number_, true;
    }
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    if (line.size() + end > max_line_bytes_) {
      TENON_TRY(pass_over());
      return invalid(name_, ":", number_, ": a line of more than ", max_line_bytes_, " bytes");
    }
    line += rest_.substr(0, end);
    const bool ended = end < rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (ended) return ++number_, true;
  }
}

// The rest of a line.
Status LineReader::pass_over() {
  ++number_;
  for (;;) {
    const size_t end = rest_.find('\n');
    if (end != std::string_view::npos) return rest_.remove_prefix(end + 1), Status();
    TENON_ASSIGN(const bool more, fill());
    if (!more) return {};
  }
}

std::string LineReader::where(int64_t number) const { return cat(name_, ":", number); }

}  // namespace tenon
