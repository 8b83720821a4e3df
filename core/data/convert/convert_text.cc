#include <algorithm>

#include "base/caught.h"
#include "base/file/line_reader.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "data/convert/text_records.h"
#include "data/items.h"

namespace tenon {
namespace {

constexpr size_t kBlockLines = 1024, kBlockLineBytes = 8 << 20;  // encoded at once

// A line on its way.
struct LineItem {
  std::string text;
  int64_t number = 0;
  std::vector<int32_t> ids;
  const char* bad = nullptr;  // why it is left out
};

// Tokens in their order, cut into records of one length.
class TokenPacker {
 public:
  // `held_out`, if any, gets the records that are held out.
  TokenPacker(const ConvertLinesOptions& options, SplitWriter& to, SplitWriter* held_out)
      : options_(options), to_(to), held_out_(held_out) {}

  Status add(int64_t token) {
    tokens_.push_back(token);
    return static_cast<int64_t>(tokens_.size()) < options_.max_length ? Status() : flush();
  }
  Status flush() {
    if (tokens_.empty()) return {};
    const std::string_view bytes(reinterpret_cast<const char*>(tokens_.data()), tokens_.size() * sizeof(int64_t));
    SplitWriter& split = held_out_ && is_held_out(options_, bytes) ? *held_out_ : to_;
    builder_.add_int64s("tokens", tokens_);
    TENON_TRY(split.add(builder_.finish()));
    tokens_.clear();
    return {};
  }

 private:
  const ConvertLinesOptions& options_;
  SplitWriter& to_;
  SplitWriter* held_out_;
  std::vector<int64_t> tokens_;
  ExampleBuilder builder_;
};

// Encodes lines by blocks, on all threads, and packs them in order.
class LineConversion {
 public:
  LineConversion(const ConvertLinesOptions& options, const Subtokenizer& words, ThreadPool& pool)
      : options_(options), words_(words), pool_(pool), items_(kBlockLines) {}

  Status encode(const std::vector<std::string>& files, SplitWriter& to, SplitWriter* held_out) {
    TokenPacker packer(options_, to, held_out);
    for (const std::string& file : files) {
      TENON_ASSIGN(LineReader lines, LineReader::open(file));
      was_empty_ = true;
      for (std::string line;;) {
        TENON_ASSIGN(const bool more, lines.next(line));
        if (more) {
          if (line.ends_with('\r')) line.pop_back();
          bytes_ += line.size();
          items_[used_].number = lines.number();
          std::swap(items_[used_++].text, line);
        }
        if (!more || used_ == items_.size() || bytes_ >= kBlockLineBytes) TENON_TRY(flush(lines, packer, to));
        if (!more) break;
      }
    }
    return packer.flush();
  }

 private:
  Status flush(const LineReader& lines, TokenPacker& packer, SplitWriter& to) {
    TENON_TRY(check_interrupted(options_));
    for (const Status& made : for_each_item(&pool_, used_, [&](size_t i) -> Status {
           LineItem& item = items_[i];
           item.ids.clear();
           item.bad = has_nul(item.text) ? "nul_byte" : words_.encode(item.text, item.ids).ok() ? nullptr : "not_utf8";
           return {};
         }))
      TENON_TRY(made);
    for (size_t i = 0; i < used_; ++i) TENON_TRY(pack(items_[i], lines, packer, to));
    used_ = bytes_ = 0;
    return {};
  }

  // Keeps one of several empty lines.
  Status pack(LineItem& item, const LineReader& lines, TokenPacker& packer, SplitWriter& to) {
    if (item.bad) {
      to.leave_out(item.bad, [&] { return lines.where(item.number); });
      return {};
    }
    if (item.ids.empty() && was_empty_) return {};
    was_empty_ = item.ids.empty();
    for (const int32_t id : item.ids) TENON_TRY(packer.add(id));
    return packer.add(Subtokenizer::kEos);
  }

  const ConvertLinesOptions& options_;
  const Subtokenizer& words_;
  ThreadPool& pool_;
  std::vector<LineItem> items_;
  size_t used_ = 0, bytes_ = 0;
  bool was_empty_ = true;
};

// What is no text is passed over, as it is left out of the records.
Status sample_lines(const std::string& file, const ConvertLinesOptions& o, TokenCounts& counts) {
  TENON_ASSIGN(LineReader lines, LineReader::open(file));
  LineSampler sampler(counts, lines.bytes(), o.vocab_sample);
  for (std::string line; !sampler.full();) {
    if (lines.number() % 4096 == 0) TENON_TRY(check_interrupted(o));
    TENON_ASSIGN(const bool more, lines.next(line));
    if (!more) break;
    if (!has_nul(line)) (void)sampler.add(line);
  }
  return {};
}

Result<ConvertSummary> convert_files_of_lines(const ConvertLinesOptions& options, ThreadPool& pool) {
  if (options.input.empty()) return invalid("convert: there is no text, expected files");
  if (options.max_length < 2) return invalid("convert: max_length is ", options.max_length, ", expected at least 2");
  TENON_TRY(check_text_options(options));
  TENON_ASSIGN(OutputSet output, OutputSet::create_whole(options));
  TENON_ASSIGN(const Subtokenizer words, text_vocabulary(output, options, [&](TokenCounts& counts) -> Status {
                 for (const std::string& file : options.input) TENON_TRY(sample_lines(file, options, counts));
                 return {};
               }));
  ConvertSummary summary;
  summary.vocab_size = words.size();
  TENON_ASSIGN(summary.vocab_file, vocabulary_name(options, "text", words));
  TENON_ASSIGN(SplitWriter train,
               SplitWriter::create({"train", "train", "record", options.train_shards, true}, output, options));
  TENON_ASSIGN(SplitWriter dev, SplitWriter::create({"dev", "validation", "record", 1, false}, output, options));
  LineConversion conversion(options, words, pool);
  TENON_TRY(conversion.encode(options.input, train, options.dev.empty() ? &dev : nullptr));
  TENON_TRY(conversion.encode(options.dev, dev, nullptr));
  TENON_TRY(write_text_records(output, {&train, &dev}, words, "text", {{"max_length", options.max_length}}, options,
                               &summary));
  return summary;
}

}  // namespace

Result<ConvertSummary> convert_lines(const ConvertLinesOptions& options, ThreadPool& pool) {
  // Where a record begins depends on all text before it, so that there is nothing to share.
  return caught([&]() -> Result<ConvertSummary> {
    ConvertSummary summary;
    TENON_TRY(as_first_does([&]() -> Status {
      TENON_ASSIGN(summary, convert_files_of_lines(options, pool));
      return {};
    }));
    return summary;
  });
}

}  // namespace tenon
