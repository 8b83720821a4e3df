// A text on a terminal that grows word by word.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

// Is given all of a text so far, as it grows. What it throws ends the writing.
using ShowsText = std::function<void(const std::string& so_far)>;
// Shows it there; throws Error(kInterrupted) where the person ends it.
ShowsText on_terminal(GrowingText& text);
// What a Decoder is given whose first text is shown, which `text_of` makes of the ids; nothing where `shows` is empty.
Decoder::Shows show_first(ShowsText shows, std::function<std::string(const std::vector<int32_t>& ids)> text_of);

}  // namespace tenon::runner
