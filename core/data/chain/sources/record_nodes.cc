// Records of TFRecord files.
#include <algorithm>
#include <thread>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/chain/sources/file_prints.h"
#include "data/chain/sources/stream_node.h"
#include "data/input/input_files.h"
#include "data/record/record_format.h"
#include "data/work_span.h"
#include "tenon/tfrecord.h"

namespace tenon {
namespace {

// Plain files, each of whose records can be read by itself. Where the framing of one breaks off, an element that cannot be read
// stands for the rest.
class RecordsNode : public ChainNode {
 public:
  explicit RecordsNode(std::vector<RecordFile> files) : files_(std::move(files)) {
    for (const RecordFile& file : files_.files()) count_ += elements_of(file);
  }
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool*) const override {
    return std::make_unique<Stream>(*this, pass);
  }
  Element value(const ElementRef& ref) const override {
    const RecordFile& file = files_.files()[file_of_index(ref.index)];
    const auto record = static_cast<int64_t>(number_of_index(ref.index));
    if (record == file.records()) throw PlacedError(file.broken);
    std::unique_ptr<char[]> large;
    return {{"record", text_array(files_.read(file_of_index(ref.index), record, ref.pass, &large).take())}};
  }
  std::string where(const ElementRef& ref) const override {
    return files_.where(file_of_index(ref.index), static_cast<int64_t>(number_of_index(ref.index)));
  }
  int64_t cardinality() const override { return static_cast<int64_t>(count_); }
  bool random() const override { return false; }
  uint64_t own_fingerprint() const override { return mix_hash(0x4ec04d, count_); }
  uint64_t data_fingerprint() const override { return files_.fingerprint(); }

 private:
  static uint64_t elements_of(const RecordFile& file) {
    return static_cast<uint64_t>(file.records()) + (file.broken.ok() ? 0 : 1);
  }
  class Stream : public ElementStream {
   public:
    Stream(const RecordsNode& node, uint64_t pass) : node_(node), pass_(pass), place_(pass * node.count_) {}
    bool next(ElementRef& out) override {
      const std::vector<RecordFile>& files = node_.files_.files();
      while (file_ < files.size() && record_ == elements_of(files[file_])) ++file_, record_ = 0;
      if (file_ == files.size()) return false;
      out = {};
      out.index = index_in_file(file_, record_++);
      out.place = place_++;
      out.pass = static_cast<uint32_t>(pass_);
      return true;
    }

   private:
    const RecordsNode& node_;
    uint64_t pass_, place_, record_ = 0;
    size_t file_ = 0;
  };

  RecordFiles files_;
  uint64_t count_ = 0;
};

// Files of which one at least is compressed.
class PackedRecordsNode : public StreamNode {
 public:
  explicit PackedRecordsNode(std::vector<std::string> files) : files_(std::move(files)) {}
  uint64_t own_fingerprint() const override { return mix_hash(0x9ac4ed, files_.size()); }
  uint64_t data_fingerprint() const override { return prints_.of(files_); }

 private:
  class Records : public Reader {
   public:
    explicit Records(const PackedRecordsNode& node) : node_(node) {}
    Result<bool> next(Element& out, uint64_t& index) override {
      const WorkSpan span(WorkPart::kRead);
      for (; file_ < node_.files_.size(); ++file_, reader_.reset()) {
        if (!reader_) {
          Result<RecordReader> opened = RecordReader::open(node_.files_[file_], {.skip_corrupt = true});
          if (!opened.ok()) return ++file_, opened.status();
          reader_ = opened.take();
          skipped_ = 0;
        }
        if (!waits_) {
          Result<bool> more = reader_->next(&record_);
          if (!more.ok()) return ++file_, reader_.reset(), more;
          waits_ = *more;
        }
        // What was passed over comes before the record behind it.
        if (reader_->skipped() > std::exchange(skipped_, reader_->skipped())) return reader_->last_skipped();
        if (!std::exchange(waits_, false)) continue;
        index = index_in_file(file_, reader_->offset() - record_.size() - kRecordHeader - kRecordFooter);
        out.emplace("record", text_array(record_));
        return true;
      }
      return false;
    }

   private:
    const PackedRecordsNode& node_;
    size_t file_ = 0;
    std::optional<RecordReader> reader_;
    uint64_t skipped_ = 0;
    std::string_view record_;
    bool waits_ = false;
  };

  std::unique_ptr<Reader> read() const override { return std::make_unique<Records>(*this); }
  std::string where_index(uint64_t index) const override {
    return cat(files_[file_of_index(index)], ": record at inflated byte ", number_of_index(index));
  }

  std::vector<std::string> files_;
  FilesFingerprint prints_;
};

bool any_is_compressed(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    const File file = File::open(path).take();
    return is_compressed(file).take();
  });
}

}  // namespace

Dataset Dataset::from_records(std::vector<std::string> files) {
  if (any_is_compressed(files)) return ChainNode::dataset(std::make_shared<PackedRecordsNode>(std::move(files)));
  const auto pool = make_thread_pool(static_cast<int>(std::thread::hardware_concurrency()));
  return ChainNode::dataset(std::make_shared<RecordsNode>(index_files(files, true, pool.get()).take()));
}

}  // namespace tenon
