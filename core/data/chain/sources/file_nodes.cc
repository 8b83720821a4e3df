// Files as elements.
#include <algorithm>
#include <numeric>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/chain/sources/file_prints.h"
#include "data/chain/sources/stream_node.h"
#include "data/class_folders.h"
#include "data/input/input_files.h"
#include "data/work_span.h"

namespace tenon {

Array text_array(std::string_view text) {
  Array out({DType::kU8, {static_cast<int64_t>(text.size())}});
  if (!text.empty()) std::memcpy(out.bytes().data(), text.data(), text.size());
  return out;
}

std::string_view text_of(const Array& array) {
  if (array.dtype() != DType::kU8 || array.shape().rank() != 1)
    fail("expected text, u8[n], found ", array.type().str());
  return {reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size()};
}

namespace {

class FilesNode : public ChainNode {
 public:
  FilesNode(std::vector<std::string> paths, std::vector<int32_t> labels, bool reads)
      : paths_(std::move(paths)), labels_(std::move(labels)), reads_(reads) {}

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool*) const override {
    class Stream : public ElementStream {
     public:
      Stream(uint64_t count, uint64_t pass) : count_(count), pass_(pass) {}
      bool next(ElementRef& out) override {
        if (next_ == count_) return false;
        out = {};
        out.index = next_;
        out.place = pass_ * count_ + next_++;
        out.pass = static_cast<uint32_t>(pass_);
        return true;
      }

     private:
      uint64_t count_, pass_, next_ = 0;
    };
    return std::make_unique<Stream>(paths_.size(), pass);
  }
  Element value(const ElementRef& ref) const override {
    const std::string& path = paths_.at(ref.index);
    Element out{{"path", text_array(path)}};
    if (!labels_.empty()) out.emplace("label", Array(labels_[ref.index]));
    if (reads_) out.emplace("data", contents(path));
    return out;
  }
  std::string where(const ElementRef& ref) const override { return paths_.at(ref.index); }
  int64_t cardinality() const override { return static_cast<int64_t>(paths_.size()); }
  bool random() const override { return false; }
  uint64_t own_fingerprint() const override { return mix_hash(mix_hash(0xf11e, paths_.size()), reads_); }
  uint64_t data_fingerprint() const override {
    uint64_t hash = prints_.of(paths_);
    for (const int32_t label : labels_) hash = mix_hash(hash, static_cast<uint64_t>(label));
    return hash | 1;
  }

 private:
  static Array contents(const std::string& path) {
    const WorkSpan span(WorkPart::kRead);
    Result<File> opened = File::open(path);
    if (!opened.ok()) throw PlacedError(opened.status());  // names it
    const File& file = *opened;
    check(take_room(static_cast<uint64_t>(file.size()), "a file"));
    Array out({DType::kU8, {file.size()}});
    check(file.read_exactly_at(0, out.bytes().data(), out.bytes().size()));
    return out;
  }

  std::vector<std::string> paths_;
  std::vector<int32_t> labels_;
  bool reads_;
  FilesFingerprint prints_;
};

}  // namespace

Dataset Dataset::from_files(std::vector<std::string> paths, std::vector<int32_t> labels) {
  if (!labels.empty() && labels.size() != paths.size())
    fail("from_files: ", labels.size(), " labels, expected one for each of ", paths.size(), " files");
  return ChainNode::dataset(std::make_shared<FilesNode>(std::move(paths), std::move(labels), true));
}

Dataset Dataset::list_files(const std::string& pattern, bool shuffle, uint64_t seed) {
  std::vector<std::string> paths = find_input_files({.file_pattern = pattern}).take();
  const auto count = static_cast<int64_t>(paths.size());
  const Dataset all = ChainNode::dataset(std::make_shared<FilesNode>(std::move(paths), std::vector<int32_t>(), false));
  return shuffle ? all.shuffle(count, {.seed = seed}) : all;
}

Dataset Dataset::from_directory(const std::string& directory, std::vector<std::string>* classes) {
  LabelledFiles found = list_class_folders(directory).take();
  if (classes) *classes = std::move(found.classes);
  return from_files(std::move(found.paths), std::move(found.labels));
}

}  // namespace tenon
