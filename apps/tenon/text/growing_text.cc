#include "text/growing_text.h"

#include <utility>
#include <vector>

#include "output.h"
#include "process.h"

namespace tenon::runner {

void GrowingText::print_up_to(const std::string& text, size_t size) {
  if (size <= printed_.size() || !text.starts_with(printed_)) return;
  print_part(text.substr(printed_.size(), size - printed_.size()));
  printed_ = text.substr(0, size);
}

void GrowingText::show(const std::string& so_far) {
  constexpr const char* kBlanks = " \n";
  const size_t blank = so_far.find_last_of(kBlanks);
  if (blank == std::string::npos) return;
  const size_t word = so_far.find_last_not_of(kBlanks, blank);
  if (word != std::string::npos) print_up_to(so_far, word + 1);
}

void GrowingText::end(const std::string& text) {
  print_up_to(text, text.size());
  printed_.clear();
  print_part("\n");
}

GrowingText::~GrowingText() {
  try {
    if (!printed_.empty()) print_part("\n");
  } catch (const Error&) {  // what is lost is told where it ends
  }
}

ShowsText on_terminal(GrowingText& text) {
  return [&text](const std::string& so_far) {
    if (interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
    text.show(so_far);
  };
}

Decoder::Shows show_first(ShowsText shows, std::function<std::string(const std::vector<int32_t>& ids)> text_of) {
  if (!shows) return nullptr;
  return [shows = std::move(shows), text_of = std::move(text_of)](const Decoded& so_far) {
    shows(text_of(so_far.ids.row(0).row(0).to<int32_t>()));
  };
}

}  // namespace tenon::runner
