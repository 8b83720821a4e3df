// The kinds of data that `tenon convert` makes records of, and the flags that several of them have.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "tenon/convert.h"

namespace tenon::runner {

struct ConvertKind {
  const char* name;
  const char* usage;
  void (*declare)(Flags& flags);
  ConvertSummary (*convert)(const Flags& flags);
  std::vector<const char*> left_out;  // why a row or a pair may be: keys of the JSON object
  bool shortens = false;              // texts that are too long
};

extern const ConvertKind kConvertIdx, kConvertImages, kConvertTranslation, kConvertSummaries, kConvertAnswers,
    kConvertText, kConvertTable;

// --output, --seed, --overwrite, --part, --merge.
void read_common(const Flags& flags, ConvertOptions& options);
void declare_shard_bytes(Flags& flags);
// FILE,FILE..
std::vector<std::string> list_of(const Flags& flags, const char* name);

}  // namespace tenon::runner
