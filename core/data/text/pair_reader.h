// Parallel text, a pair of sentences at a time, from what it is kept in. Memory does not grow with the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tenon/status.h"

namespace tenon {

struct TextPair {
  std::string source, target;  // as they stand in the file; nothing says that they are UTF-8
  const char* bad = nullptr;   // why it is no pair, a word for counts
};

class PairReader {
 public:
  virtual ~PairReader() = default;
  // The next pair, or false after the last one. An error names file and place, and stays.
  Result<bool> next(TextPair& pair) {
    if (!failed_.ok()) return failed_;
    pair.bad = nullptr;
    Result<bool> more = read(pair);
    if (!more.ok()) failed_ = more.status();
    return more;
  }
  virtual int64_t position() const = 0;                   // of the last pair: its line, or which message it is
  virtual std::string where(int64_t position) const = 0;  // "corpus.tsv:12", "de.mo: message 7"

 private:
  virtual Result<bool> read(TextPair& pair) = 0;
  Status failed_;
};
using PairReaderPtr = std::unique_ptr<PairReader>;

// Line n of one file belongs to line n of the other. It is an error when one ends before the other.
Result<PairReaderPtr> read_line_pairs(const std::string& source, const std::string& target);
// "source<TAB>target" a line; further columns are ignored. A line without a tab is a bad pair, "no_tab".
Result<PairReaderPtr> read_tsv_pairs(const std::string& path);
// A JSON object a line, whose members of these names are the texts; others are ignored.
Result<PairReaderPtr> read_jsonl_pairs(const std::string& path, const std::string& source_name,
                                       const std::string& target_name);
// A compiled gettext catalogue (the GNU format, either byte order): what is translated, and its translation. Plural forms
// give the first form of each; contexts are left out, and so are the marks of keys in labels ("_Save", "&Open").
Result<PairReaderPtr> read_mo_pairs(const std::string& path);
// Translation Memory eXchange 1.4: of each <tu> the <seg> of the first <tuv> in either language ("en", which "en-US" is too).
// What stands in <bpt>, <ept>, <it>, <ph>, <sub> and <ut> is no text. Entities that a document defines are refused, and so is one that has
// texts but none in one of the languages.
Result<PairReaderPtr> read_tmx_pairs(const std::string& path, const std::string& source_language,
                                     const std::string& target_language);

}  // namespace tenon
