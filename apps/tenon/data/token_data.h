// What data of tokens have in common: their sizes and vocabulary, and how models remember these.
#pragma once

#include <optional>
#include <string>

#include "data/info_file.h"
#include "data/model_data.h"
#include "data/vocabulary.h"

namespace tenon::runner {

class TokenData : public ModelData {
 public:
  std::string vocabulary() const override { return words_->mark(); }
  void remember(const std::string& model_dir) const override { words_->save(model_dir); }

 protected:
  // Throws UsageError for examples of fewer than `least` tokens.
  TokenData(const DataContext& c, int64_t least);
  // What a flag chooses, else what the data or the model say.
  int64_t number(const DataContext& c, const char* name) const;

  InfoFile info_;
  std::optional<ModelVocabulary> words_;  // once the sizes were checked
  int64_t max_length_, vocab_size_;
  bool skip_corrupt_;
};

}  // namespace tenon::runner
