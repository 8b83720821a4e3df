// Lines of text in one language to lines in another, by a model that `tenon train transformer` made.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/models.h"
#include "tenon/decoding.h"
#include "tenon/subtokenizer.h"
#include "text/growing_text.h"

namespace tenon::runner {

// One line, on its way.
struct Sentence {
  std::string source = {}, translation = {};
  std::vector<int32_t> ids = {};
  double score = 0;
  int64_t line = 0;  // of its file, from 1; 0: of none
};

struct TranslatorOptions {
  std::string device = "auto";
  StrategyOptions strategy = {};
  std::string vocabulary;        // file of subtokens
  std::string source = {};       // the file that lines come from, for messages; empty: "line N"
  DecodeOptions search = {};     // beam_size, alpha, temperature, top_k, top_p
  int64_t source_length = 1024;  // tokens of a line that are read
  bool tells_of_cuts = true;     // where it has more
  int64_t target_length = 0;     // tokens that a translation may have; 0: extra_length more than its sentence
  int64_t extra_length = 50;
  int64_t padded_length = 0;  // not 0: one program for all sentences, of so many tokens each
  int64_t batch = 32;         // sentences at a time
};

class Translator {
 public:
  // REQUIRED: params are those of the model, with vocab_size. Throws Error where the vocabulary is not the model's.
  Translator(TranslatorOptions options, const Params& params);

  // From a prefix, or a directory's newest checkpoint; again where there is a newer one.
  void load(const std::string& checkpoint);
  // An error, which names the line, where it is no UTF-8.
  Status check_text(const Sentence& line) const;
  // For who is not told of cuts: also where it has more tokens than are read, unless cuts are as it should be (no tells_of_cuts).
  Status check_uncut(const Sentence& line) const;
  // Gives each its translation; an empty line has an empty one. `grows`, where it is given, shows that of the only line as it is
  // written; REQUIRED then: a beam_size of 1. `ends` is asked between tokens; true: kInterrupted. Without it a signal ends the writing
  // between batches.
  void translate(std::vector<Sentence>& lines, const ShowsText& grows = {}, const std::function<bool()>& ends = {});
  int64_t tokens() const { return tokens_; }  // written so far

 private:
  std::string where(const Sentence& line) const;  // "FILE:LINE: "
  // Adds its tokens; an error names the line.
  Status take_ids(const Sentence& line, std::vector<int32_t>& ids) const;
  void encode(Sentence& line) const;
  size_t most_read() const;  // tokens of a line
  Decoder& decoder(int64_t length, int64_t max_length);
  void translate(std::vector<Sentence>& lines, std::span<const size_t> which, const ShowsText& grows,
                 const std::function<bool()>& ends);
  std::string text_of(std::span<const int32_t> ids) const;

  TranslatorOptions options_;
  Params params_;
  Strategy strategy_;
  Subtokenizer words_;
  std::map<int64_t, Decoder> decoders_;
  int64_t tokens_ = 0;
};

// As `tenon translate`, or `tenon summarize`, opens the model directory: with its defaults.
std::unique_ptr<Translator> open_translator(const std::string& model_dir, const std::string& device, bool summarizes);

}  // namespace tenon::runner
