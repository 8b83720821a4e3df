// A text on a terminal that grows word by word.
#pragma once

#include <string>

#include "tenon/decoding.h"

namespace tenon::runner {

class GrowingText {
 public:
  GrowingText() = default;
  ~GrowingText();  // ends a line that was not ended
  GrowingText(const GrowingText&) = delete;
  GrowingText& operator=(const GrowingText&) = delete;
  // Prints the words that are new in all of the text so far; the last one, which may grow, waits.
  void show(const std::string& so_far);
  // Prints what is left, and a line break.
  void end(const std::string& text);

 private:
  void print_up_to(const std::string& text, size_t size);

  std::string printed_;
};

// What a Decoder is given that shows its first text, which `text_of` makes of the ids. Throws Error(kInterrupted) where a
// person ends it.
Decoder::Shows show_first(GrowingText& text, std::function<std::string(const std::vector<int32_t>& ids)> text_of);

}  // namespace tenon::runner
