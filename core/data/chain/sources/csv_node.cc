// Rows of CSV files.
#include "base/strings.h"
#include "data/chain/sources/csv_columns.h"
#include "data/chain/sources/file_prints.h"
#include "data/chain/sources/stream_node.h"

namespace tenon {
namespace {

class CsvNode : public StreamNode {
 public:
  CsvNode(std::vector<std::string> files, const CsvOptions& options) : table_(std::move(files), options) {}
  uint64_t own_fingerprint() const override { return table_.fingerprint(); }
  uint64_t data_fingerprint() const override { return prints_.of(table_.files()); }

 private:
  class Rows : public Reader {
   public:
    explicit Rows(const CsvTable& table) : table_(table) {}
    Result<bool> next(Element& out, uint64_t& index) override {
      for (; file_ < table_.files().size(); ++file_, reader_.reset()) {
        Result<bool> more = read();
        if (more.ok() && !*more) continue;
        index = index_in_file(file_, static_cast<uint64_t>(row_.line));
        Result<Element> element = more.ok() ? table_.element(file_, row_) : more.status();
        // What cannot be read on: the next file.
        if (!more.ok() && (!reader_ || reader_->failed())) ++file_, reader_.reset();
        if (!element.ok()) return element.status();
        out = element.take();
        return true;
      }
      return false;
    }

   private:
    Result<bool> read() {
      if (!reader_) {
        TENON_ASSIGN(reader_, table_.open(file_));
      }
      return reader_->next(row_);
    }

    const CsvTable& table_;
    size_t file_ = 0;
    std::optional<CsvReader> reader_;
    CsvRow row_;
  };

  std::unique_ptr<Reader> read() const override { return std::make_unique<Rows>(table_); }
  std::string where_index(uint64_t index) const override {
    return cat(table_.files()[file_of_index(index)], ":", number_of_index(index));
  }

  CsvTable table_;
  FilesFingerprint prints_;
};

}  // namespace

Dataset Dataset::from_csv(std::vector<std::string> files, const CsvOptions& options) {
  return ChainNode::dataset(std::make_shared<CsvNode>(std::move(files), options));
}

}  // namespace tenon
