#include "data/token_data.h"

#include "data/pairs.h"
#include "output.h"
#include "tenon/subtokenizer.h"

namespace tenon::runner {

TokenData::TokenData(const DataContext& c, int64_t least)
    : data_dir_(c.flags.get_or("data_dir", std::string())),
      info_(data_dir_),
      vocab_file_(info_.text("vocab_file")),
      max_length_(number(c, "max_length")),
      vocab_size_(number(c, "vocab_size")),
      skip_corrupt_(c.flags.get_or("skip_corrupt", false)) {
  if (max_length_ < least)
    throw UsageError{
        format("--max_length is %ld, expected at least %ld", static_cast<long>(max_length_), static_cast<long>(least))};
  if (vocab_size_ < 3)
    throw UsageError{format("--vocab_size is %ld, expected at least 3", static_cast<long>(vocab_size_))};
}

int64_t TokenData::number(const DataContext& c, const char* name) const {
  return c.chosen(name, info_.number(name, c.number(name)));
}

void TokenData::remember(const std::string& model_dir) const {
  if (!vocab_file_.empty())
    check(Subtokenizer::load(data_dir_ + "/" + vocab_file_).take().save(model_dir + "/" + kVocabularyFile));
}

}  // namespace tenon::runner
