// Sources that are read from front to back: references hold what was read.
#pragma once

#include <memory>

#include "data/chain/chain_node.h"

namespace tenon {

class StreamNode : public ChainNode {
 public:
  // One run through the source, of one thread.
  class Reader {
   public:
    virtual ~Reader() = default;
    // The next element, or false at the end. `index` tells where() its place. An error is that of one element, whose place it
    // names, and behind which the next call goes on; what is thrown ends the run.
    virtual Result<bool> next(Element& out, uint64_t& index) = 0;
  };

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override;
  Element value(const ElementRef& ref) const override { return *shared_value(ref); }
  std::shared_ptr<const Element> shared_value(const ElementRef& ref) const override;
  std::string where(const ElementRef& ref) const override { return where_index(ref.index); }
  int64_t cardinality() const override { return kUnknownCardinality; }
  bool random() const override { return false; }

 protected:
  virtual std::unique_ptr<Reader> read() const = 0;
  virtual std::string where_index(uint64_t index) const = 0;

 private:
  class Stream;
};

// Places of sources whose elements nobody counted before.
inline constexpr uint64_t kPlacesAPass = uint64_t{1} << 40;

// An index of a line, a record or the like of one of several files.
inline constexpr uint64_t index_in_file(size_t file, uint64_t number) { return uint64_t{file} << 40 | number; }
inline constexpr size_t file_of_index(uint64_t index) { return static_cast<size_t>(index >> 40); }
inline constexpr uint64_t number_of_index(uint64_t index) { return index & ((uint64_t{1} << 40) - 1); }

}  // namespace tenon
