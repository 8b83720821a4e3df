// What data of tokens have in common: their sizes and vocabulary, and how models remember these.
#pragma once

#include <string>

#include "data/info_file.h"
#include "data/model_data.h"

namespace tenon::runner {

class TokenData : public ModelData {
 public:
  void remember(const std::string& model_dir) const override;

 protected:
  // Throws UsageError for examples of fewer than `least` tokens.
  TokenData(const DataContext& c, int64_t least);
  // What a flag chooses, else what the data or the model say.
  int64_t number(const DataContext& c, const char* name) const;

  std::string data_dir_;
  InfoFile info_;
  std::string vocab_file_;
  int64_t max_length_, vocab_size_;
  bool skip_corrupt_;
};

}  // namespace tenon::runner
