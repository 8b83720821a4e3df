#include "base/file/line_reader.h"

#include <algorithm>

#include "base/text.h"

namespace tenon {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(File file) : file_(std::move(file)), buffer_(kBufferBytes, '\0') { file_.advise_sequential(); }

Result<LineReader> LineReader::open(const std::string& path) {
  TENON_ASSIGN(File file, File::open(path));
  return LineReader(std::move(file));
}

Result<bool> LineReader::fill() {
  TENON_ASSIGN(const size_t got, file_.read_at(offset_, buffer_.data(), buffer_.size()));
  rest_ = std::string_view(buffer_).substr(0, got);
  if (offset_ == 0 && rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  offset_ += static_cast<int64_t>(got);
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
    if (line.size() + end > kMaxLineBytes)
      return invalid(file_.path(), ":", number_ + 1, ": a line of more than ", kMaxLineBytes, " bytes");
    line += rest_.substr(0, end);
    const bool ended = end < rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (ended) return ++number_, true;
  }
}

std::string LineReader::where(int64_t number) const { return cat(file_.path(), ":", number); }

}  // namespace tenon
