#include "data/convert/record_spill.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/record/record_format.h"

namespace tenon {
namespace {

constexpr size_t kTailBytes = 4 << 20;  // of all shards, about
constexpr size_t kLeastPiece = 1 << 10, kMostPiece = 16 << 10;

}  // namespace

RecordSpill::RecordSpill(std::string directory, Descriptor file, int64_t shards)
    : directory_(std::move(directory)),
      file_(std::move(file)),
      shards_(static_cast<size_t>(shards)),
      piece_bytes_(std::clamp(kTailBytes / shards_.size(), kLeastPiece, kMostPiece)) {}

Result<RecordSpill> RecordSpill::create(const std::string& directory, int64_t shards) {
  Descriptor file = nameless_file(directory);
  if (!file) return file_error("cannot make a file in", directory, errno);
  return RecordSpill(directory, std::move(file), shards);
}

Status RecordSpill::add(size_t shard, std::string_view record) {
  Shard& to = shards_[shard];
  append_record(record, to.tail);
  return to.tail.size() < piece_bytes_ ? Status() : write_tail(to);
}

Status RecordSpill::write_tail(Shard& shard) {
  if (!write_fully(file_.get(), shard.tail.data(), shard.tail.size()))
    return file_error("cannot write to a file in", directory_, errno);
  shard.pieces.push_back({bytes_, static_cast<int64_t>(shard.tail.size())});
  bytes_ += static_cast<int64_t>(shard.tail.size());
  shard.tail.clear();
  return {};
}

Result<std::vector<std::string_view>> RecordSpill::read(size_t shard, std::string& text) const {
  const Shard& from = shards_[shard];
  text.clear();
  for (const Piece& piece : from.pieces) {
    const size_t begin = text.size();
    text.resize(begin + static_cast<size_t>(piece.bytes));
    if (::lseek(file_.get(), piece.offset, SEEK_SET) < 0 ||
        !read_fully(file_.get(), text.data() + begin, static_cast<size_t>(piece.bytes)))
      return file_error("cannot read a file in", directory_, errno);
  }
  text += from.tail;
  return records_in_text(text);
}

void append_record(std::string_view record, std::string& text) {
  const auto bytes = static_cast<uint32_t>(record.size());
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(record);
}

Result<std::vector<std::string_view>> records_in_text(const std::string& text) {
  std::vector<std::string_view> records;
  for (size_t at = 0; at < text.size();) {
    const size_t left = text.size() - at, head = sizeof(uint32_t);
    const size_t bytes = left < head ? left : load_unaligned<uint32_t>(text.data() + at);
    if (left < head || bytes > left - head) return invalid("records on their way to a shard are damaged");
    records.push_back(std::string_view(text).substr(at + head, bytes));
    at += head + bytes;
  }
  return records;
}

}  // namespace tenon
