// Values kept in a file as they come the first time.
#include "data/chain/cache/disk_cache_node.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/file/file.h"
#include "base/strings.h"
#include "base/tell.h"
#include "data/chain/cache/cache_file.h"
#include "data/chain/sources/stream_node.h"

namespace tenon {
namespace {

// A reference is to an element of the file, or, with the one below as its part, to one that is still to be written.
class DiskCacheNode : public VerbNode {
 public:
  DiskCacheNode(Node from, std::string path) : VerbNode(std::move(from)), path_(std::move(path)) {}

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    file();
    return std::make_unique<Stream>(*this, pass, pool);
  }
  Element value(const ElementRef& ref) const override {
    if (const CacheFile* there = ready()) return read(*there, ref).element;
    Element made = from_->value(below(ref));
    keep(ref, made);
    return made;
  }
  std::string where(const ElementRef& ref) const override {
    return ref.held ? from_->where(below(ref)) : read(*ready(), ref).where;
  }
  int64_t rows(const ElementRef& ref) const override {
    return ref.held ? from_->rows(below(ref)) : ready()->rows(ref.index);
  }
  int64_t cardinality() const override {
    const CacheFile* there = file();
    return there ? static_cast<int64_t>(there->size()) : from_->cardinality();
  }
  bool random() const override { return false; }
  uint64_t own_fingerprint() const override { return 0xcac4e; }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const DiskCacheNode& node, uint64_t pass, ThreadPool* pool) : node_(node), pass_(pass), pool_(pool) {}
    bool next(ElementRef& out) override {
      ElementRef made;
      made.index = read_;
      made.place = pass_ * kPlacesAPass + read_;
      made.pass = static_cast<uint32_t>(pass_);
      if (const CacheFile* there = node_.ready()) {
        from_.reset();
        if (read_ >= there->size()) return false;
      } else {
        if (!from_) from_ = node_.from_->open(0, pool_);
        ElementRef below;
        if (!from_->next(below)) return node_.end(read_), false;
        HeldElement held;
        held.parts.push_back(std::move(below));
        made.held = std::make_shared<const HeldElement>(std::move(held));
      }
      ++read_;
      out = std::move(made);
      return true;
    }

   private:
    const DiskCacheNode& node_;
    uint64_t pass_, read_ = 0;
    ThreadPool* pool_;
    std::unique_ptr<ElementStream> from_;
  };

  static const ElementRef& below(const ElementRef& ref) { return ref.held->parts[0]; }

  // Once there is a file, everything comes from it.
  const CacheFile* ready() const { return ready_.load(std::memory_order_acquire); }

  // Looks for one where it is not known yet.
  const CacheFile* file() const {
    if (const CacheFile* there = ready()) return there;
    const std::lock_guard lock(mutex_);
    if (!file_ && !writing_) take_file(CacheFile::open(path_, tag()).take());
    return file_.get();
  }
  void take_file(std::unique_ptr<const CacheFile> found) const {
    file_ = std::move(found);
    ready_.store(file_.get(), std::memory_order_release);
  }
  CacheTag tag() const { return {from_->fingerprint(), from_->data_fingerprint()}; }

  CachedElement read(const CacheFile& there, const ElementRef& ref) const {
    Result<CachedElement> out = there.read(ref.index, ref.pass);
    if (!out.ok()) throw PlacedError(out.status());
    return out.take();
  }

  void keep(const ElementRef& ref, const Element& made) const {
    {
      const std::lock_guard lock(mutex_);
      if (failed_ || file_ || finishing_ || (writer_ && writer_->has(ref.index))) return;
    }
    const std::string record = CacheWriter::record_of(made, from_->where(below(ref)));
    const int64_t rows = from_->rows(below(ref));
    std::unique_lock lock(mutex_);
    if (failed_ || file_ || finishing_ || (writer_ && writer_->has(ref.index))) return;
    const Status added = add(ref.index, rows, record);
    if (!added.ok()) return give_up(added);
    finish_when_whole(lock);
  }
  Status add(uint64_t index, int64_t rows, std::string_view record) const {
    if (!writer_) {
      TENON_ASSIGN(writer_, CacheWriter::create(path_));
      writing_ = true;
    }
    return writer_->add(index, rows, record);
  }
  void give_up(const Status& why) const {
    failed_ = true;
    writer_.reset();
    tell(cat("cache: ", why.message(), "; goes on without it"));
  }

  void end(uint64_t count) const {
    std::unique_lock lock(mutex_);
    count_ = count;
    finish_when_whole(lock);
  }
  // Others go on while it is made durable.
  void finish_when_whole(std::unique_lock<std::mutex>& lock) const {
    if (!writer_ || count_ != writer_->written()) return;
    CacheWriter writer = std::move(*writer_);
    writer_.reset();
    finishing_ = true;
    lock.unlock();
    const CacheTag of = tag();
    Status done = writer.finish(of);
    Result<std::unique_ptr<const CacheFile>> found = done.ok() ? CacheFile::open(path_, of) : done;
    lock.lock();
    finishing_ = false;
    if (!found.ok()) return give_up(found.status());
    take_file(found.take());
  }

  std::string path_;
  mutable std::mutex mutex_;
  mutable std::atomic<const CacheFile*> ready_ = nullptr;
  mutable std::unique_ptr<const CacheFile> file_;
  mutable std::optional<CacheWriter> writer_;
  mutable std::optional<uint64_t> count_;  // elements of an epoch, when one has been read to its end
  mutable bool writing_ = false, finishing_ = false, failed_ = false;
};

}  // namespace

Node disk_cache(Node from, const std::string& path) {
  check(check_path(path));
  std::error_code error;
  const std::string directory = directory_of(path);
  if (!std::filesystem::is_directory(directory, error)) fail("cache: there is no directory '", directory, "'");
  return std::make_shared<DiskCacheNode>(std::move(from), path);
}

}  // namespace tenon
