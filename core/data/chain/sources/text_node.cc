// Lines of text files.
#include "base/file/line_reader.h"
#include "base/strings.h"
#include "data/chain/sources/file_prints.h"
#include "data/chain/sources/stream_node.h"
#include "data/record/byte_stream.h"

namespace tenon {
namespace {

constexpr size_t kMaxLineBytes = size_t{64} << 20;

Result<LineReader> open_lines(const std::string& path) {
  TENON_ASSIGN(std::unique_ptr<ByteStream> opened, open_text_stream(path));
  const std::shared_ptr<ByteStream> stream = std::move(opened);
  return LineReader([stream](char* to, size_t bytes) { return stream->read(to, bytes); }, path, kMaxLineBytes);
}

class TextNode : public StreamNode {
 public:
  explicit TextNode(std::vector<std::string> files) : files_(std::move(files)) {}
  uint64_t own_fingerprint() const override { return mix_hash(0x7e47, files_.size()); }
  uint64_t data_fingerprint() const override { return prints_.of(files_); }

 private:
  class Lines : public Reader {
   public:
    explicit Lines(const TextNode& node) : node_(node) {}
    Result<bool> next(Element& out, uint64_t& index) override {
      for (; file_ < node_.files_.size(); ++file_, reader_.reset()) {
        const int64_t before = reader_ ? reader_->number() : 0;
        Result<bool> more = read();
        if (more.ok() && !*more) continue;
        index = index_in_file(file_, static_cast<uint64_t>(before) + 1);
        if (more.ok()) return out.emplace("line", text_array(without_return())), more;
        // What cannot be read on: the next file.
        if (!reader_ || reader_->number() == before) ++file_, reader_.reset();
        return more;
      }
      return false;
    }

   private:
    Result<bool> read() {
      if (!reader_) {
        TENON_ASSIGN(reader_, open_lines(node_.files_[file_]));
      }
      return reader_->next(line_);
    }
    std::string_view without_return() const {
      std::string_view line = line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line;
    }

    const TextNode& node_;
    size_t file_ = 0;
    std::optional<LineReader> reader_;
    std::string line_;
  };

  std::unique_ptr<Reader> read() const override { return std::make_unique<Lines>(*this); }
  std::string where_index(uint64_t index) const override {
    return cat(files_[file_of_index(index)], ":", number_of_index(index));
  }

  std::vector<std::string> files_;
  FilesFingerprint prints_;
};

}  // namespace

Dataset Dataset::from_text_lines(std::vector<std::string> files) {
  return ChainNode::dataset(std::make_shared<TextNode>(std::move(files)));
}

}  // namespace tenon
