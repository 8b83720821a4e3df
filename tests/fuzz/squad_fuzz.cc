// Questions in SQuAD's JSON, and their answers' places among the tokens of a small vocabulary.
#include <algorithm>
#include <cstdlib>

#include "seam/memory_files.h"
#include "tenon/answers.h"

using namespace tenon;

namespace {

const Subtokenizer& letters() {
  static const Subtokenizer words = [] {
    std::vector<std::string> subtokens = {"the_", "ab"};
    for (const char c : std::string("\\_u;0123456789<>padEOSbcthe")) {
      const std::string one(1, c);
      if (std::find(subtokens.begin(), subtokens.end(), one) == subtokens.end()) subtokens.push_back(one);
    }
    return Subtokenizer::from_subtokens(subtokens).take();
  }();
  return words;
}

// Every token is within the text, and each window holds a part of it.
void check_passage(const Passage& passage) {
  const LocatedTokens context = locate_tokens(letters(), passage.context).take();
  std::vector<int32_t> plain;
  check(letters().encode(passage.context, plain));
  if (plain != context.ids || context.parts.size() != plain.size()) std::abort();
  size_t at = 0;
  for (const Subtokenizer::Part& part : context.parts) {
    if (part.begin < at || part.end < part.begin || part.end > passage.context.size()) std::abort();
    at = part.begin;
  }
  for (const Question& question : passage.questions)
    for (const Answer& answer : question.answers) {
      if (answer.begin >= passage.context.size()) std::abort();
      const auto span = tokens_of(context, answer.begin, answer.begin + answer.text.size());
      if (span && (span->first > span->last || span->last >= plain.size())) std::abort();
    }
  size_t covered = 0;
  for (const AnswerWindow& window : answer_windows({}, context.ids, {.max_length = 16, .doc_stride = 7})) {
    if (window.inputs.size() > 16 || window.begin > covered || window.end < covered) std::abort();
    covered = window.end;
  }
  if (covered != plain.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("f", {reinterpret_cast<const char*>(data), size});
  const Status status = read_squad("f", [](const Passage& passage) { return check_passage(passage), Status(); });
  if (status.message().size() > 4096) std::abort();
  fuzz::remove_files();
  return 0;
}
