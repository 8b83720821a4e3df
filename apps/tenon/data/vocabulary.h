// The subtokens that a model of text knows: those of --vocab_file, or else of the data, held to those that the model directory remembers.
#pragma once

#include <optional>
#include <string>

#include "data/info_file.h"
#include "data/model_data.h"
#include "tenon/subtokenizer.h"

namespace tenon::runner {

// The vocabulary's file in a model directory.
constexpr const char* kVocabularyFile = "vocab.subtokens";

// As model.json has it, "1f3a09bc": equal for equal vocabularies.
std::string vocabulary_mark(const Subtokenizer& words);

class ModelVocabulary {
 public:
  // `size` is what the model has. Throws UsageError where a file has another number of subtokens, and where --vocab_file, the data and the
  // model directory have different ones.
  ModelVocabulary(const DataContext& c, const InfoFile& info, int64_t size);

  const std::string& path() const { return path_; }  // empty: there is none, as with examples that are made up
  // What model.json is to remember: of the file, or what it remembers already; empty: unknown.
  const std::string& mark() const { return mark_; }
  void save(const std::string& model_dir) const;

 private:
  Subtokenizer load(const std::string& path, int64_t size) const;

  std::string path_, mark_;
  std::optional<Subtokenizer> words_;
};

void add_vocabulary_flag(Flags& flags);

}  // namespace tenon::runner
