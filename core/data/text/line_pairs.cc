// Pairs that are lines: of two files, or of one with tabs.
#include "base/file/line_reader.h"
#include "base/strings.h"
#include "data/text/pair_reader.h"

namespace tenon {
namespace {

class LinePairs : public PairReader {
 public:
  LinePairs(LineReader source, LineReader target) : source_(std::move(source)), target_(std::move(target)) {}

  Result<bool> read(TextPair& pair) override {
    TENON_ASSIGN(const bool source, source_.next(pair.source));
    TENON_ASSIGN(const bool target, target_.next(pair.target));
    if (source == target) return source;
    const LineReader &ended = source ? target_ : source_, &longer = source ? source_ : target_;
    return invalid(longer.where(longer.number()), ": a line without one in the other file, which ends at ",
                   ended.where(ended.number()), "; expected as many lines in both");
  }
  int64_t position() const override { return source_.number(); }
  std::string where(int64_t position) const override { return source_.where(position); }

 private:
  LineReader source_, target_;
};

class TsvPairs : public PairReader {
 public:
  explicit TsvPairs(LineReader lines) : lines_(std::move(lines)) {}

  Result<bool> read(TextPair& pair) override {
    TENON_ASSIGN(const bool more, lines_.next(line_));
    if (!more) return false;
    const size_t tab = line_.find('\t');
    pair.bad = tab == std::string::npos ? "no_tab" : nullptr;
    if (pair.bad) {
      std::swap(pair.source, line_);
      pair.target.clear();
      return true;
    }
    pair.source.assign(line_, 0, tab);
    pair.target.assign(line_, tab + 1, std::min(line_.find('\t', tab + 1), line_.size()) - tab - 1);
    return true;
  }
  int64_t position() const override { return lines_.number(); }
  std::string where(int64_t position) const override { return lines_.where(position); }

 private:
  LineReader lines_;
  std::string line_;
};

}  // namespace

Result<PairReaderPtr> read_line_pairs(const std::string& source, const std::string& target) {
  TENON_ASSIGN(LineReader one, LineReader::open(source));
  TENON_ASSIGN(LineReader other, LineReader::open(target));
  return PairReaderPtr(new LinePairs(std::move(one), std::move(other)));
}

Result<PairReaderPtr> read_tsv_pairs(const std::string& path) {
  TENON_ASSIGN(LineReader lines, LineReader::open(path));
  return PairReaderPtr(new TsvPairs(std::move(lines)));
}

}  // namespace tenon
