// Text that goes on where a prompt ends, by a model that `tenon train gpt` made.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flags.h"
#include "tenon/decoding.h"
#include "tenon/params.h"
#include "tenon/subtokenizer.h"
#include "text/growing_text.h"

namespace tenon::runner {

struct Prompt {
  std::string text, place;  // "FILE:3: "
};

class Generator {
 public:
  // The flags are those of `tenon generate`. Throws UsageError, or Error where the vocabulary is not the model's.
  Generator(const Flags& flags, const Params& params);

  // All at once, each with what follows it; `grows` shows the first as it is written, `interrupted` ends that, as Decoder has it.
  std::vector<std::string> texts(const std::vector<Prompt>& prompts, const ShowsText& grows = {},
                                 const std::function<bool()>& interrupted = {});
  int64_t tokens() const { return tokens_; }  // written so far

 private:
  std::vector<int32_t> encoded(const Prompt& prompt) const;
  std::string decoded(std::span<const int32_t> ids) const;

  Strategy strategy_;
  Subtokenizer words_;
  int64_t length_;
  Decoder write_;
  int64_t tokens_ = 0;
};

// As `tenon generate` opens the model directory: with its defaults.
std::unique_ptr<Generator> open_generator(const std::string& model_dir, const std::string& device);

}  // namespace tenon::runner
