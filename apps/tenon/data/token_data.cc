#include "data/token_data.h"

#include "output.h"

namespace tenon::runner {

TokenData::TokenData(const DataContext& c, int64_t least)
    : info_(c.flags.get_or("data_dir", std::string())),
      max_length_(number(c, "max_length")),
      vocab_size_(number(c, "vocab_size")),
      skip_corrupt_(c.flags.get_or("skip_corrupt", false)) {
  if (max_length_ < least)
    throw UsageError{
        format("--max_length is %ld, expected at least %ld", static_cast<long>(max_length_), static_cast<long>(least))};
  if (vocab_size_ < 3)
    throw UsageError{format("--vocab_size is %ld, expected at least 3", static_cast<long>(vocab_size_))};
  words_.emplace(c, info_, vocab_size_);
}

int64_t TokenData::number(const DataContext& c, const char* name) const {
  return c.chosen(name, info_.number(name, c.number(name)));
}

}  // namespace tenon::runner
