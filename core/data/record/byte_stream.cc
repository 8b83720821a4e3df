#include "data/record/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/record/record_format.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxInflation = 1032;  // the most that deflate can gain
constexpr size_t kInput = 256 << 10;

Status beyond(uint64_t offset, uint64_t size) { return invalid("offset ", offset, " lies beyond the end at ", size); }

class FileStream : public ByteStream {
 public:
  explicit FileStream(File file) : file_(std::move(file)) { file_.advise_sequential(); }

  Result<size_t> read(void* out, size_t bytes) override {
    TENON_ASSIGN(const size_t done, file_.read_at(static_cast<int64_t>(offset_), out, bytes));
    offset_ += done;
    return done;
  }
  Status seek(uint64_t offset) override {
    if (offset > limit()) return beyond(offset, limit());
    offset_ = offset;
    return {};
  }
  uint64_t limit() const override { return static_cast<uint64_t>(file_.size()); }

 private:
  File file_;
  uint64_t offset_ = 0;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : bytes_(bytes) {}

  Result<size_t> read(void* out, size_t bytes) override {
    const size_t done = std::min(bytes, bytes_.size() - offset_);
    if (done > 0) std::memcpy(out, bytes_.data() + offset_, done);
    offset_ += done;
    return done;
  }
  Status seek(uint64_t offset) override {
    if (offset > limit()) return beyond(offset, limit());
    offset_ = static_cast<size_t>(offset);
    return {};
  }
  uint64_t limit() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
  size_t offset_ = 0;
};

class InflateStream : public ByteStream {
 public:
  InflateStream(std::unique_ptr<ByteStream> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), input_(std::clamp<uint64_t>(source_->limit(), 1, kInput)) {}
  ~InflateStream() override { inflateEnd(&zlib_); }

  Status init() {
    // 15 + 32: the largest window, GZIP or ZLIB by the header.
    if (inflateInit2(&zlib_, 15 + 32) != Z_OK)
      return Status(Code::kOutOfMemory, cat("no memory to inflate '", name_, "'"));
    return {};
  }

  Result<size_t> read(void* out, size_t bytes) override {
    size_t done = 0;
    while (done < bytes && !ended_) {
      const size_t part = std::min<size_t>(bytes - done, std::numeric_limits<uInt>::max());
      zlib_.next_out = static_cast<Bytef*>(out) + done;
      zlib_.avail_out = static_cast<uInt>(part);
      const Status status = inflate_some();
      done += part - zlib_.avail_out;
      if (!status.ok() && done == 0) return status;
      if (!status.ok()) break;  // zlib gives the same error again
    }
    offset_ += done;
    return done;
  }

  Status seek(uint64_t offset) override {
    if (offset < offset_) TENON_TRY(rewind());
    std::vector<char> passed(std::min<uint64_t>(offset - offset_, kInput));
    while (offset_ < offset) {
      TENON_ASSIGN(const size_t done, read(passed.data(), std::min<uint64_t>(offset - offset_, passed.size())));
      if (done == 0) return beyond(offset, offset_);
    }
    return {};
  }

  uint64_t limit() const override {
    const uint64_t size = source_->limit();
    return size > std::numeric_limits<uint64_t>::max() / kMaxInflation ? size : size * kMaxInflation;
  }

 private:
  Status rewind() {
    TENON_TRY(source_->seek(0));
    inflateReset(&zlib_);
    zlib_.avail_in = 0;
    offset_ = consumed_ = 0;
    ended_ = false;
    inside_ = true;
    return {};
  }

  Status refill() {
    TENON_ASSIGN(const size_t more, source_->read(input_.data(), input_.size()));
    zlib_.next_in = input_.data();
    zlib_.avail_in = static_cast<uInt>(more);
    consumed_ += more;
    return {};
  }

  Status damaged(std::string_view why) const {
    return invalid("'", name_, "' at compressed byte ", consumed_ - zlib_.avail_in, ": ", why);
  }

  // One call of inflate; sets ended_ after the last member. Without input there may be output that had no room before.
  Status inflate_some() {
    if (zlib_.avail_in == 0) TENON_TRY(refill());
    if (zlib_.avail_in == 0 && !inside_) {
      ended_ = true;
      return {};
    }
    inside_ = true;
    const uInt room = zlib_.avail_out;
    const int code = inflate(&zlib_, Z_NO_FLUSH);
    if (code == Z_BUF_ERROR && zlib_.avail_out == room && zlib_.avail_in == 0)
      return damaged("the file ends inside the compressed data");
    if (code == Z_STREAM_END) {
      inside_ = false;
      inflateReset(&zlib_);
      return {};
    }
    if (code == Z_MEM_ERROR) return Status(Code::kOutOfMemory, cat("no memory to inflate '", name_, "'"));
    if (code == Z_OK || code == Z_BUF_ERROR) return {};
    return damaged(cat("broken compression: ", zlib_.msg != nullptr ? zlib_.msg : "a dictionary is wanted"));
  }

  std::unique_ptr<ByteStream> source_;
  std::string name_;
  std::vector<Bytef> input_;
  z_stream zlib_{};
  uint64_t offset_ = 0;    // of the inflated bytes
  uint64_t consumed_ = 0;  // compressed bytes taken from source_
  bool inside_ = true;     // a member has begun and not ended; an empty file is no member
  bool ended_ = false;
};

// Hundreds of compressed bytes are never UTF-8 without control characters.
bool looks_like_text(std::string_view head) {
  while (!head.empty()) {
    const size_t bytes = utf8_sequence(head);
    if (bytes == 0) return head.size() < 4 && static_cast<unsigned char>(head[0]) >= 0xc0;  // cut
    if (bytes == 1 && static_cast<unsigned char>(head[0]) < 0x20 &&
        std::string_view("\t\n\r\f").find(head[0]) == std::string_view::npos)
      return false;
    head.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_stream(const std::string& path) {
  TENON_ASSIGN(File file, File::open(path));
  return std::unique_ptr<ByteStream>(std::make_unique<FileStream>(std::move(file)));
}

std::unique_ptr<ByteStream> memory_stream(std::string_view bytes) { return std::make_unique<MemoryStream>(bytes); }

Result<std::unique_ptr<ByteStream>> inflate_stream(std::unique_ptr<ByteStream> source, const std::string& name) {
  auto stream = std::make_unique<InflateStream>(std::move(source), name);
  TENON_TRY(stream->init());
  return std::unique_ptr<ByteStream>(std::move(stream));
}

Result<std::unique_ptr<ByteStream>> open_text_stream(const std::string& path) {
  TENON_ASSIGN(std::unique_ptr<ByteStream> stream, open_stream(path));
  char bytes[512];
  TENON_ASSIGN(const size_t found, stream->read(bytes, sizeof bytes));
  TENON_TRY(stream->seek(0));
  const std::string_view head(bytes, found);
  if (!looks_like_gzip(head) && (!looks_like_zlib(head) || looks_like_text(head))) return stream;
  return inflate_stream(std::move(stream), path);
}

bool looks_compressed(std::string_view head) {
  const bool plain = head.size() >= kRecordHeader && record_header_is_sound(head.data());
  return !plain && (looks_like_gzip(head) || looks_like_zlib(head));
}

bool looks_like_gzip(std::string_view head) { return head.substr(0, 3) == std::string_view("\x1f\x8b\x08", 3); }

// Deflate with a window of 32 KiB, no dictionary, and the header's own check.
bool looks_like_zlib(std::string_view head) {
  if (head.size() < 2 || head[0] != 0x78) return false;
  const unsigned flags = static_cast<uint8_t>(head[1]);
  return (flags & 0x20) == 0 && (0x78u * 256 + flags) % 31 == 0;
}

}  // namespace tenon
